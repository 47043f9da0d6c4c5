package predict

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
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
	if near := row(t, score.Rows, "up to 2x the CPUs"); near.Held < GoalHeld || near.Median > GoalMedian || near.Curves < 75 {
		t.Errorf("up to 2x: %+v, want %v held, a median of %v at most", near, GoalHeld, GoalMedian)
	}
	if far := row(t, score.Rows, "up to 4x"); far.Held < GoalHeld {
		t.Errorf("up to 4x: %+v, want %v held", far, GoalHeld)
	}
	// The reason for no figures beyond a boundary that was not measured.
	within, across := row(t, score.Rows, "up to 2x, no new cache or socket"), row(t, score.Rows, "up to 2x, into a new one (no figure)")
	if across.Median < within.Median || across.Held > within.Held {
		t.Errorf("into a new cache or socket %+v is better than %+v", across, within)
	}
	// The reason for predicting the mean.
	for _, other := range score.Lost {
		best := "up to 2x the CPUs"
		if strings.HasPrefix(other.What, "up to 4x") {
			best = "up to 4x"
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

// The ADR has the figures that the command prints.
func TestScoreIsOnRecord(t *testing.T) {
	const name = "../../../../docs/adr/0011-prediction.md"
	record, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	if err := NewScore(Published()).WriteText(&text); err != nil {
		t.Fatal(err)
	}
	missing := func(record string) (lines []string) {
		for line := range strings.Lines(text.String()) {
			if line = strings.TrimSpace(line); line != "" && !strings.Contains(record, line) {
				lines = append(lines, line)
			}
		}
		return lines
	}
	for _, line := range missing(string(record)) {
		t.Errorf("%s lacks %q", name, line)
	}
	if len(missing(strings.ReplaceAll(string(record), "1.14", "1.10"))) == 0 {
		t.Error("a planted figure was not missed")
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
	if got := row(t, score.Rows, "up to 2x the CPUs"); !closeTo(got.Held, 5.0/6, 1e-9) || got.Curves != 6 {
		t.Errorf("%+v: want 5 of 6 held", got)
	}
	if score.Sources != 6 || score.Bands[near].Lo > 0.2 {
		t.Errorf("%+v", score)
	}
}

func TestScoreOfNothing(t *testing.T) {
	var text bytes.Buffer
	if err := NewScore(nil).WriteText(&text); err != nil || !strings.Contains(text.String(), "No score") {
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
