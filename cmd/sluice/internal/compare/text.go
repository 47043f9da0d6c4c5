package compare

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/perf/benchunit"

	"github.com/sluice-go/sluice/cmd/sluice/internal/format"
)

// Limits of the text without -v.
const (
	few    = 20 // so many points are all shown, whether they changed or not
	most   = 12 // of more, the points that changed most
	listed = 5  // names
)

// WriteText writes the comparison for a terminal of the given width: the answer, what a
// reader must know before the figures, and a table for each unit. Its rows are the
// points that changed, the regressions first, or all points if they are few or all is
// true. What stands out from noise, and the order of the runs follow.
func (c *Comparison) WriteText(w io.Writer, width int, all bool) error {
	t := &format.Text{Width: width}
	t.Paragraph("  ", c.answer())
	for _, warning := range c.warnings() {
		t.Paragraph("  ", "WARNING: "+warning)
	}
	t.WriteString("\n")
	t.Table("lrrrrl", c.table(all))
	for _, s := range []string{c.only("OLD", c.OnlyOld), c.only("NEW", c.OnlyNew), c.basis(), c.twoRuns()} {
		if s != "" {
			t.Paragraph("  ", s)
		}
	}
	return t.Print(w)
}

// sentences are what a part of the text says.
type sentences []string

func (s *sentences) say(format string, args ...any) { *s = append(*s, fmt.Sprintf(format, args...)) }

// warnings returns the facts that a reader must know before the figures.
func (c *Comparison) warnings() (all sentences) {
	for _, d := range c.Differences {
		if !d.Expected {
			all.say("%s is %s in OLD and %s in NEW: that alone may explain a change.", d.Key, list(d.Old), list(d.New))
		}
	}
	for i, run := range c.runs() {
		word := [...]string{"OLD", "NEW"}[i]
		for _, s := range run.Settings {
			if len(s.Values) > 1 && s.Key != procsKey && s.Key != dateKey && !reading(s.Key) { // runs are joined on purpose
				all.say("%s has %d values of %s: %s. Their figures are combined.", word, len(s.Values), s.Key, list(s.Values))
			}
		}
		if n := len(run.Skipped); n > 0 {
			all.say("%s: cannot read %s, such as %s", word, format.Plural(n, "line"), run.Skipped[0])
		}
		if len(run.Failures) > 0 && (i == 0 || c.Decision.Reason != Broken) {
			all.say("%s has failures: %s", word, list(run.Failures))
		}
	}
	return all
}

// twoRuns describes the order of the runs, and their readings of the machine.
func (c *Comparison) twoRuns() string {
	var text sentences
	was, is := c.Old.began(), c.New.began()
	switch runs := c.order(); {
	case runs.turns > 1:
		text.say("OLD has %d runs, NEW %d, measured alternately.", len(was), len(is))
	case runs.together:
		text.say("OLD and NEW are the points of one run at GOMAXPROCS %d and %d.", c.Procs[0], c.Procs[1])
	case len(was) == 1 && len(is) == 1 && is[0].Before(was[0]):
		text.say("NEW started %s BEFORE OLD.", format.Ago(was[0].Sub(is[0])))
	case len(was) == 1 && len(is) == 1:
		text.say("NEW started %s after OLD.", format.Ago(is[0].Sub(was[0])))
	}
	for _, d := range c.Differences {
		if reading(d.Key) {
			text.say("%s was %s in OLD, %s in NEW.", d.Key, list(d.Old), list(d.New))
		}
	}
	if v := c.Old.values(versionKey); len(v) == 1 && slices.Equal(v, c.New.values(versionKey)) && !strings.Contains(v[0], "with changes") {
		text.say("Both are %s: the changes are not due to the code of sluice.", v[0])
	}
	return strings.Join(text, " ")
}

// only lists the benchmarks of one file alone, with the unit of those that both have.
func (c *Comparison) only(word string, keys []Key) string {
	var names []string
	for _, key := range keys {
		names = append(names, c.label(key))
		if c.in[key.nameOnly()] == inBoth {
			names[len(names)-1] += " (" + key.Unit + ")"
		}
	}
	if len(names) == 0 {
		return ""
	}
	return "Only in " + word + ": " + list(slices.Compact(names)) + "."
}

// list writes the first values of a list.
func list(values []string) string {
	text := cmp.Or(strings.Join(values[:min(len(values), listed)], ", "), "missing")
	if more := len(values) - listed; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// table returns the rows of all units. A row has the label of a point or a unit, and its
// figures: OLD, NEW, their ratio, its interval, and what a change is.
func (c *Comparison) table(all bool) (rows [][]string) {
	shown := c.Points
	changed := slices.DeleteFunc(slices.Clone(c.Points), func(p *Point) bool { return p.rank() == unchanged })
	if !all && len(c.Points) > few {
		size := func(p *Point) float64 { return math.Abs(math.Log1p(float64(p.Change))) }
		slices.SortStableFunc(changed, func(a, b *Point) int {
			return cmp.Or(cmp.Compare(a.rank(), b.rank()), cmp.Compare(size(b), size(a)))
		})
		shown = changed[:min(len(changed), most)]
	}
	means := [][]string{{"geometric mean", "OLD", "NEW", "ratio"}}
	for _, u := range c.Units {
		mean := []string{fmt.Sprintf("%s (%d)", u.Unit, u.Points), scaled(u.was, u.Unit), scaled(u.is, u.Unit), times(1 + u.Geomean)}
		if u.was*u.is == 0 {
			mean[1], mean[2] = "-", "-"
		}
		heading := len(rows)
		for _, p := range shown {
			if p.Unit == u.Unit {
				rows = append(rows, c.row(p))
			}
		}
		switch known := u.Geomean.finite(); {
		case heading < len(rows):
			rows = slices.Insert(rows, heading, []string{u.Unit, "OLD", "NEW", "ratio", "95% interval"})
			if known && u.Points > 1 {
				mean[0] = fmt.Sprint("geomean of ", u.Points)
				rows = append(rows, mean)
			}
			rows = append(rows, []string{""})
		case known:
			means = append(means, mean)
		}
	}
	if len(means) > 1 {
		rows = append(append(rows, means...), []string{""})
	}
	if left := len(c.Points) - len(shown); left > 0 {
		rows = append(rows, []string{fmt.Sprintf("%d of %d points are not shown; %d of them changed: -v shows all.", left, len(c.Points), len(changed)-len(shown))})
	}
	return rows
}

const unchanged = 5

// rank orders points by what a reader must see first. Points without a change are
// unchanged.
func (p *Point) rank() int {
	changed := !slices.Contains([]Verdict{Same, TooFew, ""}, p.Verdict)
	return slices.Index([]bool{p.Regression, p.Suspect, p.Improvement, changed && p.testable, changed, true}, true)
}

func (c *Comparison) row(p *Point) []string {
	r := []string{c.label(p.Key), scaled(p.Old.Median, p.Unit), scaled(p.New.Median, p.Unit), times(1 + p.Change), "", string(p.Verdict)}
	if p.Interval[0].finite() && !p.Exact {
		r[4] = times(1+p.Interval[0]) + " to " + times(1+p.Interval[1])
	}
	switch {
	case p.Suspect:
		r[5] = "worse?"
	case p.Verdict == Same:
		r[5] = "~"
	case p.Regression || p.Improvement || p.rank() == unchanged || !p.testable:
	case math.Abs(float64(p.Change)) <= c.Threshold:
		r[5] = "< " + format.PercentExact(c.Threshold)
	case p.Verdict == Worse && c.drifted():
		r[5] = "drift"
	default:
		r[5] = "noise"
	}
	return r
}

// label writes a name for a row. Names of the lab lose the keys that all have.
func (c *Comparison) label(k Key) string {
	switch _, rest, ok := strings.Cut(k.Name, "/"); {
	case ok && k.Experiment != "":
		sweep, _, _ := strings.Cut(strings.TrimPrefix(rest, "sweep="), "/")
		return k.Experiment + "/" + strings.NewReplacer("sweep=", "", "work="+sweep+"/", "", "contender=", "").Replace(rest)
	case c.packages && k.Package != "":
		return k.Package + "." + k.Name
	}
	return k.Name
}

// times writes a ratio with the digits that its size needs.
func times(ratio Fraction) string {
	digits := 3
	switch {
	case !ratio.finite():
		return "-"
	case ratio >= 9.995:
		digits = 0
	case ratio >= 1.9995:
		digits = 2
	}
	return strconv.FormatFloat(float64(ratio), 'f', digits, 64)
}

// scaled writes a figure as benchstat does: 120.5n for 1.205e-7 sec.
func scaled(v float64, unit string) string { return benchunit.Scale(v, benchunit.ClassOf(unit)) }
