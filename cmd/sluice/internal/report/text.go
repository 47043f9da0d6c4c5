package report

import (
	"fmt"
	"io"
	"regexp"
	"strings"

	"github.com/clipperhouse/displaywidth"

	"github.com/sluice-go/sluice/cmd/sluice/internal/format"
	"github.com/sluice-go/sluice/cmd/sluice/internal/lab"
)

// WriteText writes all tables and findings for a terminal. The screen follows, because the
// end of the output is what a terminal shows.
func (r *Report) WriteText(w io.Writer, s format.Screen) error {
	b := &prose{format.Text{Width: s.Width}}
	for i := range r.Experiments {
		r.Experiments[i].text(b)
	}
	return b.Print(w)
}

// prose is a text with lists, in which figures stay with their units.
type prose struct{ format.Text }

func (b *prose) paragraph(text, indent string) { b.Paragraph(indent, unbroken(text)) }

func (e *Experiment) text(b *prose) {
	b.paragraph("\n"+e.Name+": "+e.Title, "")
	b.paragraph(sourceLine(e.Source), "  ")
	if !e.measured() {
		fmt.Fprintf(b, "\nNothing was measured.\n")
		return
	}
	for i := range e.Sections {
		if s := &e.Sections[i]; s.measured() {
			b.paragraph("\n"+s.Title, "")
			for _, v := range s.views() {
				v.write(b)
			}
			for _, out := range s.leftOut() {
				b.paragraph("  left out: "+out, "    ")
			}
		}
	}
	if len(e.Beside) > 0 {
		b.paragraph("\nPublished, and measured here", "")
		e.publishedView().write(b)
	}
	b.paragraph("\n"+e.Answer+" "+e.Advice, "")
	for _, finding := range e.Findings {
		b.paragraph("- "+finding, "  ")
	}
}

// longestLabel is the most room for the labels of a table.
const longestLabel = 40

// write aligns the first column to the left and the others to the right. Columns that do
// not fit are in a second table below, and so on.
func (v view) write(b *prose) {
	b.paragraph("  "+strings.Trim(v.Caption+"; "+v.Unit, "; "), "  ")
	rows := append([]row{{Cells: v.Head}}, v.Rows...)
	label, widths := 0, make([]int, len(v.Head))
	for _, r := range rows {
		label = max(label, displaywidth.String(r.Label))
		for i, text := range r.Cells {
			widths[i] = max(widths[i], displaywidth.String(text))
		}
	}
	label = min(label, longestLabel, b.Width/2)
	for from := 0; from < len(widths); {
		used, to := 2+label, from
		for to < len(widths) && (to == from || used+2+widths[to] <= b.Width) {
			used += 2 + widths[to]
			to++
		}
		var table [][]string
		for _, r := range rows {
			table = append(table, append([]string{"  " + format.Cut(r.Label, label)}, r.Cells[from:to]...))
		}
		b.Table("lr", table)
		from = to
	}
}

// sourceLine names a source in one line.
func sourceLine(s lab.Source) string {
	if s.IsZero() {
		return "a question of this project, which repeats no published study"
	}
	return fmt.Sprintf("after %s, “%s”, %d (machine: %s; Go: %s)", s.Author, s.Title, s.Year, s.Machine, s.Go)
}

// beforeUnit is the space between a figure and its unit.
var beforeUnit = regexp.MustCompile(`([0-9]) ((?:ns|µs|ms|CPUs?)\b)`)

// unbroken joins figures to their units and to "±" with spaces that do not break.
func unbroken(text string) string {
	text = strings.ReplaceAll(text, " ± ", format.NoBreak+"±"+format.NoBreak)
	return beforeUnit.ReplaceAllString(text, "${1}"+format.NoBreak+"${2}")
}
