package predict

import (
	"fmt"
	"math"
	"slices"
)

// A Score measures predictions of unseen curves: each source, with all curves
// of the same machines, is left out in turn and predicted from the others. The curves of a
// file are predicted from the published ones.
type Score struct {
	File    string        `json:"file,omitempty"` // whose curves were predicted; "" for the published ones
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
	Flat   float64 `json:"flat"`   // the same, predicting the last known throughput; 0 between counts
	P90    float64 `json:"p90"`    // 90th percentile of the same factor
	Held   float64 `json:"held"`   // share of truths inside the band; 0 for alternatives
}

// The goals for predictions of unseen curves.
const (
	GoalHeld   = 0.90
	GoalMedian = 1.20 // up to Near times the measured CPUs
)

// flat predicts a constant throughput.
func flat(_ Law, last Point, _ float64) float64 { return last.X }

// alternatives to extrapolate, which scored worse.
var alternatives = []struct {
	name    string
	predict func(law Law, last Point, n float64) float64
}{
	{"the law alone", func(law Law, _ Point, n float64) float64 { return law.At(n) }},
	{"the law through the last point", func(law Law, last Point, n float64) float64 {
		return last.X * law.At(n) / law.At(float64(last.Procs))
	}},
	{"a constant throughput", flat},
}

func isGo(c *Curve) bool { return generation(c.Version) != notGo }

// NewScore scores the method on curves, each with the bands of the other
// sources.
func NewScore(curves []Curve) Score {
	all := trials(curves)
	score := scored(all, all)
	for _, other := range alternatives {
		for _, r := range []reach{near, far} {
			use := func(t trial) bool { return t.reach == r }
			if misses := perCurve(weigh(all, use, other.predict)); len(misses.of) > 0 {
				score.Lost = append(score.Lost, misses.row(fmt.Sprintf("up to %dx, %s", []int{near: Near, far: Far}[r], other.name)))
			}
		}
	}
	for _, above := range []int{1, 2, 8} {
		score.Order = append(score.Order, scoreOrder(curves, above))
	}
	return score
}

// ErrNoTrial means that a score has nothing to predict.
var ErrNoTrial = fmt.Errorf("no curve has a count to predict from %d smaller ones, or between two others", MinCounts)

// ScoreFile scores the method on the curves of a file, with the bands of known
// curves. Known curves of the same source or machine as a curve are left out.
func ScoreFile(name string, foreign, known []Curve) (Score, error) {
	var asked, basis []trial
	for _, t := range trials(slices.Concat(foreign, known)) {
		if t.index < len(foreign) {
			asked = append(asked, t)
		} else {
			basis = append(basis, t)
		}
	}
	if len(asked) == 0 {
		return Score{}, ErrNoTrial
	}
	score := scored(asked, basis)
	score.File = name
	return score, nil
}

// scored scores trials with the bands of a basis.
func scored(asked, basis []trial) Score {
	without := map[int]Bands{}
	for _, t := range asked {
		if _, ok := without[t.group]; !ok {
			without[t.group] = calibrate(basis, t.group)
		}
	}
	score := Score{Sources: len(without), Bands: calibrate(basis, -1)}
	var whole [reaches]int // trials of the first row of each reach
	for _, row := range []struct {
		what string
		use  func(trial) bool
	}{
		{"between counts up to 2x apart", func(t trial) bool { return t.reach == inside }},
		{"between counts up to 4x apart", func(t trial) bool { return t.reach == gap }},
		{nearRow, func(t trial) bool { return t.reach == near }},
		{farRow, func(t trial) bool { return t.reach == far }},
		{"up to 2x, Go only", func(t trial) bool { return t.reach == near && isGo(t.curve) }},
		{"up to 4x, Go only", func(t trial) bool { return t.reach == far && isGo(t.curve) }},
		{"up to 2x, no new cache or socket", func(t trial) bool { return t.reach == near && !t.crosses }},
		{"up to 4x, no new cache or socket", func(t trial) bool { return t.reach == far && !t.crosses }},
		{"up to 2x, into a new one (no figure)", func(t trial) bool { return t.reach == near && t.crosses }},
		{"up to 4x, into a new one (no figure)", func(t trial) bool { return t.reach == far && t.crosses }},
	} {
		misses := perCurve(weigh(asked, row.use, extrapolate))
		if len(misses.of) == 0 {
			continue
		}
		scored := misses.row(row.what)
		if r := misses.of[0].trial.reach; whole[r] == scored.Trials {
			continue // the same trials as in the row of all
		} else if whole[r] == 0 {
			whole[r] = scored.Trials
		}
		scored.Held = misses.held(without)
		if r := misses.of[0].trial.reach; r == near || r == far {
			scored.Flat = perCurve(weigh(asked, row.use, flat)).row("").Median
		}
		score.Rows = append(score.Rows, scored)
	}
	return score
}

// Rows that the verdict uses.
const (
	nearRow = "up to 2x the CPUs"
	farRow  = "up to 4x the CPUs"
)

// A FlatScore compares predictions with the assumption that the throughput
// stays as it is.
type FlatScore struct {
	UpTo   int     `json:"up_to"` // times the known CPUs
	Curves int     `json:"curves"`
	Median float64 `json:"median"` // as in ScoreRow
	Flat   float64 `json:"flat"`   // as in ScoreRow
	GoOnly bool    `json:"go_only"`
}

// Better reports whether predictions are better, to two digits: a smaller
// difference is none.
func (s FlatScore) Better() bool { return betterThanFlat(s.Median, s.Flat) }

func betterThanFlat(median, flat float64) bool { return math.Round(100*median) < math.Round(100*flat) }

// scoreFlat compares predictions of published curves: of Go's, if version is a
// version of Go, or of all.
func scoreFlat(curves []Curve, version string) []FlatScore {
	goOnly := generation(version) != notGo
	all := trials(curves)
	var scores []FlatScore
	for r, upTo := range map[reach]int{near: Near, far: Far} {
		use := func(t trial) bool { return t.reach == r && (!goOnly || isGo(t.curve)) }
		misses := perCurve(weigh(all, use, extrapolate))
		if len(misses.of) == 0 {
			continue
		}
		row := misses.row("")
		scores = append(scores, FlatScore{upTo, row.Curves, row.Median, perCurve(weigh(all, use, flat)).row("").Median, goOnly})
	}
	slices.SortFunc(scores, func(a, b FlatScore) int { return a.UpTo - b.UpTo })
	return scores
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
