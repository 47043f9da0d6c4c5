package predict

import (
	"fmt"
	"io"
	"math"
	"text/tabwriter"
)

// A Score measures predictions of unseen curves: each source, with all curves
// of the same machines, is left out in turn and predicted from the others.
type Score struct {
	Sources int           `json:"sources"`
	Rows    []ScoreRow    `json:"rows"`
	Lost    []ScoreRow    `json:"lost"` // rejected alternatives, on the same trials
	Order   []OrderScore  `json:"order"`
	Bands   [reaches]Band `json:"bands"`
}

// A ScoreRow is the score of one kind of question.
type ScoreRow struct {
	What   string  `json:"what"`
	Trials int     `json:"trials"`
	Curves int     `json:"curves"`
	Noisy  int     `json:"noisy"`  // excluded trials, in which Fit fails
	Median float64 `json:"median"` // factor between truth and prediction, >= 1
	P90    float64 `json:"p90"`    // 90th percentile of the same factor
	Held   float64 `json:"held"`   // share of truths inside the band; 0 for alternatives
}

// The goals for predictions of unseen curves.
const (
	GoalHeld   = 0.90
	GoalMedian = 1.20 // up to Near times the measured CPUs
)

// alternatives to extrapolate, which scored worse.
var alternatives = []struct {
	name    string
	predict func(law Law, last Point, n float64) float64
}{
	{"the law alone", func(law Law, _ Point, n float64) float64 { return law.At(n) }},
	{"the law through the last point", func(law Law, last Point, n float64) float64 {
		return last.X * law.At(n) / law.At(float64(last.Procs))
	}},
	{"a constant throughput", func(_ Law, last Point, _ float64) float64 { return last.X }},
}

// NewScore scores the method on curves.
func NewScore(curves []Curve) Score {
	all := trials(curves)
	groups := map[int]bool{}
	for _, t := range all {
		groups[t.group] = true
	}
	without := map[int]Bands{}
	for group := range groups {
		without[group] = calibrate(all, group)
	}
	score := Score{Sources: len(groups), Bands: calibrate(all, -1)}
	is := func(r reach) func(trial) bool { return func(t trial) bool { return t.reach == r } }
	for _, row := range []struct {
		what string
		use  func(trial) bool
	}{
		{"between counts up to 2x apart", is(inside)},
		{"between counts up to 4x apart", is(gap)},
		{"up to 2x the CPUs", is(near)},
		{"up to 4x", is(far)},
		{"up to 2x, Go only", func(t trial) bool { return t.reach == near && generation(t.curve.Version) != notGo }},
		{"up to 4x, Go only", func(t trial) bool { return t.reach == far && generation(t.curve.Version) != notGo }},
		{"up to 2x, no new cache or socket", func(t trial) bool { return t.reach == near && !t.crosses }},
		{"up to 4x, no new cache or socket", func(t trial) bool { return t.reach == far && !t.crosses }},
		{"up to 2x, into a new one (no figure)", func(t trial) bool { return t.reach == near && t.crosses }},
		{"up to 4x, into a new one (no figure)", func(t trial) bool { return t.reach == far && t.crosses }},
	} {
		misses := perCurve(weigh(all, row.use, extrapolate))
		if len(misses.of) == 0 {
			continue
		}
		scored := misses.row(row.what)
		scored.Held = misses.held(without)
		score.Rows = append(score.Rows, scored)
	}
	for _, other := range alternatives {
		for _, r := range []reach{near, far} {
			if misses := perCurve(weigh(all, is(r), other.predict)); len(misses.of) > 0 {
				score.Lost = append(score.Lost, misses.row(fmt.Sprintf("up to %dx, %s", []int{near: Near, far: Far}[r], other.name)))
			}
		}
	}
	for _, above := range []int{1, 2, 8} {
		score.Order = append(score.Order, scoreOrder(curves, above))
	}
	return score
}

// perCurve removes the weights of sources: a score counts curves.
func perCurve(w weighed) weighed {
	ofCurve := map[*Curve]int{}
	for _, m := range w.of {
		ofCurve[m.trial.curve]++
	}
	w.total = 0
	for i := range w.of {
		w.of[i].weight = 1 / float64(ofCurve[w.of[i].trial.curve])
		w.total += w.of[i].weight
	}
	return w
}

func (w weighed) row(what string) ScoreRow {
	factors := w.sorted(math.Abs)
	return ScoreRow{
		What: what, Trials: len(w.of), Curves: w.curves, Noisy: w.noisy,
		Median: math.Exp(factors.quantile(0.5)),
		P90:    math.Exp(factors.quantile(0.9)),
	}
}

// held returns the share of truths inside the band without the curve's group.
func (w weighed) held(without map[int]Bands) float64 {
	held := 0.0
	for _, m := range w.of {
		band := without[m.trial.group][m.trial.reach]
		if factor := math.Exp(m.miss); factor >= band.Lo && factor <= band.Hi {
			held += m.weight
		}
	}
	return held / w.total
}

// WriteText writes the score for a reader.
func (s Score) WriteText(w io.Writer) error {
	fmt.Fprintf(w, "Published curves, predicted from their smaller counts; each source is left out in turn (%d sources).\n"+
		"A factor is the ratio of truth and prediction, in either direction; each curve counts as one.\n\n", s.Sources)
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "\tcurves\ttrials\ttoo noisy\tmedian factor\t90% within\tin the band\t")
	for _, row := range s.Rows {
		fmt.Fprintf(table, "%s\t%d\t%d\t%d\t%.2f\t%.2f\t%.0f%%\t\n", row.What, row.Curves, row.Trials, row.Noisy, row.Median, row.P90, 100*row.Held)
	}
	fmt.Fprintln(table, "alternatives\t\t\t\t\t\t\t")
	for _, row := range s.Lost {
		fmt.Fprintf(table, "%s\t%d\t%d\t%d\t%.2f\t%.2f\t\t\n", row.What, row.Curves, row.Trials, row.Noisy, row.Median, row.P90)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(w)
	for r, what := range []string{inside: "between counts 2x apart", gap: "between counts 4x apart", near: "up to 2x", far: "up to 4x"} {
		fmt.Fprintf(w, "Band %s: %.2f to %.2f times the prediction, from %d curves.\n", what, s.Bands[r].Lo, s.Bands[r].Hi, s.Bands[r].Curves)
	}
	for _, order := range s.Order {
		fmt.Fprintf(w, "Order of designs, above %d CPUs: right for %d of %d pairs (%.1f%%) that differ by more than %dx.\n",
			order.Above, order.Right, order.Pairs, 100*order.Share(), FarApart)
	}
	fmt.Fprintln(w, "Each source is compared with bands of the others; the model and the level were chosen on all of these curves.")
	_, err := fmt.Fprintln(w, s.verdict())
	return err
}

// verdict compares the score with the goals.
func (s Score) verdict() string {
	for _, row := range s.Rows {
		if row.What != "up to 2x the CPUs" {
			continue
		}
		reached := func(ok bool) string {
			if ok {
				return "reached"
			}
			return "missed"
		}
		return fmt.Sprintf("Goals up to %dx: at least 90%% within the band (%s), a median factor of at most %.1f (%s).",
			Near, reached(row.Held >= GoalHeld), GoalMedian, reached(row.Median <= GoalMedian))
	}
	return "No score: the curves have no trials up to twice their CPUs."
}
