package report

import (
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/clipperhouse/displaywidth"

	"github.com/sluice-go/sluice/cmd/sluice/internal/format"
	"github.com/sluice-go/sluice/cmd/sluice/internal/lab"
)

// WriteHeader describes the machine and its noise, with all details.
func (r *Report) WriteHeader(w io.Writer, s format.Screen) error {
	b := &prose{format.Text{Width: s.Width}}
	m := r.Machine
	details := []string{fmt.Sprintf("GOMAXPROCS %d", m.Procs) + topology(m)}
	if m.Load != "" {
		details = append(details, "load "+m.Load)
	}
	details = append(details, r.Started.Format("2006-01-02 15:04 MST"))
	b.WriteString(strings.Join(r.head(s), "\n") + "\n")
	b.paragraph(strings.Join(details, ", "), "  ")
	for _, line := range r.noiseLines() {
		b.paragraph(line, "  ")
	}
	for _, warning := range m.Warnings() {
		b.paragraph("Warning: "+warning, "  ")
	}
	return b.Print(w)
}

// topology describes the layout of the CPUs, if known.
func topology(m Machine) string {
	if m.Sockets == 0 || m.Caches == 0 {
		return ""
	}
	return fmt.Sprintf(" (sockets: %d, last-level caches: %d)", m.Sockets, m.Caches)
}

// WriteText writes tables and findings for a terminal. The answers are last, because the
// end of the output is what a terminal shows.
func (r *Report) WriteText(w io.Writer, s format.Screen) error {
	b := &prose{format.Text{Width: s.Width}}
	answers := append([]string{r.Overview.Sentence}, r.Overview.Answers...)
	for i := range r.Experiments {
		e := &r.Experiments[i]
		e.text(b)
		if e.Answer != "" {
			answers = append(answers, e.Name+": "+e.Answer+" "+e.Advice)
		}
	}
	for _, e := range r.Experiments {
		b.list("Findings of "+e.Name, e.Findings, len(e.Findings))
	}
	answers = slices.DeleteFunc(answers, func(line string) bool { return line == "" })
	b.list("On this machine", answers, len(answers))
	for i, note := range r.footnotes() {
		b.paragraph(strings.Repeat("\n", one(i == 0))+note, "  ")
	}
	for _, w := range r.warnings() {
		b.paragraph("\n"+w.Title+": "+w.Text, "  ")
		b.list("", w.List, longList)
	}
	return b.Print(w)
}

// prose is a text with lists, in which figures stay with their units.
type prose struct{ format.Text }

func (b *prose) paragraph(text, indent string) { b.Paragraph(indent, unbroken(text)) }

// list writes a heading and the first lines, if there are any lines.
func (b *prose) list(heading string, lines []string, shown int) {
	for i, line := range lines {
		if i == 0 && heading != "" {
			b.WriteString("\n" + heading + "\n")
		}
		if i == shown {
			fmt.Fprintf(b, "- … and %d more; the report has all\n", len(lines)-i)
			break
		}
		b.paragraph("- "+line, "  ")
	}
}

func (e *Experiment) text(b *prose) {
	title := e.Name + ": " + e.Title
	b.paragraph("\n"+title, "")
	fmt.Fprintf(b, "%s\n", strings.Repeat("=", min(b.Width, displaywidth.String(title))))
	b.paragraph(sourceLine(e.Source), "  ")
	if !slices.ContainsFunc(e.Sections, func(s Section) bool { return s.measured() }) {
		fmt.Fprintf(b, "\nNothing was measured.\n")
		return
	}
	for i := range e.Sections {
		if s := &e.Sections[i]; s.measured() {
			b.paragraph("\n"+s.Heading(), "")
			for _, t := range s.Tables() {
				t.write(b)
			}
			for _, out := range s.leftOut() {
				b.paragraph("  left out: "+out, "    ")
			}
		}
	}
	for _, t := range e.Tables {
		b.paragraph("\n"+t.Title, "")
		derivedTable(t).write(b)
	}
	fmt.Fprintf(b, "\nPublished, and measured here\n")
	if slices.ContainsFunc(e.Beside, func(b Beside) bool { return b.Measured != nil || b.OursTakes != nil }) {
		e.BesideTable().write(b)
	} else {
		b.paragraph("  No point of this run has a published figure; the page shows the published ones.", "  ")
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
