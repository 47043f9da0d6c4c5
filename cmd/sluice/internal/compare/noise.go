package compare

import (
	"math"
	"slices"

	"github.com/sluice-go/sluice/cmd/sluice/internal/stat"
)

// Two runs of the same code differ by more than the repetitions within them show: a
// disturbance may last longer than all repetitions of a point. This file measures the
// noise between two runs from the runs themselves. All changes are logarithms of costs:
// +0.7 is twice as slow.
//
// The change of a point is the smaller of two: of its medians, and of its best
// repetitions, which load hardly disturbs. The noise of a group of points has a Laplace
// distribution: the probability that it exceeds t is exp(-t/scale)/2. The scale comes
// from the shortest interval that contains 40% of the changes, which are of points that
// did not change; and from the 90th percentile of the interquartile ranges within the
// runs, for disturbed points. docs/adr/0011-statistics.md has the rates of alarms.
const (
	coreShare     = 0.4  // of the changes, in the shortest interval
	disturbedAt   = 0.9  // the percentile of the ranges within runs
	disturbedPart = 0.2  // the share of that range in the scale
	leastScale    = 0.01 // two runs never agree better than this
	unknownScale  = 0.05 // the least scale of a group too small to measure it
	leastGroup    = 8    // points that measure the scale of a group
	driftQuantile = 0.25 // at most this share of points changed less than the machine
	maxDrift      = 1.5  // the largest factor that is believed of a machine
)

// evidence is what decides about a point. It is 0 for a point that is not tested.
type evidence struct {
	median float64 // change of the medians
	best   float64 // change of the best repetitions
	within float64 // the wider interquartile range of the two samples
}

// change returns the change in a direction: +1 for worse, -1 for better.
func (e *evidence) change(direction float64) float64 {
	return min(direction*e.median, direction*e.best)
}

const (
	nothing = -100.0 // the logarithm of a cost of 0, far below that of every real cost
	widest  = 2.0    // a larger range within a sample mixes 0 and other values
)

// newEvidence returns the evidence of two samples. It returns false if more is
// neither better nor worse, or if a value is negative.
func newEvidence(values *[2][]float64, better int) (evidence, bool) {
	var costs [2][]float64
	for side, sample := range values {
		for _, v := range sample {
			if better == 0 || v < 0 {
				return evidence{}, false
			}
			costs[side] = append(costs[side], -float64(better)*max(nothing, math.Log(v)))
		}
		slices.Sort(costs[side])
	}
	was, is := costs[0], costs[1]
	fewer := min(len(was), len(is))
	return evidence{
		median: stat.Quantile(is, 0.5) - stat.Quantile(was, 0.5),
		best:   best(is, fewer) - best(was, fewer),
		within: min(widest, max(middle(was), middle(is))),
	}, true
}

// middle returns the interquartile range.
func middle(sorted []float64) float64 {
	return stat.Quantile(sorted, 0.75) - stat.Quantile(sorted, 0.25)
}

// best returns the value that is as good as the best of n repetitions is expected
// to be: the best of many is better than the best of a few.
func best(sorted []float64, n int) float64 {
	return stat.At(sorted, float64(len(sorted)+1)/float64(n+1)-1)
}

// Noise describes how much two runs differ where nothing changed, in a group of
// points.
type Noise struct {
	Package    string `json:"pkg,omitempty"`        // "" for groups too small for a scale of their own
	Experiment string `json:"experiment,omitempty"` // likewise
	Kind       string `json:"kind"`                 // a unit, or "time" for all times and rates
	Points     int    `json:"points"`
	// Scale is that of the logarithms of changes.
	Scale float64 `json:"scale"`
	// StandsOut is the smallest factor by which a point that is worse stands out
	// from the noise: 1.3 is 30% slower.
	StandsOut float64 `json:"stands_out"`

	points []*Point
}

// groupNoise groups the tested points by experiment and kind of unit, and measures
// their noise. Small groups of a kind are measured together. Turns is the number of runs
// on each side that were measured alternately: their noise averages out.
func groupNoise(points []*Point, turns int) []*Noise {
	group := func(p *Point) Key {
		key := Key{p.Package, p.Experiment, "", p.Unit}
		if timed(p.Unit) {
			key.Unit = "time"
		}
		return key
	}
	sizes := map[Key]int{}
	for _, p := range points {
		sizes[group(p)]++
	}
	var groups []*Noise
	for _, p := range points {
		key := group(p)
		if sizes[key] < leastGroup {
			key = Key{Unit: key.Unit}
		}
		i := slices.IndexFunc(groups, func(n *Noise) bool { return Key{n.Package, n.Experiment, "", n.Kind} == key })
		if i < 0 {
			i = len(groups)
			groups = append(groups, &Noise{Package: key.Package, Experiment: key.Experiment, Kind: key.Unit})
		}
		groups[i].points = append(groups[i].points, p)
	}
	for _, n := range groups {
		n.measure(turns)
	}
	return groups
}

// measure sets the scale.
func (n *Noise) measure(turns int) {
	n.Points = len(n.points)
	var best, within []float64
	for _, p := range n.points {
		best = append(best, p.evidence.best)
		within = append(within, p.evidence.within)
	}
	slices.Sort(within)
	least := leastScale
	if n.Points < leastGroup {
		least = unknownScale
	}
	n.Scale = max(least/float64(turns), coreScale(best)) + disturbedPart/float64(turns)*stat.Quantile(within, disturbedAt)
}

// coreScale returns the scale of a Laplace distribution from the shortest interval
// that contains coreShare of the values.
func coreScale(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	inside := max(2, int(math.Ceil(coreShare*float64(len(sorted)))))
	if inside >= len(sorted) {
		return 0
	}
	shortest := math.Inf(1)
	for i := inside - 1; i < len(sorted); i++ {
		shortest = min(shortest, sorted[i]-sorted[i-inside+1])
	}
	share := float64(inside) / float64(len(sorted))
	return shortest / (2 * -math.Log(1-share))
}

// tail returns the probability that noise alone makes a change as large.
func (n *Noise) tail(change float64) float64 { return min(1, math.Exp(-change/n.Scale)/2) }

// limit returns the change that noise alone exceeds with probability p.
func (n *Noise) limit(p float64) float64 { return n.Scale * -math.Log(2*p) }

// drift returns by how much all points changed in a direction: a change of the machine.
// It needs enough points that most of them cannot have changed by themselves.
func drift(points []*Point, direction float64) float64 {
	if len(points) < leastGroup {
		return 0
	}
	var changes []float64
	for _, p := range points {
		changes = append(changes, p.evidence.change(direction))
	}
	slices.Sort(changes)
	return max(0, stat.Quantile(changes, driftQuantile))
}
