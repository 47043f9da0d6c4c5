package compare

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/perf/benchunit"

	"github.com/sluice-go/sluice/cmd/sluice/internal/format"
)

// textWidth is the width of all text: a terminal of 80 columns.
const textWidth = 80

// listed is the number of names or lines of a list in the text. JSON has all.
const listed = 10

// WriteText writes the comparison for a terminal: the answer in one line, the
// regressions, what counts as one, the two runs, warnings, a summary of each unit,
// and a table for each sweep and unit. The tables have the points that differ, or
// all points.
func (c *Comparison) WriteText(w io.Writer, all bool) error {
	var b strings.Builder
	b.WriteString(c.procsAnswer() + c.answer() + "\n" + c.listing() + "\n" + wrap(c.basis(), "") + "\n")
	c.head(&b)
	b.WriteString("\n")
	for i := range c.Units {
		b.WriteString(wrap(c.Units[i].sentence(c.Points), "  "))
	}
	c.tables(&b, all)
	for _, alone := range []struct {
		word string
		keys []Key
	}{{"OLD", c.OnlyOld}, {"NEW", c.OnlyNew}} {
		c.writeOnly(&b, alone.word, alone.keys)
	}
	_, err := io.WriteString(w, format.CleanLines(b.String())) // names come from files
	return err
}

// head writes the runs and the warnings.
func (c *Comparison) head(b *strings.Builder) {
	for _, side := range c.sides() {
		line := side.word + "  " + side.Path
		for _, key := range []string{dateKey, "go", "cpu", versionKey} {
			if values := side.values(key); len(values) > 0 {
				line += ", " + list(values)
			}
		}
		b.WriteString(wrap(line, "     "))
	}
	b.WriteString("\n")
	for _, warning := range c.warnings() {
		b.WriteString(wrap("WARNING: "+warning, "  "))
	}
	b.WriteString(wrap(c.twoRuns(), "  "))
	for i := range c.Readings {
		b.WriteString(wrap(c.Readings[i].sentence(), "  "))
	}
}

// tables writes points, with a table for consecutive points with one heading.
func (c *Comparison) tables(b *strings.Builder, all bool) {
	points := c.Points
	if !all {
		points = slices.DeleteFunc(slices.Clone(points), func(p Point) bool {
			return !p.Regression && !p.Suspect && (p.Verdict == Same || p.Verdict == TooFew)
		})
	}
	left := ""
	if n := len(c.Points) - len(points); n > 0 {
		left = fmt.Sprintf(" The other %d of %s do not differ beyond the noise within each run: -v shows them.", n, format.Plural(len(c.Points), "point"))
	}
	b.WriteString("\n")
	if len(points) == 0 {
		b.WriteString(wrap(strings.Replace(left, " The other ", "All ", 1), "  "))
		return
	}
	b.WriteString(wrap("Median ± 95% interval, change, p of the Mann-Whitney U test, repetitions. "+
		"! regression, * suspect, - worse, + better, = changed (unit of unknown direction), ~ noise, ? not more than the machine's own change."+left, "  "))
	for from := 0; from < len(points); {
		heading := points[from].heading()
		to := from + 1
		for to < len(points) && points[to].heading() == heading {
			to++
		}
		b.WriteString("\n" + wrap(heading, "  "))
		writeTable(b, points[from:to])
		from = to
	}
}

// heading is the line above a table, with the common properties of its points.
func (p *Point) heading() string {
	var parts []string
	if p.Package != "" {
		parts = append(parts, p.Package)
	}
	if p.Experiment != "" {
		parts = append(parts, p.Experiment)
	}
	if sweep := p.split().sweep; sweep != "" {
		parts = append(parts, sweep)
	}
	return strings.Join(append(parts, p.Unit), ", ")
}

// subheading is the line above the rows of one setting, or "".
func (p *Point) subheading() string {
	n := p.split()
	var parts []string
	if n.setting != "" {
		parts = append(parts, n.setting)
	}
	switch {
	case p.procs[0] > 0:
		parts = append(parts, fmt.Sprintf("GOMAXPROCS %d in OLD, %d in NEW", p.procs[0], p.procs[1]))
	case n.procs != "":
		parts = append(parts, "GOMAXPROCS "+n.procs)
	}
	return strings.Join(parts, ", ")
}

// The columns of a row. The first is aligned to the left, the others to the
// right.
const (
	labelColumn = iota
	oldColumn
	oldRange
	newColumn
	newRange
	deltaColumn
	pColumn
	nColumn
	columns
)

type row [columns]string

// between is the text before each column.
var between = row{"", "  ", " ± ", "  ", " ± ", "  ", "  ", "  "}

func (p *Point) row() row {
	scale := benchunit.CommonScale([]float64{p.Old.Median, p.New.Median}, benchunit.ClassOf(p.Unit))
	r := row{
		p.mark() + p.split().label,
		scale.Format(p.Old.Median), p.Old.Range,
		scale.Format(p.New.Median), p.New.Range,
		p.Delta, fmt.Sprintf("%.3f", p.P), strconv.Itoa(p.Old.N),
	}
	if p.Exact {
		r[pColumn] = "exact"
	}
	if p.New.N != p.Old.N {
		r[nColumn] += "+" + strconv.Itoa(p.New.N)
	}
	return r
}

// mark is two characters before the label.
func (p *Point) mark() string {
	first, second := " ", " "
	switch p.Verdict {
	case Worse:
		first = "-"
	case Better:
		first = "+"
	case Higher, Lower:
		first = "="
	}
	switch {
	case p.Regression:
		first = "!"
	case p.Suspect:
		first = "*"
	}
	if len(p.Explained) > 0 {
		second = "?"
	}
	return first + second
}

// writeTable writes rows of one unit, with settings on separate lines. A label
// that is too long for its column has a separate line, too.
func writeTable(b *strings.Builder, points []Point) {
	rows := []row{{"", "OLD", "", "NEW", "", "change", "p", "n"}}
	for i := range points {
		rows = append(rows, points[i].row())
	}
	var widths [columns]int
	figures := 0
	for column := labelColumn; column < columns; column++ {
		for _, r := range rows {
			widths[column] = max(widths[column], utf8.RuneCountInString(r[column]))
		}
		if column > labelColumn {
			figures += utf8.RuneCountInString(between[column]) + widths[column]
		}
	}
	widths[labelColumn] = min(widths[labelColumn], max(0, textWidth-figures))
	writeRow(b, rows[0], widths)
	setting := ""
	for i, r := range rows[1:] {
		if s := points[i].subheading(); s != setting {
			setting = s
			b.WriteString(wrap(" "+s, "   "))
		}
		writeRow(b, r, widths)
	}
}

func writeRow(b *strings.Builder, r row, widths [columns]int) {
	var line strings.Builder
	label := r[labelColumn]
	if utf8.RuneCountInString(label) > widths[labelColumn] {
		b.WriteString(label + "\n")
		label = ""
	}
	line.WriteString(label + format.Pad(label, widths[labelColumn]))
	for column := oldColumn; column < columns; column++ {
		space := between[column]
		if r[column] == "" {
			space = strings.Repeat(" ", utf8.RuneCountInString(space))
		}
		line.WriteString(space + format.Pad(r[column], widths[column]) + r[column])
	}
	b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
}

// writeOnly lists the benchmarks of one file alone, with the unit of those that the other
// file has in another unit.
func (c *Comparison) writeOnly(b *strings.Builder, word string, keys []Key) {
	if len(keys) == 0 {
		return
	}
	sides := map[string]int{}
	for _, only := range [][]Key{c.OnlyOld, c.OnlyNew} {
		for i, key := range only {
			if i == 0 || key.Name != only[i-1].Name {
				sides[key.Name]++
			}
		}
	}
	b.WriteString("\n" + only(word, keys) + "\n")
	last, shown, left := "", 0, 0
	for _, key := range keys {
		switch {
		case key.Name == last:
			continue
		case shown == listed:
			left++
		default:
			shown++
			text := key.words()
			if sides[key.Name] > 1 {
				text += ", " + key.Unit
			}
			b.WriteString("  " + format.Wrap(text, textWidth, 2, "    "))
		}
		last = key.Name
	}
	if left > 0 {
		fmt.Fprintf(b, "  … and %d more; -json has all\n", left)
	}
}

// wrap is format.Wrap to textWidth.
func wrap(text, indent string) string { return format.Wrap(text, textWidth, 0, indent) }
