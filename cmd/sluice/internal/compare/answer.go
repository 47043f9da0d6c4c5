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
	word, of := c.word(), "of "+format.Plural(d.Tested, "point")
	switch worst := c.worst(); {
	case d.Outcome == Failed && d.Regressions == 1:
		return fmt.Sprintf("REGRESSION: 1 %s is %s.", of, worst.costs(word))
	case d.Outcome == Failed && d.Regressions > 1:
		return fmt.Sprintf("REGRESSION: %d %s are %s, the worst %s.", d.Regressions, of, word, worst.costs(""))
	case d.Reason == Broken:
		return "FAILED in NEW: " + list(c.New.Failures)
	case d.Reason == Suspects:
		return fmt.Sprintf("UNDECIDED: %d of %s %s %s, but noise may do that.", d.Suspects, format.Plural(d.Tested+d.TooFew, "point"), looks(d.Suspects), worst.costs(word))
	case d.Reason == Vanished:
		return fmt.Sprintf("UNDECIDED: %s of OLD %s not in NEW, and may be worse (if on purpose: -gone).", format.Plural(d.Vanished, "point"), format.Are(d.Vanished))
	case d.Reason == Untestable && d.TooFew > 0:
		n := 1
		for testOf(n, n).least > c.Alpha {
			n++
		}
		return fmt.Sprintf("UNDECIDED: no point has enough repetitions to tell a change from noise. Measure at least %d of each, with -count.", n)
	case d.Reason == Untestable:
		return "UNDECIDED: it is unknown for each unit whether more is better" + declare
	case d.Reason == Drifted:
		return fmt.Sprintf("UNDECIDED: nearly all points are %s %s: the code or the machine.", factor(d.Drift), word)
	case d.Reason == Disturbed:
		return fmt.Sprintf("UNDECIDED: too much noise: a point %d times %s could hide in it.", visible, word)
	}
	text := fmt.Sprintf("No regression: none %s is %s beyond noise", of, word)
	if within := c.withinRuns(); within > 0 {
		text = fmt.Sprintf("No regression: %d %s %s %s, but %s", within, of, format.Are(within), word, c.doubt())
	}
	if d.Improvements > 0 {
		text += fmt.Sprintf("; %d %s %s", d.Improvements, format.Are(d.Improvements), opposite(word))
	}
	return text + "."
}

// withinRuns returns how many points are worse beyond the noise within the runs.
func (c *Comparison) withinRuns() (n int) {
	for i := range c.Points {
		if p := &c.Points[i]; p.testable && p.Verdict == Worse {
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
func (c *Comparison) drifted() bool {
	return c.order().believed(math.Log(c.Decision.Drift)) > math.Log1p(c.Threshold)
}

// declare is what to do about a unit without a direction.
const declare = " (a file can declare it: “Unit widgets better=higher”)."

func looks(n int) string {
	if n == 1 {
		return "looks"
	}
	return "look"
}

// word is "slower" if all tested points are times or rates, and "worse" otherwise.
func (c *Comparison) word() string {
	for _, p := range c.Points {
		if p.testable && word(p.Unit) == "worse" {
			return "worse"
		}
	}
	return "slower"
}

func word(unit string) string {
	if timed(unit) {
		return "slower"
	}
	return "worse"
}

func opposite(word string) string {
	if word == "slower" {
		return "faster"
	}
	return "better"
}

// worst returns the regression or, without any, the suspect with the largest
// change, or nil.
func (c *Comparison) worst() (worst *Point) {
	for i := range c.Points {
		if p := &c.Points[i]; (p.Regression || p.Suspect && c.Decision.Regressions == 0) && (worst == nil || p.evidence.median > worst.evidence.median) {
			worst = p
		}
	}
	return worst
}

// costs writes the factor by which the median is worse, before a word or, with "", in
// place of it: "3.0 times slower", "by 31%". A change from or to 0 has no factor.
func (p *Point) costs(word string) string {
	f := factor(math.Exp(p.evidence.median))
	switch {
	case p.Old.Median == 0 || p.New.Median == 0:
		return strings.TrimPrefix(word+": ", ": ") + "from " + scaled(p.Old.Median, p.Unit) + " to " + scaled(p.New.Median, p.Unit)
	case word == "":
		return "by " + f
	}
	return f + " " + word
}

// factor writes a factor above 1: "31%", "3.0 times".
func factor(f float64) string {
	if f < suspicious {
		return format.Percent(f - 1)
	}
	if f < 10 {
		return fmt.Sprintf("%.1f times", f)
	}
	return fmt.Sprintf("%.0f times", f)
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
		text.say("A point stands out from the noise of these runs if it is more than %s worse.", least)
	}
	if machine := c.order().believed(math.Log(d.Drift)); machine > math.Log(1.02) {
		text.say("All points are at least about %s worse; as much as %s of it is taken as the machine's.", factor(d.Drift), factor(math.Exp(machine)))
	}
	if c.order().turns == 1 && (d.Regressions > 0 || slices.Contains([]Reason{Suspects, Drifted, Disturbed}, d.Reason) || c.withinRuns() > 0) {
		text.say("To tell the code from the machine, alternate runs of OLD and NEW, several of each, and compare the joined files.")
	}
	if d.TooFew > 0 && d.Reason != Untestable {
		text.say("%s %s too few repetitions to be tested.", format.Plural(d.TooFew, "point"), format.Have(d.TooFew))
	}
	if d.Undirected > 0 && d.Reason != Untestable {
		text.say("%s %s not tested: it is unknown whether more of their unit is better"+declare, format.Plural(d.Undirected, "point"), format.Are(d.Undirected))
	}
	return strings.Join(text, " ")
}
