package predict

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
)

func row(t *testing.T, rows []ScoreRow, what string) ScoreRow {
	t.Helper()
	for _, row := range rows {
		if row.What == what {
			return row
		}
	}
	t.Fatalf("no row %q in %+v", what, rows)
	return ScoreRow{}
}

// The goals, on curves outside the bands.
func TestScoreReachesTheGoal(t *testing.T) {
	score := NewScore(Published())
	if near := row(t, score.Rows, nearRow); near.Held < GoalHeld || near.Median > GoalMedian {
		t.Errorf("up to 2x: %+v, want %v held, a median of %v at most", near, GoalHeld, GoalMedian)
	}
	if far := row(t, score.Rows, farRow); far.Held < GoalHeld {
		t.Errorf("up to 4x: %+v, want %v held", far, GoalHeld)
	}
	// The reason for no figures beyond a boundary that was not measured.
	within, across := row(t, score.Rows, "up to 2x, no new cache or socket"), row(t, score.Rows, "up to 2x, into a new one (no figure)")
	if across.Median < within.Median || across.Held > within.Held {
		t.Errorf("into a new cache or socket %+v is better than %+v", across, within)
	}
	// The reason for predicting the mean.
	for _, other := range score.Lost {
		best := nearRow
		if strings.HasPrefix(other.What, "up to 4x") {
			best = farRow
		}
		if mean := row(t, score.Rows, best); mean.Median > other.Median {
			t.Errorf("%s has a median factor of %v, the mean one of %v", other.What, other.Median, mean.Median)
		}
	}
	for _, order := range score.Order {
		if order.Above >= 2 && order.Share() < 0.96 {
			t.Errorf("order %+v: right for %v", order, order.Share())
		}
	}
}

// The score shows that a source with different curves is outside the band of
// the others.
func TestScoreLeavesTheSourceOut(t *testing.T) {
	var curves []Curve
	for i := range 5 {
		curves = append(curves, planted(fmt.Sprint("even ", i), Law{1e7, 0.5, 0}, 1, 2, 4, 8))
	}
	odd := planted("odd", Law{1e7, 0.5, 0}, 1, 2, 4, 8)
	odd.Points[3].X /= 9
	score := NewScore(append(curves, odd))
	if got := row(t, score.Rows, nearRow); !closeTo(got.Held, 5.0/6, 1e-9) || got.Curves != 6 {
		t.Errorf("%+v: want 5 of 6 held", got)
	}
	if score.Sources != 6 || score.Bands[near].Lo > 0.2 {
		t.Errorf("%+v", score)
	}
}

// The score names the rows in which it is no better than flat, which is the
// prediction of a constant throughput.
func TestScoreBesideFlat(t *testing.T) {
	score := NewScore(Published())
	if go2 := row(t, score.Rows, "up to 2x, Go only"); go2.Flat <= 1 || go2.Flat > go2.Median {
		t.Errorf("%+v: want no better than flat", go2)
	}
	for i, r := range []string{nearRow, farRow} {
		other := row(t, score.Lost, []string{"up to 2x, a constant throughput", "up to 4x, a constant throughput"}[i])
		if got := row(t, score.Rows, r); got.Flat != other.Median || got.Flat <= got.Median {
			t.Errorf("%+v, want flat %v", got, other.Median)
		}
	}
	var text bytes.Buffer
	if err := score.WriteText(&text, false); err != nil {
		t.Fatal(err)
	}
	checkForm(t, text.String(), false)
	if n := strings.Count(text.String(), "No better than flat: "); n != 1 || !strings.Contains(text.String(), "No better than flat: up to 2x, Go only (a median factor of 1.12 instead of") {
		t.Errorf("%d rows are no better than flat:\n%s", n, &text)
	}
	if !betterThanFlat(1.10, 1.2) || betterThanFlat(1.101, 1.104) || betterThanFlat(1.2, 1.1) {
		t.Error("better is not better by a hundredth")
	}
}

// A file's curves are predicted with the bands of others: curves of its source
// are left out. A curve with a constant throughput is predicted no better than
// by flat.
func TestScoreFile(t *testing.T) {
	var known []Curve
	for i := range 5 {
		known = append(known, planted(fmt.Sprint("even ", i), Law{1e7, 0.5, 0}, 1, 2, 4, 8, 16))
	}
	still := planted("still", Law{1e7, 1, 0}, 1, 2, 4, 8, 16)
	odd := still
	odd.Machine, odd.Points = "odd", nil
	for _, p := range still.Points {
		odd.Points = append(odd.Points, Point{p.Procs, p.X})
	}
	odd.Points[4].X /= 9
	score, err := ScoreFile("mine.csv", []Curve{still}, append(known, odd))
	if err != nil || score.File != "mine.csv" || score.Sources != 1 {
		t.Fatalf("%+v, %v", score, err)
	}
	if got := row(t, score.Rows, nearRow); got.Curves != 1 || got.Held != 0 || !closeTo(got.Median, 1, 1e-6) || betterThanFlat(got.Median, got.Flat) {
		t.Errorf("%+v: want one curve, outside the band of steeper ones", got)
	}
	for _, r := range score.Rows {
		if strings.Contains(r.What, "no new cache") {
			t.Errorf("%q has the same trials as the row of all", r.What)
		}
	}
	var text bytes.Buffer
	if err := score.WriteText(&text, false); err != nil || !strings.Contains(text.String(), "Curves of mine.csv") || !strings.Contains(text.String(), "No better than flat: up to 2x the CPUs") {
		t.Errorf("%v\n%s", err, &text)
	}
	if _, err := ScoreFile("two.csv", []Curve{planted("two", Law{1e7, 0.5, 0}, 1, 2)}, known); !errors.Is(err, ErrNoTrial) {
		t.Errorf("of two counts: %v", err)
	}
}

func TestScoreOfNothing(t *testing.T) {
	var text bytes.Buffer
	if err := NewScore(nil).WriteText(&text, false); err != nil || !strings.Contains(text.String(), "No score") {
		t.Errorf("%v\n%s", err, &text)
	}
}

func TestScoreJSON(t *testing.T) {
	var text bytes.Buffer
	score := NewScore(Published())
	if err := score.WriteJSON(&text); err != nil {
		t.Fatal(err)
	}
	var back Score
	if err := json.Unmarshal(text.Bytes(), &back); err != nil || back.Rows[2] != score.Rows[2] || back.Order[1] != score.Order[1] {
		t.Errorf("%+v, %v", back, err)
	}
}
