package lab

import (
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

// A threshold is the place from which on an overhead stays below the limit, for
// the medians and for the ends of their intervals: each is a place, or everywhere, or
// never. The zero threshold means that there were too few steps.
type threshold struct {
	at, lo, hi  float64
	first, last float64 // the places that were measured
	firm        bool    // all places have intervals
}

// The overhead is below the limit at the first place already, or at none.
const everywhere = 0

var never = math.Inf(1)

// thresholdOf returns the threshold of the steps. An overhead does not rise with the size
// of the job or of the batch, so each size bounds the others: the overhead is at most a
// smaller size's, and at least a larger size's.
func thresholdOf(steps []step) threshold {
	if len(steps) < 2 {
		return threshold{}
	}
	var los, his []float64
	t := threshold{first: steps[0].at, last: steps[len(steps)-1].at, firm: true}
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
	lo, hi := crossing(steps, los), crossing(steps, his)
	t.at, t.lo, t.hi = crossing(steps, falling(steps)), min(lo, hi), max(lo, hi) // two intervals may exclude each other
	return t
}

// crossing returns the place from which on the figures, which do not rise, stay
// below the limit. Between two places the overhead is assumed to be a power of
// the axis that falls no faster than in proportion: that is the part of a cost
// that is constant per job, or per batch. A figure of zero or below is noise.
func crossing(steps []step, figures []float64) float64 {
	first := slices.IndexFunc(figures, func(f float64) bool { return f <= limit })
	switch first {
	case 0:
		return everywhere
	case -1:
		return never
	}
	from, to := steps[first-1].at, steps[first].at
	high := figures[first-1]
	low := max(figures[first], high*from/to)
	if low >= limit {
		return to
	}
	return from * math.Pow(to/from, math.Log(high/limit)/math.Log(high/low))
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

// reached reports whether both ends of the interval are places, however far apart, with
// the threshold between them, and known whether these are no further apart than a decade.
func (t threshold) reached() bool {
	return t.firm && t.lo > everywhere && t.lo <= t.at && t.at <= t.hi && t.hi < never
}
func (t threshold) known() bool { return t.reached() && format.Known(t.at, t.lo, t.hi) }

// text writes the threshold as far as it is known: with its interval, "6.1 µs (4
// µs to 9 µs)", or "roughly" if that is wider than a decade; or with the end of the
// interval that is known, "more than 4 µs". It is "" for too few steps.
func (t threshold) text(name func(float64) string) string {
	switch {
	case t == threshold{}:
		return ""
	case !t.firm:
		lone := t
		lone.firm, lone.lo, lone.hi = true, t.at, t.at
		return lone.text(name) + ", no interval"
	case t.known() && name(t.lo) == name(t.hi):
		return name(t.at)
	case t.reached():
		text := name(t.at) + " (" + name(t.lo) + " to " + name(t.hi) + ")"
		if !t.known() {
			text = "roughly " + text
		}
		return text
	case t.lo == never:
		return "more than " + name(t.last)
	case t.hi == everywhere:
		return "at most " + name(t.first)
	case t.lo == everywhere && t.hi < never:
		return "at most " + name(t.hi)
	case t.lo > everywhere && t.hi == never:
		return "more than " + name(t.lo)
	}
	return format.NotKnownHere
}

// A cost is the transfer cost of jobs and results: a constant part per job, and
// a part that grows with the job.
type cost struct {
	transfer stat.Summary // ns per value, which is a job or a result
	share    stat.Summary // percent of the job
}

// fittedUpTo is the size of the largest job that a cost is fitted to. With
// larger jobs the noise exceeds the cost.
const fittedUpTo = 10_000 // ns

// costOf fits a line to a contender's time beyond the ideal, by size of the job,
// once per repetition: the interval is over the repetitions. ok is false if
// there are too few sizes for a line.
func costOf(panel spots, id ContenderID) (c cost, ok bool) {
	var ratios, times [][]float64
	rounds := math.MaxInt
	for _, size := range jobSizes {
		at := panel.at(micros(size)).with(id)
		if len(at) == 0 || size > fittedUpTo {
			continue
		}
		ratio, time := at.in(timesIdeal).one().samples(id), at.in(measure.NsPerOp).one().samples(id)
		ratios, times = append(ratios, ratio), append(times, time)
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
