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

// A table has a row for each contender. The caption is above the first column.
type table struct {
	caption string
	head    []string // of the other columns
	units   []string // below head, or nil
	rows    [][]string
}

// tables lays out a panel: a column for each place on the axis, or for each
// measure if there is only one place.
func (p *Panel) tables(s *Section) []table {
	if len(p.Points) == 1 && len(s.Measures) > 1 {
		t := table{caption: p.Name, rows: p.rowHeads()}
		for _, m := range s.Measures {
			t.head = append(t.head, m.Title)
			t.units = append(t.units, m.Axis)
			p.fill(&t, p.Points[0], m)
		}
		return []table{t}
	}
	var all []table
	for _, m := range s.Measures {
		t := table{caption: p.caption(s, m), rows: p.rowHeads()}
		for i, point := range p.Points {
			t.head = append(t.head, p.columnHead(s, m, i))
			p.fill(&t, point, m)
		}
		all = append(all, t)
	}
	return all
}

func (p *Panel) rowHeads() [][]string {
	rows := make([][]string, len(p.Contenders))
	for i, contender := range p.Contenders {
		rows[i] = []string{lab.NameOf(contender)}
	}
	return rows
}

// fill appends a column.
func (p *Panel) fill(t *table, point *Point, m lab.Measure) {
	for i, contender := range p.Contenders {
		t.rows[i] = append(t.rows[i], cell(point.Entry(contender), m))
	}
}

// caption has the panel and the unit. With a single place, the unit is in the
// head of the column.
func (p *Panel) caption(s *Section, m lab.Measure) string {
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

func (p *Panel) columnHead(s *Section, m lab.Measure, i int) string {
	head := p.Points[i].X
	switch {
	case s.Axis == "":
		head = m.Axis
	case s.Axis == lab.AxisProcs && p.Points[i].Oversubscribed:
		head += "*"
	}
	return head
}

// heading is the title, with the common GOMAXPROCS of all points unless the
// tables and charts show it.
func (s *Section) heading() string {
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

// besideTable lists the published figures and the measured ones.
func (e *Experiment) besideTable() table {
	t := table{head: []string{"published", "the same, here", "sluice, here"}, caption: e.PublishedIn.Axis}
	for _, p := range e.Beside {
		t.rows = append(t.rows, []string{
			p.Row + ", " + p.Column, format.Figure(p.Value), figure(p.Measured, e.PublishedIn), figure(p.OursTakes, e.PublishedIn),
		})
	}
	return t
}

// derivedTable lays out a table of derived figures.
func derivedTable(t lab.Table) table {
	return table{caption: t.Head[0], head: t.Head[1:], rows: t.Rows}
}

// shortestLabel is the least width of a column of labels.
const shortestLabel = 12

// write aligns the first column to the left and the others to the right. A wide caption is
// above the table if that does not fit otherwise. Columns that do not fit are in a second
// table below, and so on; then labels are cut.
func (t table) write(b *prose) {
	rows := [][]string{append([]string{t.caption}, t.head...)}
	if t.units != nil {
		rows = append(rows, append([]string{""}, t.units...))
	}
	rows = append(rows, t.rows...)
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
	if caption := displaywidth.String(t.caption); 2+max(caption, widths[0])+all <= b.width {
		widths[0] = max(caption, widths[0])
	} else if caption > widths[0] {
		b.paragraph("  "+t.caption, "  ")
		rows[0][0] = ""
	}
	widths[0] = min(widths[0], max(shortestLabel, b.width-4-slices.Max(append(widths[1:], 0))))
	for from := 1; ; {
		used, to := 2+widths[0], from
		for to < len(widths) && (to == from || used+2+widths[to] <= b.width) {
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
