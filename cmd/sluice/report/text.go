package report

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/sluice-go/sluice/cmd/sluice/experiment"
)

// WriteText writes tables and findings for a terminal.
func (r *Report) WriteText(w io.Writer) error {
	var b strings.Builder
	for i := range r.Experiments {
		r.Experiments[i].text(&b)
	}
	for _, failure := range r.Failures {
		fmt.Fprintf(&b, "FAILED  %s\n", failure)
	}
	if r.Interrupted {
		r.missingText(&b)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// missingShown is how many missing entries the terminal lists; results.json and
// the page have all.
const missingShown = 8

func (r *Report) missingText(b *strings.Builder) {
	fmt.Fprintf(b, "Interrupted. Missing are:\n")
	for i, missing := range r.Missing {
		if i == missingShown {
			fmt.Fprintf(b, "  … and %d more; all are in the report\n", len(r.Missing)-i)
			break
		}
		fmt.Fprintf(b, "  %s\n", missing)
	}
}

func (e *Experiment) text(b *strings.Builder) {
	fmt.Fprintf(b, "\n%s: %s\n", e.Name, e.Title)
	fmt.Fprintf(b, "%s\n", sourceLine(e.Source))
	for i := range e.Sections {
		e.Sections[i].text(b)
	}
	fmt.Fprintf(b, "\nPublished, and measured here\n")
	besideTable(e.Beside).text(b)
	if len(e.Findings) > 0 {
		fmt.Fprintf(b, "\nFindings\n")
		for _, finding := range e.Findings {
			b.WriteString(wrap("- "+finding, 92, "  "))
		}
	}
	b.WriteString("\n")
}

// sourceLine names a source in one line.
func sourceLine(s experiment.Source) string {
	return fmt.Sprintf("after %s, “%s”, %d (machine: %s; Go: %s)", s.Author, s.Title, s.Year, s.Machine, s.Go)
}

func (s *Section) text(b *strings.Builder) {
	fmt.Fprintf(b, "\n%s\n", s.heading())
	for _, panel := range s.panels() {
		for _, m := range s.Measures {
			panel.table(s, m).text(b)
		}
		for _, out := range panel.leftOut() {
			fmt.Fprintf(b, "  left out: %s, which %s\n", out.Contender, out.Reason)
		}
	}
}

// heading is the title with what all points of the section share.
func (s *Section) heading() string {
	heading := s.Title
	if procs := s.commonProcs(); procs > 0 {
		heading += fmt.Sprintf(" (GOMAXPROCS %d%s)", procs, oversubscribed(s.Points[0].Oversubscribed))
	}
	return heading
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

// A table has a heading for its first column and one for each of the others.
type table struct {
	caption string
	head    []string
	rows    [][]string
}

// table lays out a panel: a row for each contender, a column for each place. A
// place that is oversubscribed has a star, unless the caption says so of all.
func (p *Panel) table(s *Section, m experiment.Measure) table {
	all := p.oversubscribedFrom() == 0 && s.commonProcs() == 0
	t := table{caption: caption(p.Name+oversubscribed(all), m), head: []string{""}}
	for i, point := range p.Points {
		head := point.X
		switch s.Axis {
		case "":
			head = "time"
			if m.Title != "" {
				head = "held"
			}
		case "GOMAXPROCS":
			head = "P=" + point.X
		}
		if i >= p.oversubscribedFrom() && !all && s.commonProcs() == 0 {
			head += "*"
		}
		t.head = append(t.head, head)
	}
	for _, contender := range p.Contenders {
		row := []string{contender}
		for _, point := range p.Points {
			row = append(row, cell(point.entry(contender), m.Unit))
		}
		t.rows = append(t.rows, row)
	}
	return t
}

// cell is what a table shows of an entry: a figure, or why there is none.
func cell(e *Entry, unit string) string {
	switch {
	case e == nil:
		return "left out"
	case e.Error != "":
		return "FAILED"
	}
	s, ok := e.Summaries[unit]
	if !ok {
		return "missing"
	}
	return strings.TrimSpace(digits(s.Median) + " " + spread(s))
}

func caption(panel string, m experiment.Measure) string {
	parts := make([]string, 0, 3)
	for _, part := range []string{panel, m.Title, m.Axis} {
		if part != "" {
			parts = append(parts, part)
		}
	}
	return strings.Join(parts, ", ")
}

func (t table) text(b *strings.Builder) {
	widths := make([]int, len(t.head))
	for _, row := range append([][]string{t.head}, t.rows...) {
		for i, text := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(text))
		}
	}
	widths[0] = max(widths[0], utf8.RuneCountInString(t.caption))
	write := func(row []string) {
		line := "  " + row[0] + strings.Repeat(" ", widths[0]-utf8.RuneCountInString(row[0]))
		for i, text := range row[1:] {
			line += "  " + strings.Repeat(" ", widths[i+1]-utf8.RuneCountInString(text)) + text
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	head := append([]string{t.caption}, t.head[1:]...)
	write(head)
	for _, row := range t.rows {
		write(row)
	}
}

// besideTable lists the published figures beside the measured ones.
func besideTable(all []Beside) table {
	t := table{head: []string{"", "published", "the same, here", "sluice, here"}, caption: "ns per operation"}
	for _, p := range all {
		row := []string{p.Row + ", " + p.Column, digits(p.Published), "not run", "not run"}
		if p.Measured != nil {
			row[2] = strings.TrimSpace(digits(p.Measured.Median) + " " + spread(*p.Measured))
		}
		if p.OursTakes != nil {
			row[3] = strings.TrimSpace(digits(p.OursTakes.Median) + " " + spread(*p.OursTakes))
		}
		t.rows = append(t.rows, row)
	}
	return t
}

// wrap breaks text into lines of at most width characters; lines after the
// first begin with indent.
func wrap(text string, width int, indent string) string {
	var b strings.Builder
	used := 0
	for i, word := range strings.Fields(text) {
		n := utf8.RuneCountInString(word)
		switch {
		case i == 0:
		case used+1+n > width:
			b.WriteString("\n" + indent)
			used = utf8.RuneCountInString(indent)
		default:
			b.WriteString(" ")
			used++
		}
		b.WriteString(word)
		used += n
	}
	return b.String() + "\n"
}
