package predict

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"
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

// The goals hold for curves of sources that the prediction does not know, of
// contended resources and of private parts; and a band that holds them is not
// merely wide.
func TestScoreReachesTheGoal(t *testing.T) {
	score, err := NewScore("", nil, Published())
	if err != nil {
		t.Fatal(err)
	}
	for what, widest := range map[string]float64{"up to 2x, contended": 4, "up to 2x, private": 3, "up to 4x, contended": 7, "up to 4x, private": 5} {
		got := row(t, score.Rows, what)
		if got.Held < GoalHeld || got.Width > widest || got.Median >= got.Flat || got.Curves < 40 {
			t.Errorf("%+v: want %v held, within %vx, better than flat", got, GoalHeld, widest)
		}
		if strings.HasPrefix(what, "up to 2x") && got.Median > GoalMedian {
			t.Errorf("%+v: want a median of at most %v", got, GoalMedian)
		}
	}
	// The reason for no figures beyond a boundary that was not measured.
	if within, across := row(t, score.Rows, "up to 2x, contended"), row(t, score.Rows, "into a new cache"); across.Median < within.Median {
		t.Errorf("into a new cache or socket %+v is better than %+v", across, within)
	}
}

// A source with different curves is outside the band of the others, and does not
// widen its own.
func TestScoreLeavesTheSourceOut(t *testing.T) {
	var curves []Curve
	for i := range 50 {
		curves = append(curves, planted(fmt.Sprint("even ", i), Law{1e7, 0.5, 0}, 1, 2, 4, 8))
	}
	odd := planted("odd", Law{1e7, 0.5, 0}, 1, 2, 4, 8)
	odd.Points[3].X /= 9
	score, err := NewScore("", nil, append(curves, odd))
	if err != nil {
		t.Fatal(err)
	}
	if got := row(t, score.Rows, "up to 2x, contended"); !closeTo(got.Held, 50.0/51, 1e-9) || got.Curves != 51 {
		t.Errorf("%+v: want 50 of 51 held", got)
	}
	if got := row(t, score.Sources, "odd"); got.Held != 0 || got.Curves != 1 {
		t.Errorf("%+v", got)
	}
}

// A file's curves are predicted from others: curves of its source or machine are
// left out. A curve with a constant throughput is predicted no better than by flat.
func TestScoreFile(t *testing.T) {
	var known []Curve
	for i := range 5 {
		known = append(known, planted(fmt.Sprint("even ", i), Law{1e7, 0.5, 0}, 1, 2, 4, 8, 16))
	}
	still := planted("still", Law{1e7, 1, 0}, 1, 2, 4, 8, 16)
	odd := planted("still", Law{1e7, 1, 0}, 1, 2, 4, 8, 16)
	odd.Machine, odd.Points[4].X = "odd", odd.Points[4].X/9
	score, err := NewScore("mine.csv", []Curve{still}, append(known, odd))
	if err != nil || score.File != "mine.csv" || len(score.Sources) != 1 {
		t.Fatalf("%+v, %v", score, err)
	}
	if got := row(t, score.Rows, "up to 2x, contended"); got.Curves != 1 || got.Flat != 1 {
		t.Errorf("%+v: want one curve, which stays flat", got)
	}
	var text bytes.Buffer
	if err := score.WriteText(&text, 80, false); err != nil || !strings.Contains(text.String(), "Curves of mine.csv") || !strings.Contains(strings.Join(strings.Fields(text.String()), " "), "No better than flat: up to 2x, contended") {
		t.Errorf("%v\n%s", err, &text)
	}
	if _, err := NewScore("two.csv", []Curve{planted("two", Law{1e7, 0.5, 0}, 1, 2)}, known); !errors.Is(err, ErrNoTrial) {
		t.Errorf("of two counts: %v", err)
	}
}

// The text fits the screen and names what misses a goal; JSON has the same figures.
func TestScoreText(t *testing.T) {
	score, err := NewScore("", nil, Published())
	if err != nil {
		t.Fatal(err)
	}
	for _, width := range []int{60, 80, 120} {
		var text bytes.Buffer
		if err := score.WriteText(&text, width, true); err != nil || strings.Contains(text.String(), "Missed") {
			t.Errorf("%v\n%s", err, &text)
		}
		for line := range strings.Lines(text.String()) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > width {
				t.Errorf("%d of %d columns: %s", n, width, line)
			}
		}
	}
	bad := Score{Rows: []ScoreRow{{What: "up to 2x, private", Held: 0.5, Median: 1, Flat: 2}, {What: "up to 2x, contended", Held: 1, Median: 1.5, Flat: 1.4}}}
	if lines := strings.Join(bad.verdict(), " "); !strings.Contains(lines, "Missed, up to 2x, private: 50%") || !strings.Contains(lines, "a median factor of 1.50") || !strings.Contains(lines, "No better than flat: up to 2x, contended") {
		t.Errorf("%s", lines)
	}
	text, err := json.Marshal(score)
	if err != nil {
		t.Fatal(err)
	}
	var back Score
	if err := json.Unmarshal(text, &back); err != nil || back.Rows[2] != score.Rows[2] {
		t.Errorf("%v, %+v", err, back)
	}
}
