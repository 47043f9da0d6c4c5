package lab

import (
	"fmt"
	"math"
	"slices"

	"github.com/sluice-go/sluice/cmd/sluice/internal/format"
	"github.com/sluice-go/sluice/cmd/sluice/internal/measure"
	"github.com/sluice-go/sluice/cmd/sluice/internal/stat"
)

// limit is the overhead, in percent, below which a job is long enough.
const limit = 1

// A step is one place on a numeric axis, with the overhead measured there.
type step struct {
	at   float64
	over stat.Summary // in percent
}

// steps returns the overheads of a contender at the given places. name returns a
// place's name on the axis.
func (m *Measured) steps(section SectionID, panel Panel, id ContenderID, places []float64, name func(float64) string) []step {
	var steps []step
	for _, at := range places {
		if ratios := m.Samples(section, panel, name(at), id, timesIdeal); len(ratios) > 0 {
			steps = append(steps, step{at, overhead.Show(stat.Summarize(ratios))})
		}
	}
	return steps
}

// A mode is the way in which a threshold was found.
type mode uint8

const (
	never        mode = iota // the overhead is above the limit at every place
	everywhere               // it is below the limit from the first place on
	reached                  // it is below the limit from a place on, and not before
	interpolated             // it falls below the limit between two places
)

// crossing returns the place from which on the figures, which do not rise, stay
// below the limit. Between two places the overhead is assumed to be a power of
// the axis that falls no faster than in proportion: that is the part of a cost
// that is constant per job, or per batch. A figure of zero or below is noise.
func crossing(steps []step, figures []float64) (at float64, found mode) {
	first := slices.IndexFunc(figures, func(f float64) bool { return f <= limit })
	switch first {
	case 0:
		return steps[0].at, everywhere
	case -1:
		return math.Inf(1), never
	}
	from, to := steps[first-1].at, steps[first].at
	high := figures[first-1]
	low := max(figures[first], high*from/to)
	if low >= limit {
		return to, reached
	}
	part := math.Log(high/limit) / math.Log(high/low)
	return from * math.Pow(to/from, part), interpolated
}

// falling returns the non-increasing sequence closest to the medians by least
// squares (isotonic regression), weighted by the precision of their intervals:
// a rising run becomes its mean.
func falling(steps []step) []float64 {
	const narrowest = 1e-6 // percentage points, for intervals of no width
	type run struct {
		sum, weight float64
		n           int
	}
	mean := func(r run) float64 { return r.sum / r.weight }
	var runs []run
	for _, s := range steps {
		width := max(s.over.Hi-s.over.Lo, narrowest)
		weight := 1 / (width * width)
		runs = append(runs, run{weight * s.over.Median, weight, 1})
		for last := len(runs) - 1; last > 0 && mean(runs[last]) > mean(runs[last-1]); last-- {
			runs[last-1].sum += runs[last].sum
			runs[last-1].weight += runs[last].weight
			runs[last-1].n += runs[last].n
			runs = runs[:last]
		}
	}
	var all []float64
	for _, r := range runs {
		all = append(all, slices.Repeat([]float64{mean(r)}, r.n)...)
	}
	return all
}

// A threshold is the place from which on an overhead stays below the limit, for
// the medians and for the ends of their intervals.
type threshold struct {
	at, lo, hi      float64
	found, low, top mode
	last            float64 // the last place that was measured
	firm            bool    // all places have intervals
}

// thresholdOf returns the threshold of the steps. ok is false if there are too
// few steps. An overhead does not rise with the size of the job or of the
// batch, so each size bounds the others: the overhead is at most a smaller
// size's, and at least a larger size's.
func thresholdOf(steps []step) (t threshold, ok bool) {
	if len(steps) < 2 {
		return t, false
	}
	var los, his []float64
	t = threshold{last: steps[len(steps)-1].at, firm: true}
	for i, s := range steps {
		los, his = append(los, s.over.Lo), append(his, s.over.Hi)
		if i > 0 {
			his[i] = min(his[i], his[i-1])
		}
		t.firm = t.firm && s.over.Confidence > 0
	}
	for i := len(los) - 2; i >= 0; i-- {
		los[i] = max(los[i], los[i+1])
	}
	t.at, t.found = crossing(steps, falling(steps))
	t.lo, t.low = crossing(steps, los)
	t.hi, t.top = crossing(steps, his)
	if t.lo > t.hi { // two intervals exclude each other
		t.lo, t.hi, t.low, t.top = t.hi, t.lo, t.top, t.low
	}
	return t, true
}

// text writes the threshold as far as it is known: with its interval, "6.1 µs (4
// µs to 9 µs)"; or with the end of the interval that is known, "more than 4 µs".
func (t threshold) text(name func(float64) string) string {
	if !t.firm {
		return t.median(name) + ", no interval"
	}
	switch {
	case t.known() && name(t.lo) == name(t.hi):
		return name(t.at)
	case t.known():
		return name(t.at) + " (" + name(t.lo) + " to " + name(t.hi) + ")"
	case t.low == never:
		return "more than " + name(t.last)
	case t.top == everywhere:
		return "at most " + name(t.at)
	case t.low == everywhere && t.top != never:
		return "at most " + name(t.hi)
	case t.low != everywhere && t.top == never:
		return "more than " + name(t.lo)
	}
	return format.NotKnownHere
}

// median writes the threshold without regard to the intervals.
func (t threshold) median(name func(float64) string) string {
	switch t.found {
	case never:
		return "more than " + name(t.last)
	case everywhere:
		return "at most " + name(t.at)
	}
	return name(t.at)
}

// A cost is the transfer cost of jobs and results: a constant part per job, and
// a part that grows with the job.
type cost struct {
	transfer stat.Summary // ns per value, which is a job or a result
	share    stat.Summary // percent of the job
}

// text writes a cost: "165 ns (150 to 174)". It has the share only if that is
// significant and above the limit.
func (c cost) text() string {
	text := withUnit(c.transfer, " ns")
	if c.grows() {
		text += " plus " + percents(c.share) + " of the job's time"
	}
	return text
}

// short writes the medians of a cost: "165 ns".
func (c cost) short() string {
	text := fmt.Sprintf("%.0f ns", c.transfer.Median)
	if c.grows() {
		text += fmt.Sprintf(" plus %.0f%% of the job's time", c.share.Median)
	}
	return text
}

func (c cost) grows() bool { return c.share.Confidence > 0 && c.share.Lo > limit }

// fittedUpTo is the size of the largest job that a cost is fitted to. With
// larger jobs the noise exceeds the cost.
const fittedUpTo = 10_000 // ns

// transfers is the number of values sent per job: the job, and its result.
const transfers = 2

// cost fits a line to a contender's time beyond the ideal, by size of the job,
// once per repetition: the interval is over the repetitions. ok is false if
// there are too few sizes for a line.
func (m *Measured) cost(panel Panel, id ContenderID) (c cost, ok bool) {
	var ratios, times [][]float64
	rounds := math.MaxInt
	for _, size := range jobSizes {
		ratio := m.Samples(sectionBusy, panel, micros(size), id, timesIdeal)
		if len(ratio) == 0 || size > fittedUpTo {
			continue
		}
		ratios = append(ratios, ratio)
		time := m.Samples(sectionBusy, panel, micros(size), id, measure.NsPerOp)
		times = append(times, time)
		rounds = min(rounds, len(ratio), len(time))
	}
	if len(ratios) < 3 || rounds == 0 {
		return c, false
	}
	var transfer, share []float64
	for round := range rounds {
		var ideals, elapsed []float64
		for i := range ratios {
			ideals = append(ideals, times[i][round]/ratios[i][round])
			elapsed = append(elapsed, times[i][round])
		}
		constant, slope := lineBeyond(ideals, elapsed)
		transfer = append(transfer, constant/transfers)
		share = append(share, 100*slope)
	}
	return cost{stat.Summarize(transfer), stat.Summarize(share)}, true
}

// lineBeyond fits elapsed - ideal = constant + slope * ideal by least squares.
// Noise is proportional to the elapsed time, so a point's distance from the
// line is weighted by 1/elapsed. Neither cost can be negative: if the best line
// has a negative one, the best line with 0 in its place is taken.
func lineBeyond(ideals, elapsed []float64) (constant, slope float64) {
	var w, wx, wy, wxx, wxy float64
	for i, x := range ideals {
		y, weight := elapsed[i]-x, 1/(elapsed[i]*elapsed[i])
		w += weight
		wx += weight * x
		wy += weight * y
		wxx += weight * x * x
		wxy += weight * x * y
	}
	slope = (w*wxy - wx*wy) / (w*wxx - wx*wx)
	constant = (wy - slope*wx) / w
	switch {
	case slope < 0:
		return max(0, wy/w), 0
	case constant < 0:
		return 0, max(0, wxy/wxx)
	}
	return constant, slope
}

// differences returns other minus base, repetition by repetition.
func differences(base, other []float64) []float64 {
	var all []float64
	for i := range min(len(base), len(other)) {
		all = append(all, other[i]-base[i])
	}
	return all
}

// percents writes a median in percent with its interval: "32.1% (31.0% to 33.5%)".
func percents(s stat.Summary) string {
	if s.Confidence == 0 {
		return format.Figure(s.Median) + "% (no interval)"
	}
	return format.IntervalIn(s.Median, s.Lo, s.Hi, "%", "%")
}

// withUnit writes a median and its unit with the interval: "32.1 ns (31.0 to
// 33.5)".
func withUnit(s stat.Summary, unit string) string {
	if s.Confidence == 0 {
		return format.Figure(s.Median) + unit + " (no interval)"
	}
	return format.IntervalIn(s.Median, s.Lo, s.Hi, unit, "")
}

// within writes a median with its interval: "32.1 (31.0 to 33.5)".
func within(s stat.Summary) string {
	if s.Confidence == 0 {
		return format.Figure(s.Median) + " (no interval)"
	}
	return format.Interval(s.Median, s.Lo, s.Hi)
}
