package compare

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/sluice-go/sluice/cmd/sluice/internal/format"
)

// answer returns the decision in one line of at most textWidth characters.
func (c *Comparison) answer() string {
	d := &c.Decision
	of := fmt.Sprintf("of %s", format.Plural(d.Tested, "point"))
	switch worst := c.worst(); {
	case d.Reason == Broken:
		return format.Cut("FAILED: NEW has failures: "+strings.Join(strings.Fields(c.New.Failures[0]), " "), textWidth)
	case d.Outcome == Failed && d.Regressions == 1 && worst.toOrFromZero():
		return fmt.Sprintf("REGRESSION: 1 %s is %s: %s.", of, c.word(), worst.times())
	case d.Outcome == Failed && d.Regressions == 1:
		return fmt.Sprintf("REGRESSION: 1 %s is %s %s.", of, worst.times(), c.word())
	case d.Outcome == Failed:
		return fmt.Sprintf("REGRESSION: %d %s are %s, the worst %s.", d.Regressions, of, c.word(), worst.by())
	case d.Reason == Untestable && d.TooFew > 0:
		return "UNDECIDED: no point has enough repetitions to tell a change from noise."
	case d.Reason == Untestable:
		return "UNDECIDED: it is unknown for each unit whether more is better."
	case d.Reason == Suspects:
		return fmt.Sprintf("UNDECIDED: %d of %s %s %s %s, but noise may do that.",
			d.Suspects, format.Plural(d.Tested+d.TooFew, "point"), looks(d.Suspects), worst.times(), c.word())
	case d.Reason == Drifted:
		return fmt.Sprintf("UNDECIDED: nearly all points are %s %s: the code or the machine.", factor(d.Drift), c.word())
	case d.Reason == Vanished:
		return fmt.Sprintf("UNDECIDED: %s of OLD %s not in NEW, and may be worse.", format.Plural(len(c.OnlyOld), "point"), format.Are(len(c.OnlyOld)))
	case d.Reason == Disturbed:
		return fmt.Sprintf("UNDECIDED: too much noise: a point %d times %s could hide in it.", visible, c.word())
	}
	if within := c.within(); within > 0 {
		return fmt.Sprintf("No regression: %d %s %s %s, but no more than noise or threshold.", within, of, format.Are(within), c.word())
	}
	return fmt.Sprintf("No regression: none %s is %s beyond noise.", of, c.word())
}

// procsAnswer describes two values of GOMAXPROCS, whose differences are not only
// regressions, in a line before the answer; or it returns "".
func (c *Comparison) procsAnswer() string {
	if c.Procs == nil {
		return ""
	}
	counts := map[Verdict]int{}
	for i := range c.Points {
		if p := &c.Points[i]; p.testable {
			counts[p.Verdict]++
		}
	}
	better := "better"
	if c.word() == "slower" {
		better = "faster"
	}
	return fmt.Sprintf("GOMAXPROCS %d instead of %d: %s of %s %s, %s %s.\n", c.Procs[1], c.Procs[0],
		count(counts[Worse]), format.Plural(c.Decision.Tested+c.Decision.TooFew, "point"), c.word(), count(counts[Better]), better)
}

func looks(n int) string {
	if n == 1 {
		return "looks"
	}
	return "look up to"
}

// word is "slower" if all tested points are times or rates, and "worse" otherwise.
func (c *Comparison) word() string {
	for i := range c.Points {
		if p := &c.Points[i]; p.testable && !timed(p.Unit) {
			return "worse"
		}
	}
	return "slower"
}

// worst returns the regression or, without any, the suspect with the largest
// change, or nil.
func (c *Comparison) worst() *Point {
	if marked := c.marked(); len(marked) > 0 {
		return marked[0]
	}
	return nil
}

// marked returns the regressions or, without any, the suspects, the largest
// change first.
func (c *Comparison) marked() (marked []*Point) {
	for i := range c.Points {
		p := &c.Points[i]
		if p.Regression || p.Suspect && c.Decision.Regressions == 0 {
			marked = append(marked, p)
		}
	}
	slices.SortStableFunc(marked, func(a, b *Point) int { return cmp.Compare(b.cost(), a.cost()) })
	return marked
}

// within returns the number of tested points that are worse beyond the noise
// within the runs, but not regressions.
func (c *Comparison) within() (n int) {
	for i := range c.Points {
		if p := &c.Points[i]; p.testable && p.Verdict == Worse && !p.Regression {
			n++
		}
	}
	return n
}

// cost returns the factor by which the median is worse: 2 for twice the time, or
// half the rate.
func (p *Point) cost() float64 { return math.Exp(p.evidence.median) }

// toOrFromZero reports whether the change of the median has no factor.
func (p *Point) toOrFromZero() bool { return p.Old.Median == 0 || p.New.Median == 0 }

// times writes the factor by which the median is worse: "31%", "3.0 times".
func (p *Point) times() string {
	if p.toOrFromZero() {
		return p.change()
	}
	return factor(p.cost())
}

// by is times after "the worst".
func (p *Point) by() string {
	if p.toOrFromZero() {
		return p.change()
	}
	return "by " + p.times()
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

// listing names the regressions or suspects, and their changes.
func (c *Comparison) listing() string {
	var b strings.Builder
	marked := c.marked()
	for i, p := range marked {
		if i == listed {
			fmt.Fprintf(&b, "  … and %d more\n", len(marked)-i)
			break
		}
		b.WriteString("  " + format.Wrap(p.title()+", "+p.Unit+": "+p.values(), textWidth, 2, "    "))
	}
	return b.String()
}

// values writes both medians and the change: "100 ns, now 300 ns (3.0 times)".
func (p *Point) values() string {
	row := p.row()
	text := row[oldColumn] + ", now " + row[newColumn]
	if p.toOrFromZero() {
		return text
	}
	return text + " (" + p.times() + ")"
}

// title is words without a GOMAXPROCS if two are compared.
func (p *Point) title() string {
	if p.procs[0] == 0 {
		return p.words()
	}
	return strings.TrimSuffix(p.words(), ", GOMAXPROCS "+p.split().procs)
}

// words writes a point's name in words, which may be broken into lines.
func (k Key) words() string {
	if k.Experiment == "" {
		return strings.Join(nonempty(k.Package, k.Name), " ")
	}
	n := k.split()
	return strings.Join(nonempty(k.Experiment, n.sweep, n.setting, n.label, "GOMAXPROCS "+n.procs), ", ")
}

func nonempty(parts ...string) []string {
	return slices.DeleteFunc(parts, func(part string) bool { return part == "" })
}

// basis describes what counts as a regression in these runs, and what to do.
func (c *Comparison) basis() string {
	d := &c.Decision
	var text []string
	say := func(format string, args ...any) { text = append(text, fmt.Sprintf(format, args...)) }
	if len(d.Noise) > 0 {
		say("A regression is more than %s worse, beyond the noise within each run and between the two: in these runs %s.",
			format.PercentExact(c.Threshold), c.limits())
	}
	if machine := d.believed(c.order()); machine > math.Log(1.02) {
		say("All points are at least about %s worse; as much as %s of it is taken as the machine's.", factor(d.Drift), factor(math.Exp(machine)))
	}
	switch {
	case d.Outcome == Failed && c.arrangement() != inTurns:
		say("Measuring in turns, as below, confirms it.")
	case d.Reason == Untestable && d.TooFew > 0:
		say("Measure at least %d repetitions of each point, with -count.", c.leastCount())
	case d.Reason == Suspects, d.Reason == Disturbed:
		say("Measure both again: with less load, with a larger -count, or in turns, as below.")
	case d.Reason == Drifted:
		say("Measuring in turns, as below, tells them apart.")
	}
	if d.TooFew > 0 && d.Reason != Untestable {
		say("%s %s too few repetitions to be tested.", format.Capital(format.Plural(d.TooFew, "point")), format.Have(d.TooFew))
	}
	if d.Undirected > 0 {
		say("%s %s not tested: it is unknown whether more of their unit is better%s.",
			format.Plural(d.Undirected, "point"), format.Are(d.Undirected), c.declare())
	}
	return strings.Join(text, " ")
}

// declare tells how to declare the direction of a unit, except in the lab's files.
func (c *Comparison) declare() string {
	for i := range c.Points {
		if p := &c.Points[i]; p.better == 0 && p.Experiment == "" {
			return fmt.Sprintf(" (declare it in the file: “Unit %s better=higher”)", p.Unit)
		}
	}
	return ""
}

// limits names the change beyond which a point stands out, for each group.
func (c *Comparison) limits() string {
	var parts []string
	for _, n := range c.Decision.Noise {
		name := n.Experiment
		if name == "" {
			name = n.Package
		}
		kind := n.Kind
		if kind == timeKind {
			kind = "times"
		}
		parts = append(parts, strings.Join(nonempty("more than", factor(n.StandsOut), "for", name, kind), " "))
	}
	return format.And(parts)
}

// leastCount returns the number of repetitions that can be significant.
func (c *Comparison) leastCount() int {
	n := 1
	for leastP(n, n) > c.Alpha {
		n++
	}
	return n
}
