package predict

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/sluice-go/sluice/cmd/sluice/internal/format"
)

// A Score measures predictions of unseen curves: each source, with all curves
// of the same machines, is left out in turn and predicted from the others. The curves of a
// file are predicted from the published ones.
type Score struct {
	File    string     `json:"file,omitempty"` // whose curves were predicted; "" for the published ones
	Rows    []ScoreRow `json:"rows"`
	Sources []ScoreRow `json:"sources"` // for each source, all counts beyond the known ones
}

// A ScoreRow is the score of some trials. Each curve counts as one.
type ScoreRow struct {
	What   string  `json:"what"`
	Trials int     `json:"trials"`
	Curves int     `json:"curves"`
	Median float64 `json:"median"` // factor between truth and prediction, >= 1
	Flat   float64 `json:"flat"`   // the same, if the throughput stays as it is
	Law    float64 `json:"law"`    // the same, if it goes on by the law
	P90    float64 `json:"p90"`    // 90th percentile of the same factor
	Held   float64 `json:"held"`   // share of truths inside the band
	Width  float64 `json:"width"`  // median factor between the ends of the band
}

// The goals for predictions of unseen curves.
const (
	GoalHeld   = 0.90
	GoalMedian = 1.20 // up to Near times the measured CPUs
)

// ErrNoTrial means that a score has nothing to predict.
var ErrNoTrial = fmt.Errorf("no curve has a count to predict from %d smaller ones, or between two others", MinCounts)

// NewScore scores the method on the curves of a file, with the past of known curves, or
// on the known curves if there is no file. Known curves of the same source or machine as
// a curve are left out.
func NewScore(file string, foreign, known []Curve) (Score, error) {
	past := NewPast(slices.Concat(foreign, known))
	distances, sources := map[string]trials{}, map[string]trials{}
	for where := range past {
		for i := range past[where] {
			t := &past[where][i]
			if file != "" && t.index >= len(foreign) {
				continue
			}
			t.band = past.band(t.outlook, min(region(where), outside), func(other trial) bool {
				return other.group != t.group && other.index >= len(foreign)
			})
			distance := t.distance(region(where))
			distances[distance] = append(distances[distance], t)
			if region(where) == outside {
				sources[t.curve.Source] = append(sources[t.curve.Source], t)
			}
		}
	}
	if len(distances) == 0 {
		return Score{}, ErrNoTrial
	}
	return Score{file, rows(distances), rows(sources)}, nil
}

// distance describes how far the count is from the known ones.
func (t *trial) distance(where region) string {
	kind := map[Kind]string{Shared: "contended", Sharded: "private"}[t.curve.Kind]
	switch {
	case where == across:
		return "into a new cache"
	case where == within:
		return "between, " + kind
	case t.times <= Near:
		return fmt.Sprintf("up to %dx, %s", Near, kind)
	}
	return fmt.Sprintf("up to %dx, %s", Far, kind)
}

// rows scores groups of trials, in the order of their names.
func rows(groups map[string]trials) (rows []ScoreRow) {
	for _, what := range slices.Sorted(maps.Keys(groups)) {
		rows = append(rows, groups[what].row(what))
	}
	return rows
}

// trials are scored so that each curve counts as one.
type trials []*trial

// row scores the trials.
func (w trials) row(what string) ScoreRow {
	ofCurve := map[*Curve]int{}
	for _, t := range w {
		ofCurve[t.curve]++
	}
	weight := func(t *trial) float64 { return 1 / float64(ofCurve[t.curve]) }
	quantile := func(share float64, of func(*trial) float64) float64 {
		var s sample
		for _, t := range w {
			s = append(s, weighed{of(t), weight(t)})
		}
		slices.SortFunc(s, func(a, b weighed) int { return cmp.Compare(a.value, b.value) })
		return s.quantile(share)
	}
	missed := func(predicted func(*trial) float64) func(*trial) float64 {
		return func(t *trial) float64 { return math.Exp(math.Abs(math.Log(t.truth / predicted(t)))) }
	}
	factor := missed(func(t *trial) float64 { return t.guess * t.band.Mid })
	held := 0.0
	for _, t := range w {
		if t.guess*t.band.Lo <= t.truth && t.truth <= t.guess*t.band.Hi {
			held += weight(t)
		}
	}
	return ScoreRow{
		What: what, Trials: len(w), Curves: len(ofCurve), Held: held / float64(len(ofCurve)),
		Median: quantile(0.5, factor), P90: quantile(0.9, factor),
		Flat:  quantile(0.5, missed(func(t *trial) float64 { return t.flat })),
		Law:   quantile(0.5, missed(func(t *trial) float64 { return t.flat * math.Pow(t.times, t.shape[1]) })),
		Width: quantile(0.5, func(t *trial) float64 { return t.band.Hi / t.band.Lo }),
	}
}

// WriteText writes the score for a reader, in lines of at most width characters
// except for details, which are a row for each source.
func (s Score) WriteText(w io.Writer, width int, details bool) error {
	b := &format.Text{Width: width}
	intro := "Published curves, each predicted from its smaller counts by the other sources."
	if s.File != "" {
		intro = fmt.Sprintf("Curves of %s, each predicted from its smaller counts by published curves.", s.File)
	}
	b.Paragraph("", intro, "The factor between truth and prediction: its median (beside flat, if the throughput stays as it is, and law, if it follows the law) and the limit of 90%. Then the truths that the band held, and the factor between its ends.")
	b.WriteString("\n")
	s.table(b, s.Rows)
	if details {
		b.WriteString("\nEach source, beyond the counts that are known:\n")
		s.table(b, s.Sources)
	}
	b.WriteString("\n")
	b.Paragraph("", s.verdict()...)
	if !details {
		b.Paragraph("", "With -v: each source.")
	}
	return b.Print(w)
}

// table writes rows; a narrow screen has no place for the alternatives.
func (s Score) table(b *format.Text, scores []ScoreRow) {
	rows := [][]string{{"", "curves", "median", "flat", "law", "90%", "held", "width"}}
	for _, s := range scores {
		figures := fmt.Sprintf("%d %.2f %.2f %.2f %.2f %.0f%% %.1fx", s.Curves, s.Median, s.Flat, s.Law, s.P90, 100*s.Held, s.Width)
		rows = append(rows, append([]string{format.Cut(format.Clean(s.What), b.Width)}, strings.Fields(figures)...))
	}
	for i, row := range rows {
		if b.Width < 70 {
			rows[i] = slices.Delete(row, 3, 5)
		}
	}
	b.Table("lr", rows)
}

// verdict compares the score with the goals.
func (s Score) verdict() (lines []string) {
	for _, row := range s.Rows {
		const nearest = "up to 2x"
		switch near := strings.HasPrefix(row.What, nearest); {
		case !near && !strings.HasPrefix(row.What, "up to"):
			continue
		case row.Held < GoalHeld:
			lines = append(lines, fmt.Sprintf("Missed, %s: %.0f%% within the band.", row.What, 100*row.Held))
		case near && row.Median > GoalMedian:
			lines = append(lines, fmt.Sprintf("Missed, %s: a median factor of %.2f.", row.What, row.Median))
		}
		if row.Median >= row.Flat {
			lines = append(lines, fmt.Sprintf("No better than flat: %s.", row.What))
		}
	}
	return append([]string{fmt.Sprintf("Goals: at least %.0f%% within the band, and up to %dx a median factor of at most %.1f.", 100*GoalHeld, Near, GoalMedian)}, lines...)
}
