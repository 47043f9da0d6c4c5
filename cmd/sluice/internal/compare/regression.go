package compare

import (
	"cmp"
	"math"
	"slices"
)

// A regression is a point that passes four tests. Only points that could pass are
// tested: their unit has a known direction, and their repetitions suffice.
//
//  1. It is worse beyond the noise within the runs: the Mann-Whitney U test, at
//     alpha for this point, which six repetitions can reach (0.0022).
//  2. It is worse by more than the threshold.
//  3. Both follow after the machine's drift, by which all points became slower,
//     is subtracted.
//  4. It stands out from the noise between runs (noise.go), by the procedure of
//     Holm ("A Simple Sequentially Rejective Multiple Test Procedure", Scand. J.
//     Statist. 6, 1979) over all tested points: if nothing changed, the
//     probability of a single regression is at most alpha.
//
// The fourth test does not depend on the number of repetitions, so that one point
// among hundreds can be a regression with six of them. The rank test alone, in a
// procedure over all points, could not: its smallest p is above alpha/m for more
// than 22 points. docs/adr/0017-comparison.md has the reasons and the measured
// rates.
//
// A unit that a file declares exact has no noise: a change beyond the threshold is
// a regression.

// An Outcome is the answer of a comparison.
type Outcome string

// The outcomes. Undecided means that a large slowdown could hide, in the noise or in
// what is missing: Decision.Reason names which.
const (
	Passed    Outcome = "no regression"
	Failed    Outcome = "regression"
	Undecided Outcome = "undecided"
)

// A Reason is why a comparison is undecided.
type Reason string

// The reasons.
const (
	Untestable Reason = "no point can be tested"       // too few repetitions, or units of unknown direction
	Suspects   Reason = "points that look far worse"   // by suspicious or more, but noise may do that
	Disturbed  Reason = "more noise than slowdowns"    // most points could hide a slowdown by visible
	Drifted    Reason = "nearly all points are slower" // by more than steady: the code or the machine
	Broken     Reason = "NEW has failures"             // of benchmarks or of the whole run: Run.Failures; the outcome is Failed
	Vanished   Reason = "points of OLD are not in NEW" // what is missing may be worse
)

const (
	suspicious = 2    // a point that is worse by this factor needs an explanation
	visible    = 3    // a slowdown that most points must show, or the comparison is undecided
	steady     = 1.15 // a machine whose drift is below this needs no explanation
)

// A Decision is the result of all points together.
type Decision struct {
	Outcome Outcome `json:"outcome"`
	Reason  Reason  `json:"reason,omitempty"`
	// Tested is the number of points that could be regressions.
	Tested      int `json:"tested"`
	Regressions int `json:"regressions"`
	// Suspects is the number of points that look far worse, but may be noise.
	Suspects int `json:"suspects"`
	// Drift is the factor by which all points are worse: 1.02.
	Drift float64 `json:"drift"`
	// TooFew is the number of points with too few repetitions.
	TooFew int `json:"too_few"`
	// Undirected is the number of points with a unit of unknown direction, or with
	// negative figures. They are never regressions.
	Undirected int     `json:"undirected"`
	Noise      []Noise `json:"noise"`
}

// decide marks the regressions and the suspects.
func decide(points []Point, o Options, runs order) Decision {
	d := Decision{Outcome: Passed, Drift: 1, Noise: []Noise{}}
	var tested, few []*Point
	for i := range points {
		switch p := &points[i]; {
		case !p.testable:
			d.Undirected++
		case p.Exact:
			d.Tested++
			if p.Verdict == Worse && math.Abs(float64(p.Change)) > o.Threshold {
				p.Regression = true
				d.Regressions++
			}
		case p.Verdict == TooFew:
			d.TooFew++
			few = append(few, p)
		default:
			tested = append(tested, p)
		}
	}
	d.Tested += len(tested)
	hidden := d.judge(tested, o, runs)
	threshold := math.Log1p(o.Threshold)
	for _, p := range slices.Concat(tested, few) {
		if !p.Regression && p.evidence.change()-d.believed(runs) > max(threshold, math.Log(suspicious)) {
			p.Suspect = true
			d.Suspects++
		}
	}
	undecided := func(reason Reason) { d.Outcome, d.Reason = Undecided, reason }
	switch {
	case d.Regressions > 0:
		d.Outcome = Failed
	case d.Tested == 0:
		undecided(Untestable)
	case d.Suspects > 0:
		undecided(Suspects)
	case d.believed(runs) > max(threshold, math.Log(steady)):
		undecided(Drifted)
	case 2*hidden > len(tested):
		undecided(Disturbed)
	}
	return d
}

// An order is how the repetitions of both sides lie in time.
type order struct {
	turns    int  // runs on each side, if they were measured in turns; otherwise 1
	together bool // the machine's drift is in both sides
}

// believed returns the drift that may be the machine's, as a logarithm.
func (d *Decision) believed(runs order) float64 {
	if runs.together {
		return 0
	}
	return math.Log(min(d.Drift, maxDrift))
}

// judge marks the regressions of the tested points, and returns the number of
// points that would hide a slowdown by visible.
func (d *Decision) judge(tested []*Point, o Options, runs order) (hidden int) {
	d.Drift = math.Exp(drift(tested))
	machine, threshold := d.believed(runs), math.Log1p(o.Threshold)
	type candidate struct {
		*Point
		p float64
	}
	var candidates []candidate
	for _, noise := range groupNoise(tested, runs.turns) {
		limit := max(threshold, noise.limit(o.Alpha/float64(len(tested))))
		noise.StandsOut = math.Exp(limit)
		if limit > math.Log(visible) {
			hidden += noise.Points
		}
		d.Noise = append(d.Noise, *noise)
		for _, p := range noise.points {
			change := p.evidence.change() - machine
			if p.Verdict == Worse && change > threshold {
				candidates = append(candidates, candidate{p, noise.tail(change)})
			}
		}
	}
	slices.SortStableFunc(candidates, func(a, b candidate) int { return cmp.Compare(a.p, b.p) })
	for i, c := range candidates {
		if c.p > o.Alpha/float64(len(tested)-i) {
			break
		}
		c.Regression = true
		d.Regressions++
	}
	return hidden
}
