package compare

import (
	"cmp"
	"math"
	"slices"
)

// Two runs of the same code differ by more than the repetitions within them show:
// the six repetitions of a point are over in a tenth of a second, and a disturbance
// may last longer. This file measures how much two runs differ where nothing
// changed, from the two runs themselves. All changes are logarithms of costs: +0.7
// is twice as slow.
//
// The change of a point is the smaller of two: of its medians, and of its best
// repetitions. Load only adds time, so the best repetition is hardly disturbed, and
// slower code makes both slower.
//
// The noise of a group of points is that of a Laplace distribution, whose tails are
// exponential: the probability that noise exceeds t is exp(-t/scale)/2. The scale
// has two parts:
//
//   - the shortest interval that contains 40% of the group's changes. It finds the
//     points that did not change, wherever they are, even if 60% of the others did.
//   - a share of the 90th percentile of the interquartile ranges within the runs: on
//     a loaded machine some points are disturbed throughout, and have a longer tail.
//
// The measured rates of false and missed alarms are in docs/adr/0017-comparison.md.
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

func (e *evidence) change() float64 { return min(e.median, e.best) }

// nothing is the logarithm of a cost of 0, far below that of every real cost.
const nothing = -100.0

// widest limits a range within a sample: beyond it, a sample mixes 0 and other
// values, or repetitions that share nothing.
const widest = 2.0

// newEvidence returns the evidence of two samples. It returns false if more is
// neither better nor worse, or if a value is negative.
func newEvidence(values *[2][]float64, better int) (evidence, bool) {
	var costs [2][]float64
	for side, sample := range values {
		for _, v := range sample {
			if better == 0 || v < 0 {
				return evidence{}, false
			}
			cost := nothing
			if v > 0 {
				cost = math.Log(v)
			}
			costs[side] = append(costs[side], -float64(better)*cost)
		}
		slices.Sort(costs[side])
	}
	was, is := costs[0], costs[1]
	fewer := min(len(was), len(is))
	return evidence{
		median: quantile(is, 0.5) - quantile(was, 0.5),
		best:   best(is, fewer) - best(was, fewer),
		within: min(widest, max(middle(was), middle(is))),
	}, true
}

// middle returns the interquartile range.
func middle(sorted []float64) float64 { return quantile(sorted, 0.75) - quantile(sorted, 0.25) }

// quantile interpolates between the two nearest values.
func quantile(sorted []float64, share float64) float64 {
	return at(sorted, share*float64(len(sorted)-1))
}

// best returns the value that is as good as the best of n repetitions is expected
// to be: the best of many is better than the best of a few.
func best(sorted []float64, n int) float64 {
	return at(sorted, float64(len(sorted)+1)/float64(n+1)-1)
}

// at interpolates between the values before and after a place.
func at(sorted []float64, place float64) float64 {
	below := int(place)
	if above := below + 1; above < len(sorted) {
		return sorted[below] + (place-float64(below))*(sorted[above]-sorted[below])
	}
	return sorted[below]
}

// Noise describes how much two runs differ where nothing changed, in a group of
// points.
type Noise struct {
	Package    string `json:"pkg,omitempty"`        // "" for groups too small for a scale of their own
	Experiment string `json:"experiment,omitempty"` // likewise
	Kind       string `json:"kind"`                 // a unit, or "time"
	Points     int    `json:"points"`
	// Scale is that of the logarithms of changes.
	Scale float64 `json:"scale"`
	// StandsOut is the smallest factor by which a point that is worse stands out
	// from the noise: 1.3 is 30% slower.
	StandsOut float64 `json:"stands_out"`

	points []*Point
}

// timeKind is the kind of all times and rates, which have the same noise.
const timeKind = "time"

// groupNoise groups the tested points and measures their noise. Turns is the
// number of runs on each side that were measured in turns: their noise averages
// out. The result is in the order of the points.
func groupNoise(points []*Point, turns int) []*Noise {
	var groups []*Noise
	add := func(p *Point, key Noise) {
		i := slices.IndexFunc(groups, func(n *Noise) bool {
			return n.Package == key.Package && n.Experiment == key.Experiment && n.Kind == key.Kind
		})
		if i < 0 {
			i = len(groups)
			groups = append(groups, &key)
		}
		groups[i].points = append(groups[i].points, p)
	}
	for _, p := range points {
		kind := p.Unit
		if timed(kind) {
			kind = timeKind
		}
		add(p, Noise{Package: p.Package, Experiment: p.Experiment, Kind: kind})
	}
	// Small groups of a kind are measured together.
	large := slices.Clone(groups)
	large = slices.DeleteFunc(large, func(n *Noise) bool { return len(n.points) < leastGroup })
	small := slices.DeleteFunc(groups, func(n *Noise) bool { return len(n.points) >= leastGroup })
	groups = large
	for _, n := range small {
		for _, p := range n.points {
			add(p, Noise{Kind: n.Kind})
		}
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
	n.Scale = max(least/float64(turns), coreScale(best)) + disturbedPart/float64(turns)*quantile(within, disturbedAt)
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

// drift returns by how much all points became slower: a change of the machine. It
// needs enough points that most of them cannot have changed by themselves.
func drift(points []*Point) float64 {
	if len(points) < leastGroup {
		return 0
	}
	changes := make([]float64, len(points))
	for i, p := range points {
		changes[i] = p.evidence.change()
	}
	slices.SortFunc(changes, cmp.Compare)
	return max(0, quantile(changes, driftQuantile))
}
