package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/clipperhouse/displaywidth"

	"github.com/sluice-go/sluice/cmd/sluice/internal/format"
	"github.com/sluice-go/sluice/cmd/sluice/internal/lab"
	"github.com/sluice-go/sluice/cmd/sluice/internal/stat"
)

// A table has a row for each contender, and the caption above the first column.
type table struct {
	Caption string
	Head    []string // of the other columns
	units   []string // below Head, or nil
	Rows    [][]string
}

// Columns returns the heads of the columns with their units.
func (t table) Columns() []string {
	columns := slices.Clone(t.Head)
	for i, unit := range t.units {
		columns[i] += ", " + unit
	}
	return columns
}

// Tables lays out the panels of a section: a column for each place on the axis, or for
// each measure if there is only one place.
func (s *Section) Tables() []table {
	var all []table
	for _, p := range s.panels() {
		if len(p.Points) == 1 && len(s.Measures) > 1 {
			t := p.table(p.Name)
			for _, m := range s.Measures {
				t.units = append(t.units, m.Axis)
				p.fill(&t, m.Title, p.Points[0], m)
			}
			all = append(all, t)
			continue
		}
		for _, m := range s.Measures {
			t := p.table(p.caption(s, m))
			for _, point := range p.Points {
				head := point.X
				switch {
				case s.Axis == "":
					head = m.Axis
				case s.Axis == lab.AxisProcs && point.Oversubscribed:
					head += "*"
				}
				p.fill(&t, head, point, m)
			}
			all = append(all, t)
		}
	}
	return all
}

// table returns a table of the panel's contenders without figures.
func (p *panel) table(caption string) table {
	t := table{Caption: caption}
	for _, contender := range p.Contenders {
		t.Rows = append(t.Rows, []string{lab.NameOf(contender)})
	}
	return t
}

// fill appends a column.
func (p *panel) fill(t *table, head string, point *Point, m lab.Measure) {
	t.Head = append(t.Head, head)
	for i, contender := range p.Contenders {
		t.Rows[i] = append(t.Rows[i], cell(point.Entry(contender), m))
	}
}

// caption has the panel and the unit. With a single place, the unit is in the
// head of the column.
func (p *panel) caption(s *Section, m lab.Measure) string {
	caption := p.Name
	if m.Title != "" {
		caption = strings.TrimPrefix(caption+", "+m.Title, ", ")
	}
	if p.oversubscribedFrom() == 0 && s.commonProcs() == 0 {
		caption += oversubscribed(true)
	}
	if s.Axis == "" {
		return caption
	}
	return strings.TrimPrefix(caption+"; "+m.Axis+", by "+s.Axis, "; ")
}

// Heading is the title, with the common GOMAXPROCS of all points unless the
// tables and charts show it.
func (s *Section) Heading() string {
	procs := s.commonProcs()
	if procs == 0 || s.Axis == lab.AxisProcs || strings.HasPrefix(s.Points[0].Panel, lab.AxisProcs) {
		return s.Title
	}
	return fmt.Sprintf("%s (GOMAXPROCS %d%s)", s.Title, procs, oversubscribed(s.Points[0].Oversubscribed))
}

func oversubscribed(is bool) string {
	if is {
		return ", oversubscribed"
	}
	return ""
}

// commonProcs returns the GOMAXPROCS of all points, or 0 if they differ.
func (s *Section) commonProcs() int {
	procs := 0
	for i := range s.Points {
		if procs != 0 && s.Points[i].Procs != procs {
			return 0
		}
		procs = s.Points[i].Procs
	}
	return procs
}

// cell returns the text of an entry in a table: a figure, or the reason why it
// is missing.
func cell(e *Entry, m lab.Measure) string {
	switch {
	case e == nil:
		return "left out"
	case e.Error != "":
		return "FAILED"
	}
	s, ok := e.summary(m)
	if !ok {
		return "missing"
	}
	return figure(&s, m)
}

// summary returns the figure in the shown unit.
func (e *Entry) summary(m lab.Measure) (s stat.Summary, ok bool) {
	s, ok = e.Summaries[m.Unit]
	return m.Show(s), ok
}

// BesideTable lists the published figures and the measured ones.
func (e *Experiment) BesideTable() table {
	t := table{Head: []string{"published", "the same, here", "sluice, here"}, Caption: e.PublishedIn.Axis}
	for _, p := range e.Beside {
		t.Rows = append(t.Rows, []string{
			p.Row + ", " + p.Column, format.Figure(p.Value), figure(p.Measured, e.PublishedIn), figure(p.OursTakes, e.PublishedIn),
		})
	}
	return t
}

// derivedTable lays out a table of derived figures.
func derivedTable(t lab.Table) table {
	return table{Caption: t.Head[0], Head: t.Head[1:], Rows: t.Rows}
}

// shortestLabel is the least width of a column of labels.
const shortestLabel = 12

// write aligns the first column to the left and the others to the right. A wide caption is
// above the table if that does not fit otherwise. Columns that do not fit are in a second
// table below, and so on; then labels are cut.
func (t table) write(b *prose) {
	rows := [][]string{append([]string{t.Caption}, t.Head...)}
	if t.units != nil {
		rows = append(rows, append([]string{""}, t.units...))
	}
	rows = append(rows, t.Rows...)
	widths, all := make([]int, len(rows[0])), 0
	for n, row := range rows {
		for i, text := range row {
			if n > 0 || i > 0 {
				widths[i] = max(widths[i], displaywidth.String(text))
			}
		}
	}
	for _, width := range widths[1:] {
		all += 2 + width
	}
	if caption := displaywidth.String(t.Caption); 2+max(caption, widths[0])+all <= b.Width {
		widths[0] = max(caption, widths[0])
	} else if caption > widths[0] {
		b.paragraph("  "+t.Caption, "  ")
		rows[0][0] = ""
	}
	widths[0] = min(widths[0], max(shortestLabel, b.Width-4-slices.Max(append(widths[1:], 0))))
	for from := 1; ; {
		used, to := 2+widths[0], from
		for to < len(widths) && (to == from || used+2+widths[to] <= b.Width) {
			used += 2 + widths[to]
			to++
		}
		for _, row := range rows {
			label := format.Cut(row[0], widths[0])
			line := "  " + label + format.Pad(label, widths[0])
			for i := from; i < to; i++ {
				line += "  " + format.Pad(row[i], widths[i]) + row[i]
			}
			b.WriteString(strings.TrimRight(line, " ") + "\n")
		}
		if from = to; from >= len(widths) {
			return
		}
	}
}

// figure writes a summary as precisely as it is known, with its interval: "47 ±
// 3%"; or "< 4" for a small difference; "not run" if it is nil.
func figure(s *stat.Summary, m lab.Measure) string {
	if s == nil {
		return "not run"
	}
	text := median(*s, m)
	if s.Known() {
		text += " " + spread(*s, m)
	}
	return strings.TrimSpace(text)
}

// median is figure without the interval.
func median(s stat.Summary, m lab.Measure) string {
	if m.Limited(s) {
		return format.Below(s.Hi)
	}
	return format.Rounded(s.Median, s.Lo, s.Hi)
}

// spread writes the interval of a known summary relative to its median: "± 3%",
// or "~ 3%" for a range of too few repetitions, or "" for a single figure. The
// interval of a difference is in its own unit: "± 0.03".
func spread(s stat.Summary, m lab.Measure) string {
	sign := "±"
	switch {
	case s.N < 2:
		return ""
	case s.Confidence == 0:
		sign = "~"
	}
	if m.Above != 0 {
		return sign + " " + format.Margin(max(s.Hi-s.Median, s.Median-s.Lo))
	}
	percent := 100 * s.Spread()
	if percent >= 1 && percent < 9.5 {
		return fmt.Sprintf("%s %.0f%%", sign, percent)
	}
	return sign + " " + format.Margin(percent) + "%"
}
