package compare

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/sluice-go/sluice/cmd/sluice/internal/format"
)

// answer returns the decision as a sentence.
func (c *Comparison) answer() string {
	d := &c.Decision
	of := "of " + format.Plural(d.Tested, "point")
	switch d.Reason {
	case Broken:
		return "FAILED in NEW: " + list(c.New.Failures)
	case Suspects:
		return fmt.Sprintf("UNDECIDED: %d of %s may be worse, at worst %s, but noise may do that.", d.Suspects, format.Plural(d.Tested+d.TooFew, "point"), c.worst())
	case Vanished:
		return fmt.Sprintf("UNDECIDED: %s of OLD %s not in NEW, and may be worse (if on purpose: -gone).", format.Plural(d.Vanished, "point"), format.Are(d.Vanished))
	case Untestable:
		if d.TooFew == 0 {
			return "UNDECIDED: it is unknown for each unit whether more is better" + declare
		}
		n := 1
		for testOf(n, n).least > c.Alpha {
			n++
		}
		return fmt.Sprintf("UNDECIDED: no point has enough repetitions to tell a change from noise. Measure at least %d of each, with -count.", n)
	case Drifted:
		return fmt.Sprintf("UNDECIDED: nearly all points are worse by %s: the code or the machine.", factor(d.Drift))
	case Disturbed:
		return fmt.Sprintf("UNDECIDED: too much noise: a point that is worse by %s could hide in it.", factor(visible))
	}
	if d.Outcome == Failed {
		return fmt.Sprintf("REGRESSION: %d %s %s worse, at worst %s.", d.Regressions, of, format.Are(d.Regressions), c.worst())
	}
	text := fmt.Sprintf("No regression: none %s is worse beyond noise", of)
	if within := c.withinRuns(); within > 0 {
		text = fmt.Sprintf("No regression: %d %s %s worse, but %s", within, of, format.Are(within), c.doubt())
	}
	if d.Improvements > 0 {
		text += fmt.Sprintf("; %d %s better", d.Improvements, format.Are(d.Improvements))
	}
	return text + "."
}

// withinRuns returns how many points are worse beyond the noise within the runs.
func (c *Comparison) withinRuns() (n int) {
	for _, p := range c.Points {
		if p.testable && p.Verdict == Worse {
			n++
		}
	}
	return n
}

// doubt explains why points that are worse within the runs are not regressions.
func (c *Comparison) doubt() string {
	noisy := slices.ContainsFunc(c.Decision.Noise, func(n Noise) bool { return n.StandsOut > 1+c.Threshold })
	switch {
	case c.drifted():
		return "so are nearly all: it may be the machine"
	case !noisy:
		return "by less than the threshold of " + format.PercentExact(c.Threshold)
	case c.order().turns == 1:
		return "a single run of each is too few to tell that from noise"
	}
	return "no more than the noise between the runs"
}

// drifted reports whether nearly all points are worse by more than the threshold.
func (c *Comparison) drifted() bool { return c.Decision.machine > math.Log1p(c.Threshold) }

// declare is what to do about a unit without a direction.
const declare = " (a file can declare it: “Unit widgets better=higher”)."

// worst writes by how much the worst regression is worse or, without any, the worst
// suspect. A change from or to 0 has no factor.
func (c *Comparison) worst() string {
	var worst *Point
	for _, p := range c.Points {
		if (p.Regression || p.Suspect && c.Decision.Regressions == 0) && (worst == nil || p.evidence.median > worst.evidence.median) {
			worst = p
		}
	}
	if was, is := worst.Old.Median, worst.New.Median; was == 0 || is == 0 {
		return "from " + scaled(was, worst.Unit) + " to " + scaled(is, worst.Unit)
	}
	return "by " + factor(math.Exp(worst.evidence.median))
}

// factor writes a factor above 1: "31%", "a factor of 3.0".
func factor(f float64) string {
	if f < suspicious {
		return format.Percent(f - 1)
	}
	return "a factor of " + format.Coarse(f)
}

// basis describes what counts as a regression in these runs, and what to do.
func (c *Comparison) basis() string {
	d := &c.Decision
	var text sentences
	var limits []float64
	for _, n := range d.Noise {
		limits = append(limits, n.StandsOut)
	}
	if len(limits) > 0 {
		least, most := factor(slices.Min(limits)), factor(slices.Max(limits))
		if least != most {
			least += " to " + most
		}
		text.say("A point stands out from the noise of these runs if it is worse by more than %s.", least)
	}
	if d.machine > math.Log(1.02) {
		text.say("All points are worse by at least about %s; as much as %s of it is taken as the machine's.", factor(d.Drift), factor(math.Exp(d.machine)))
	}
	if c.order().turns == 1 && (d.Regressions > 0 || slices.Contains([]Reason{Suspects, Drifted, Disturbed}, d.Reason) || c.withinRuns() > 0) {
		text.say("To tell the code from the machine, alternate runs of OLD and NEW, several of each, and compare the joined files.")
	}
	if d.TooFew > 0 && d.Reason != Untestable {
		text.say("%s %s not tested: too few repetitions.", format.Plural(d.TooFew, "point"), format.Are(d.TooFew))
	}
	if d.Undirected > 0 && d.Reason != Untestable {
		text.say("%s %s not tested: it is unknown whether more of their unit is better"+declare, format.Plural(d.Undirected, "point"), format.Are(d.Undirected))
	}
	return strings.Join(text, " ")
}
