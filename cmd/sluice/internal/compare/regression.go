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
// among hundreds can be a regression with six of them: docs/adr/0011-statistics.md.
//
// A unit that a file declares exact has no noise: a change beyond the threshold is
// a regression. An improvement is the same in the other direction. It decides nothing.

// An Outcome is the answer of a comparison, and a Reason why it is not simply that.
type (
	Outcome string
	Reason  string
)

// The outcomes, and the reasons to be undecided: a large slowdown could hide. Broken is
// one to fail.
const (
	Passed    Outcome = "no regression"
	Failed    Outcome = "regression"
	Undecided Outcome = "undecided"

	Untestable Reason = "no point can be tested"       // too few repetitions, or units of unknown direction
	Suspects   Reason = "points that look far worse"   // by suspicious or more, but noise may do that
	Disturbed  Reason = "more noise than slowdowns"    // most points could hide a slowdown by visible
	Drifted    Reason = "nearly all points are slower" // by more than steady: the code or the machine
	Vanished   Reason = "points of OLD are not in NEW" // what is missing may be worse
	Broken     Reason = "NEW has failures"             // Run.Failures names them
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
	Tested       int `json:"tested"`
	Regressions  int `json:"regressions"`
	Improvements int `json:"improvements"`
	// Suspects is the number of points that look far worse, but may be noise.
	Suspects int `json:"suspects"`
	// Vanished is the number of points of OLD that are not in NEW, and not meant to be.
	Vanished int `json:"vanished"`
	// Drift is the factor by which all points are worse: 1.02.
	Drift float64 `json:"drift"`
	// TooFew is the number of points with too few repetitions.
	TooFew int `json:"too_few"`
	// Undirected is the number of points with a unit of unknown direction, or with
	// negative figures. They are never regressions.
	Undirected int     `json:"undirected"`
	Noise      []Noise `json:"noise"`

	machine float64 // the part of Drift that may be the machine's, as a logarithm
}

// decide marks the regressions, the improvements and the suspects. Broken reports
// whether NEW has failures.
func (d *Decision) decide(points []*Point, o Options, runs order, broken bool) {
	d.Noise = []Noise{}
	var tested, few []*Point
	for _, p := range points {
		switch {
		case !p.testable:
			d.Undirected++
		case p.Exact:
			d.Tested++
			if math.Abs(float64(p.Change)) > o.Threshold {
				d.mark(p)
			}
		case p.Verdict == TooFew:
			d.TooFew++
			few = append(few, p)
		default:
			tested = append(tested, p)
		}
	}
	d.Tested += len(tested)
	threshold := math.Log1p(o.Threshold)
	groups := groupNoise(tested, runs.turns)
	hidden := 0
	for _, noise := range groups {
		limit := max(threshold, noise.limit(o.Alpha/float64(len(tested))))
		noise.StandsOut = math.Exp(limit)
		if limit > math.Log(visible) {
			hidden += noise.Points
		}
		d.Noise = append(d.Noise, *noise)
	}
	for _, direction := range []float64{+1, -1} {
		d.judge(groups, len(tested), direction, runs.believed(drift(tested, direction)), threshold, o.Alpha)
	}
	d.Drift = math.Exp(drift(tested, +1))
	d.machine = runs.believed(math.Log(d.Drift))
	for _, p := range slices.Concat(tested, few) {
		if !p.Regression && p.evidence.change(+1)-d.machine > max(threshold, math.Log(suspicious)) {
			p.Suspect = true
			d.Suspects++
		}
	}
	reasons := []struct {
		holds bool
		Outcome
		Reason
	}{
		{d.Regressions > 0, Failed, ""},
		{broken, Failed, Broken},
		{d.Tested == 0 && len(points) > 0, Undecided, Untestable},
		{d.Suspects > 0, Undecided, Suspects},
		{d.Vanished > 0, Undecided, Vanished},
		{d.machine > max(threshold, math.Log(steady)), Undecided, Drifted},
		{2*hidden > len(tested), Undecided, Disturbed},
		{true, Passed, ""},
	}
	for _, r := range reasons {
		if r.holds {
			d.Outcome, d.Reason = r.Outcome, r.Reason
			return
		}
	}
}

// mark marks a point that stands out.
func (d *Decision) mark(p *Point) {
	switch p.Verdict {
	case Worse:
		p.Regression = true
		d.Regressions++
	case Better:
		p.Improvement = true
		d.Improvements++
	}
}

// judge marks the points that stand out in a direction, after the machine's drift is
// subtracted, by Holm's procedure.
func (d *Decision) judge(groups []*Noise, tested int, direction, machine, threshold, alpha float64) {
	type candidate struct {
		*Point
		p float64
	}
	var candidates []candidate
	for _, noise := range groups {
		for _, p := range noise.points {
			change := p.evidence.change(direction) - machine
			if p.Verdict != Same && change > threshold {
				candidates = append(candidates, candidate{p, noise.tail(change)})
			}
		}
	}
	slices.SortStableFunc(candidates, func(a, b candidate) int { return cmp.Compare(a.p, b.p) })
	for i, c := range candidates {
		if c.p > alpha/float64(tested-i) {
			break
		}
		d.mark(c.Point)
	}
}
