package compare

import (
	"math"
	"slices"
)

// Many points are judged at once. At alpha 0.05 one in twenty differs "beyond
// noise" by chance, so a comparison of two hundred points that fails on any of
// them would fail always. The decision to fail is made over all points together,
// by the procedure of Benjamini and Hochberg ("Controlling the False Discovery
// Rate", J. R. Statist. Soc. B 57, 1995): sort the p of m points; the largest k
// whose k-th smallest p is at most k·alpha/m gives the cutoff. Of the points that
// it takes at most a share of alpha is expected to be false, and if nothing
// changed at all, it takes any with a chance of at most alpha. This holds for
// points that are independent or lean the same way, as those of one run do.
// A regression is a point that the cutoff takes, and that is worse by more than
// the threshold.
//
// Bonferroni's and Holm's procedures bound the chance of a single false point
// instead. They were not chosen: for one of 200 points they ask for a p of
// 0.00025, which six repetitions cannot give (0.0022 at best), so that a sweep
// whose points all get slower together would pass.
//
// Two kinds of points stand aside. Those with too few repetitions to ever reach
// alpha cannot be taken, whatever they measured, and would only make the others
// harder to take (Tarone, "A Modified Bonferroni Method for Discrete Data",
// Biometrics 46, 1990). Units that a file declares exact have no noise: any
// change beyond the threshold counts.

// A Decision is what all points come to together.
type Decision struct {
	// Tested is how many points were judged together.
	Tested int `json:"tested"`
	// Cutoff is the largest p that counts; 0 if none does.
	Cutoff      float64 `json:"cutoff"`
	Regressions int     `json:"regressions"`
	// AtOnce is how many points must differ, each as clearly as its repetitions
	// can show, for any of them to count; 0 if no number would do. It is 1 if there
	// are enough repetitions for the number of points.
	AtOnce int `json:"at_once"`
	// TooFew is how many points have too few repetitions to be judged.
	TooFew int `json:"too_few"`
	// Undirected is how many points have a unit of which it is not known whether
	// more is better. They are judged with the others, and are no regressions.
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
		counts := p.P <= d.Cutoff // the p of what is exact is 0
		if counts && p.Verdict == Worse && math.Abs(float64(p.Change)) > o.Threshold {
			p.Regression = true
			d.Regressions++
		}
	}
	return d
}

// benjaminiHochberg returns the largest p that counts, and how few of the
// smallest ps would count if the others were 1. Both are 0 if none counts.
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
