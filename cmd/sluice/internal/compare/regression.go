package compare

import (
	"math"
	"slices"
)

// Many points are tested at once. At alpha 0.05, one in twenty differs "beyond
// noise" by chance, so a comparison of 200 points that failed on any of them
// would always fail. The decision is made over all points together, by the
// procedure of Benjamini and Hochberg ("Controlling the False Discovery Rate",
// J. R. Statist. Soc. B 57, 1995): sort the p of m points; the cutoff is the
// k-th smallest p for the largest k with p <= k·alpha/m. The expected share of
// false points among those up to the cutoff is at most alpha; if nothing
// changed, the probability of any is at most alpha. This holds for independent
// points and for positively correlated ones, as in one run. A regression is a
// point up to the cutoff that is worse by more than the threshold.
//
// Bonferroni's and Holm's procedures limit the probability of a single false
// point instead. For one of 200 points they require p <= 0.00025, which six
// repetitions cannot reach (0.0022 at best), so a sweep whose points all become
// slower would pass.
//
// Two kinds of points are excluded. Points with too few repetitions to reach
// alpha could never count, and would only raise the bar for the others (Tarone,
// "A Modified Bonferroni Method for Discrete Data", Biometrics 46, 1990). Units
// that a file declares exact have no noise: any change beyond the threshold
// counts.

// A Decision is the result of all points together.
type Decision struct {
	// Tested is the number of points judged together.
	Tested int `json:"tested"`
	// Cutoff is the largest p that counts, or 0.
	Cutoff      float64 `json:"cutoff"`
	Regressions int     `json:"regressions"`
	// AtOnce is the number of points that must differ, each as clearly as its
	// repetitions can show, for any of them to count; 0 if no number suffices.
	// It is 1 if there are enough repetitions for the number of points.
	AtOnce int `json:"at_once"`
	// TooFew is the number of points with too few repetitions.
	TooFew int `json:"too_few"`
	// Undirected is the number of points with a unit of unknown direction. They
	// are judged with the others, but are not regressions.
	Undirected int `json:"undirected"`
}

// decide marks the regressions.
func decide(points []Point, o Options) Decision {
	var d Decision
	var ps, least []float64
	exact := false
	for i := range points {
		switch p := &points[i]; {
		case p.Exact:
			exact = true
		case p.Verdict == TooFew:
			d.TooFew++
		default:
			ps, least = append(ps, p.P), append(least, p.LeastP)
		}
		if points[i].better == 0 {
			d.Undirected++
		}
	}
	d.Tested = len(ps)
	d.Cutoff, _ = benjaminiHochberg(ps, o.Alpha)
	if _, d.AtOnce = benjaminiHochberg(least, o.Alpha); exact {
		d.AtOnce = 1
	}
	for i := range points {
		p := &points[i]
		counts := p.P <= d.Cutoff // the p of exact units is 0
		if counts && p.Verdict == Worse && math.Abs(float64(p.Change)) > o.Threshold {
			p.Regression = true
			d.Regressions++
		}
	}
	return d
}

// benjaminiHochberg returns the largest p that counts, and the smallest number
// of smallest ps that would count if the others were 1. Both are 0 if none
// counts.
func benjaminiHochberg(ps []float64, alpha float64) (cutoff float64, fewest int) {
	sorted := slices.Sorted(slices.Values(ps))
	for i, p := range sorted {
		if p <= alpha*float64(i+1)/float64(len(sorted)) {
			cutoff = p
			if fewest == 0 {
				fewest = i + 1
			}
		}
	}
	return cutoff, fewest
}
