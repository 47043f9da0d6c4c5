package lab

import (
	"math"
	"slices"

	"github.com/sluice-go/sluice/cmd/sluice/internal/format"
	"github.com/sluice-go/sluice/cmd/sluice/internal/measure"
	"github.com/sluice-go/sluice/cmd/sluice/internal/stat"
)

// limit is the overhead, in per cent, below which a job is said to be large enough.
const limit = 1

// A step is one place on an axis that is a number, with an overhead measured there.
type step struct {
	at   float64
	over stat.Summary // in per cent
}

// steps returns what was measured of a contender at the given places, named as on
// the axis.
func (m *Measured) steps(section SectionID, panel Panel, who ContenderID, places []float64, name func(float64) string) []step {
	var steps []step
	for _, at := range places {
		if ratios := m.Samples(section, panel, name(at), who, timesIdeal); len(ratios) > 0 {
			steps = append(steps, step{at, overhead.Show(stat.Summarize(ratios))})
		}
	}
	return steps
}

// A mode is how a threshold was found.
type mode uint8

const (
	never        mode = iota // the limit is kept nowhere
	everywhere               // it is kept from the first place on
	reached                  // it is kept from a place on, and was surely not before
	interpolated             // it is kept from somewhere between two places on
)

// crossing returns from where on figures, which do not rise, stay below the limit.
// Between two places an overhead is taken for a power of what is on the axis, and to
// fall no faster than in proportion, which is the part of a cost that is the same for
// each job, or each batch: a figure of nothing, or less, is noise.
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

// falling returns the sequence that does not rise and is closest to the medians by
// least squares, each weighted by how narrow its interval is: runs that rise become
// their mean.
func falling(steps []step) []float64 {
	const narrowest = 1e-6 // of points of per cent, for intervals of no width
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

// A threshold is from where on an overhead stays below the limit: of the medians,
// and of the ends of their intervals.
type threshold struct {
	at, lo, hi      float64
	found, low, top mode
	last            float64 // the last place that was measured
	firm            bool    // the ends are those of intervals
}

// thresholdOf returns that of the steps; ok is false if they are too few to tell. An
// overhead does not rise with the size of the job or of the batch, so what is known of
// one size bounds the others: it is at most what a smaller one has, and at least what
// a larger one has.
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

// text says the threshold and how it was found: "6.1 µs (4 µs to 9 µs), interpolated".
func (t threshold) text(name func(float64) string) string {
	end := func(at float64, found mode) string {
		switch found {
		case never:
			return "beyond " + name(t.last)
		case everywhere:
			return "at most " + name(at)
		}
		return name(at)
	}
	var said, how string
	switch t.found {
	case never:
		said, how = "not within "+name(t.last), "measured"
	case everywhere:
		said, how = "at most "+name(t.at), "measured"
	case reached:
		said, how = name(t.at), "measured"
	default:
		said, how = name(t.at), "interpolated"
	}
	if !t.firm {
		return said + ", " + how + ", no interval"
	}
	if lo, hi := end(t.lo, t.low), end(t.hi, t.top); lo != hi {
		said += " (" + lo + " to " + hi + ")"
	}
	return said + ", " + how
}

// A cost is what handing over takes of the time, beside the jobs: a part that is
// the same for each job, and a part that grows with it.
type cost struct {
	handOver stat.Summary // ns for each hand-over of a job or a result
	share    stat.Summary // per cent of the job
}

// text says a cost: "165 (150 to 174) ns", with the part that grows if there surely
// is one that matters.
func (c cost) text() string {
	said := within(c.handOver) + " ns"
	if c.share.Confidence > 0 && c.share.Lo > limit {
		said += " plus " + within(c.share) + " % of the job's time"
	}
	return said
}

// fittedUpTo is the largest job that a cost is fitted on: of larger ones the
// noise is more than the cost.
const fittedUpTo = 10_000 // ns

// handOvers is how often each job changes hands: on its way in, and its result on the
// way out.
const handOvers = 2

// cost fits a line to the time that a contender takes beyond the ideal, by size of
// the job, once for each repetition: what they differ by is the interval. ok is false
// if there are too few sizes for a line.
func (m *Measured) cost(panel Panel, who ContenderID) (c cost, ok bool) {
	var ratios, times [][]float64
	rounds := math.MaxInt
	for _, size := range jobSizes {
		ratio := m.Samples(sectionBusy, panel, micros(size), who, timesIdeal)
		if len(ratio) == 0 || size > fittedUpTo {
			continue
		}
		ratios = append(ratios, ratio)
		time := m.Samples(sectionBusy, panel, micros(size), who, measure.NsPerOp)
		times = append(times, time)
		rounds = min(rounds, len(ratio), len(time))
	}
	if len(ratios) < 3 || rounds == 0 {
		return c, false
	}
	var handOver, share []float64
	for round := range rounds {
		var ideals, elapsed []float64
		for i := range ratios {
			ideals = append(ideals, times[i][round]/ratios[i][round])
			elapsed = append(elapsed, times[i][round])
		}
		constant, slope := lineBeyond(ideals, elapsed)
		handOver = append(handOver, constant/handOvers)
		share = append(share, 100*slope)
	}
	return cost{stat.Summarize(handOver), stat.Summarize(share)}, true
}

// lineBeyond fits elapsed - ideal = constant + slope * ideal by least squares. What
// disturbs a measurement is a part of what it takes, so each point counts by its
// distance from the line relative to elapsed. Neither cost can be below nothing: where
// the best line says so, it is the best one with nothing in its place.
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

// differences returns, repetition by repetition, what other is above base.
func differences(base, other []float64) []float64 {
	var all []float64
	for i := range min(len(base), len(other)) {
		all = append(all, other[i]-base[i])
	}
	return all
}

// within writes a median with its interval: "32.1 (31 to 33.5)".
func within(s stat.Summary) string {
	if s.Confidence == 0 {
		return format.Figure(s.Median) + " (no interval)"
	}
	return format.Interval(s.Median, s.Lo, s.Hi)
}
