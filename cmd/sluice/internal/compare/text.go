package compare

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

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
	text := format.Wrap(c.answer(), width, 0, "  ")
	for _, warning := range c.warnings() {
		text += format.Wrap("WARNING: "+warning, width, 0, "  ")
	}
	text += "\n" + layOut(c.table(all), width)
	for _, s := range []string{c.only("OLD", c.OnlyOld), c.only("NEW", c.OnlyNew), c.basis(), c.twoRuns()} {
		if s != "" {
			text += format.Wrap(s, width, 0, "  ")
		}
	}
	_, err := io.WriteString(w, format.CleanLines(text)) // names come from files
	return err
}

// warnings returns the facts that a reader must know before the figures.
func (c *Comparison) warnings() (all []string) {
	say := func(format string, args ...any) { all = append(all, fmt.Sprintf(format, args...)) }
	for _, d := range c.Differences {
		if !d.Expected {
			say("%s is %s in OLD and %s in NEW: that alone may explain a change.", d.Key, list(d.Old), list(d.New))
		}
	}
	for i, run := range []*Run{&c.Old, &c.New} {
		word := [...]string{"OLD", "NEW"}[i]
		for _, s := range run.Settings {
			if len(s.Values) > 1 && s.Key != procsKey && s.Key != dateKey && !reading(s.Key) { // runs are joined on purpose
				say("%s has %d values of %s: %s. Their figures are combined.", word, len(s.Values), s.Key, list(s.Values))
			}
		}
		if n := len(run.Skipped); n > 0 {
			say("%s: %s like results but cannot be read, such as %s", word, format.Plural(n, "line")+" "+looks(n), format.Cut(run.Skipped[0], 120))
		}
		if len(run.Failures) > 0 && (i == 0 || c.Decision.Reason != Broken) {
			say("%s has failures: %s", word, list(run.Failures))
		}
	}
	return all
}

// twoRuns describes the runs, and their readings of the machine.
func (c *Comparison) twoRuns() string {
	was, is := c.Old.began(), c.New.began()
	var text []string
	switch runs := c.order(); {
	case runs.turns > 1:
		text = append(text, fmt.Sprintf("OLD has %d runs, NEW %d, measured in turns.", len(was), len(is)))
	case runs.together:
		text = append(text, fmt.Sprintf("OLD and NEW are the points of one run at GOMAXPROCS %d and %d.", c.Procs[0], c.Procs[1]))
	case len(was) == 1 && len(is) == 1 && is[0].Before(was[0]):
		text = append(text, "NEW started "+format.Ago(was[0].Sub(is[0]))+" BEFORE OLD.")
	case len(was) == 1 && len(is) == 1:
		text = append(text, "NEW started "+format.Ago(is[0].Sub(was[0]))+" after OLD.")
	}
	for _, d := range c.Differences {
		if d.Expected && reading(d.Key) {
			text = append(text, fmt.Sprintf("%s was %s in OLD, %s in NEW.", d.Key, list(d.Old), list(d.New)))
		}
	}
	// With one commit, changes are not due to the code of sluice.
	if v := c.Old.values(versionKey); len(v) == 1 && slices.Equal(v, c.New.values(versionKey)) && !strings.Contains(v[0], "with changes") {
		text = append(text, "Both are "+v[0]+": the changes are not due to the code of sluice.")
	}
	return strings.Join(text, " ")
}

// only lists the benchmarks of one file alone, with the unit of those that the other
// file has in another unit.
func (c *Comparison) only(word string, keys []Key) string {
	var names []string
	for _, key := range keys {
		name := c.label(key)
		if c.elsewhere(key) {
			name += " (" + key.Unit + ")"
		}
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return ""
	}
	return fmt.Sprintf("Only in %s: %s.", word, list(names))
}

// list writes the first values of a list.
func list(values []string) string {
	if len(values) == 0 {
		return "missing"
	}
	text := strings.Join(values[:min(len(values), listed)], ", ")
	if more := len(values) - listed; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// A row has the label of a point or a unit, and its figures: OLD, NEW, their ratio, its
// interval, what a change is, p and the number of repetitions. The last two are left out
// of texts narrower than wide.
type row [8]string

const (
	statusColumn = 5
	wide         = 100
)

// table returns the rows of all units.
func (c *Comparison) table(all bool) (rows []row) {
	ranked := make([]*Point, len(c.Points))
	for i := range ranked {
		ranked[i] = &c.Points[i]
	}
	if all = all || len(ranked) <= few; !all {
		size := func(p *Point) float64 { return math.Abs(math.Log1p(float64(p.Change))) }
		slices.SortStableFunc(ranked, func(a, b *Point) int {
			return cmp.Or(cmp.Compare(a.rank(), b.rank()), cmp.Compare(size(b), size(a)))
		})
		changed := slices.IndexFunc(append(ranked, &Point{Verdict: Same}), func(p *Point) bool { return p.rank() == unchanged })
		shown := min(changed, most)
		defer func() {
			rows = append(rows, row{fmt.Sprintf("%d of %d points are not shown; %d of them changed: -v shows all.", len(c.Points)-shown, len(c.Points), changed-shown)})
		}()
		ranked = ranked[:shown]
	}
	means := []row{{"geometric mean", "OLD", "NEW", "ratio"}}
	for _, u := range c.Units {
		mean := row{fmt.Sprintf("%s (%d)", u.Unit, u.Points), scaled(u.was, u.Unit), scaled(u.is, u.Unit), times(1 + u.Geomean)}
		group := []row{{u.Unit, "OLD", "NEW", "ratio", "95% interval", "", "p", "n"}}
		for _, p := range ranked {
			if p.Unit == u.Unit {
				group = append(group, c.row(p))
			}
		}
		switch known := u.Geomean.finite(); {
		case len(group) == 1 && known:
			means = append(means, mean)
		case len(group) > 1:
			if rows = append(rows, group...); known && u.Points > 1 {
				mean[0] = fmt.Sprint("geomean of ", u.Points)
				rows = append(rows, mean)
			}
			rows = append(rows, row{})
		}
	}
	if len(means) > 1 {
		rows = append(append(rows, means...), row{})
	}
	return rows
}

// unchanged is the rank of points that show no change.
const unchanged = 5

// rank orders points by what a reader must see first.
func (p *Point) rank() int {
	return slices.Index([]bool{p.Regression, p.Suspect, p.Improvement, p.testable && p.Verdict != Same && p.Verdict != TooFew,
		p.Verdict != Same && p.Verdict != TooFew, true}, true)
}

func (c *Comparison) row(p *Point) row {
	r := row{c.label(p.Key), scaled(p.Old.Median, p.Unit), scaled(p.New.Median, p.Unit), times(1 + p.Change), "",
		string(p.Verdict), fmt.Sprintf("%.3f", p.P), strconv.Itoa(p.Old.N)}
	if p.Exact {
		r[6] = "exact"
	} else if p.Interval[0].finite() {
		r[4] = times(1+p.Interval[0]) + " to " + times(1+p.Interval[1])
	}
	if p.New.N != p.Old.N {
		r[7] += "+" + strconv.Itoa(p.New.N)
	}
	word := word(p.Unit)
	switch p.rank() {
	case 0:
		r[statusColumn] = word
	case 1:
		r[statusColumn] = word + "?"
	case 2:
		r[statusColumn] = opposite(word)
	case unchanged:
		if p.Verdict == Same {
			r[statusColumn] = "~"
		}
	case 3:
		if r[statusColumn] = "noise"; math.Abs(float64(p.Change)) <= c.Threshold {
			r[statusColumn] = "< " + format.PercentExact(c.Threshold)
		}
	}
	return r
}

// layOut writes rows in columns: the first is aligned to the left, as is the status; the
// figures to the right. A label that is too long has a line of its own.
func layOut(rows []row, width int) string {
	shown := statusColumn + 1
	if width >= wide {
		shown = len(row{})
	}
	var widths [len(row{})]int
	room := width
	for i := shown - 1; i >= 0; i-- {
		for _, r := range rows {
			if r[1] != "" {
				widths[i] = max(widths[i], utf8.RuneCountInString(r[i]))
			}
		}
		room -= 2 + widths[i]
	}
	widths[0] = max(1, min(widths[0], room+2+widths[0]))
	var b strings.Builder
	for _, r := range rows {
		if r[1] == "" {
			b.WriteString(format.Wrap(r[0], width, 0, "  "))
			continue
		}
		line := format.Cut(r[0], width)
		if utf8.RuneCountInString(line) > widths[0] {
			b.WriteString(line + "\n")
			line = ""
		}
		line += format.Pad(line, widths[0])
		for i := 1; i < shown; i++ {
			pad := format.Pad(r[i], widths[i])
			if i == statusColumn {
				line += "  " + r[i] + pad
			} else {
				line += "  " + pad + r[i]
			}
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	return b.String()
}

// label writes a name for a row. Names of the lab lose the keys that all have.
func (c *Comparison) label(k Key) string {
	_, rest, lab := strings.Cut(k.Name, "/")
	if lab = lab && k.Experiment != ""; !lab {
		if c.packages && k.Package != "" {
			return k.Package + "." + k.Name
		}
		return k.Name
	}
	label, sweep := k.Experiment, ""
	for part := range strings.SplitSeq(rest, "/") {
		switch key, value, _ := strings.Cut(part, "="); {
		case key == "sweep":
			sweep, part = value, value
		case key == "contender":
			part = value
		case key == "work" && value == sweep:
			continue
		}
		label += "/" + part
	}
	return label
}

// times writes a ratio with the digits that its size needs.
func times(ratio Fraction) string {
	switch {
	case !ratio.finite():
		return "-"
	case ratio < 1.9995:
		return fmt.Sprintf("%.3f", ratio)
	case ratio < 9.995:
		return fmt.Sprintf("%.2f", ratio)
	}
	return fmt.Sprintf("%.0f", ratio)
}

// scaled writes a figure as benchstat does: 120.5n for 1.205e-7 sec.
func scaled(v float64, unit string) string { return benchunit.Scale(v, benchunit.ClassOf(unit)) }
