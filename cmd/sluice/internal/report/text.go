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

// WriteText writes tables and findings for a terminal.
func (r *Report) WriteText(w io.Writer, s format.Screen) error {
	b := &prose{width: s.Width}
	for i := range r.Experiments {
		r.Experiments[i].text(b)
	}
	for i := range r.Experiments {
		b.list("Findings of "+r.Experiments[i].Name, r.Experiments[i].Findings, textAll)
	}
	r.summaryText(b)
	b.WriteString("\n")
	if _, over, _ := r.count(); over > 0 {
		b.paragraph(fmt.Sprintf("* oversubscribed: GOMAXPROCS exceeds the %s of this machine", format.Plural(r.Machine.Whole(), "CPU")), "  ")
	}
	for _, note := range r.Footnotes() {
		b.paragraph(note, "  ")
	}
	b.list("About this run", r.Remarks(), textAll)
	b.list("Disturbed while measured", r.DisturbedPoints(), textShown)
	if text := r.reducedText(); text != "" {
		b.paragraph("\nReduced: "+text, "  ")
	}
	b.list("Failed", r.Failures, textAll)
	if r.Interrupted {
		b.list("Interrupted. Missing", r.Missing, textShown)
	}
	return b.write(w)
}

// prose is text in lines of a width.
type prose struct {
	strings.Builder
	width int
}

func (b *prose) paragraph(text, indent string) {
	b.WriteString(format.Wrap(unbroken(text), b.width, 0, indent))
}

// list writes a heading and the first lines, if there are any lines.
func (b *prose) list(heading string, lines []string, shown int) {
	for i, line := range lines {
		if i == 0 {
			b.WriteString("\n" + heading + "\n")
		}
		if i == shown {
			fmt.Fprintf(b, "- … and %d more; the report has all\n", len(lines)-i)
			break
		}
		b.paragraph("- "+line, "  ")
	}
}

// write writes the text, whose names come from a file.
func (b *prose) write(w io.Writer) error {
	_, err := io.WriteString(w, format.CleanLines(b.String()))
	return err
}

const (
	textShown = 8 // lines of a long list on the terminal; results.json has all
	textAll   = 1 << 30
)

func (e *Experiment) text(b *prose) {
	title := e.Name + ": " + e.Title
	b.paragraph("\n"+title, "")
	fmt.Fprintf(b, "%s\n", strings.Repeat("=", min(b.width, displaywidth.String(title))))
	b.paragraph(sourceLine(e.Source), "  ")
	measured := false
	for i := range e.Sections {
		if e.Sections[i].measured() {
			measured = true
			e.Sections[i].text(b)
		}
	}
	if !measured {
		fmt.Fprintf(b, "\nNothing was measured.\n")
		return
	}
	for _, t := range e.Tables {
		b.paragraph("\n"+t.Title, "")
		derivedTable(t).write(b)
	}
	fmt.Fprintf(b, "\nPublished, and measured here\n")
	if slices.ContainsFunc(e.Beside, func(b Beside) bool { return b.Measured != nil || b.OursTakes != nil }) {
		e.besideTable().write(b)
	} else {
		b.paragraph("  No point of this run has a published figure; the page shows the published ones.", "  ")
	}
}

// summaryText is written last, because the end of the output is what a terminal
// shows.
func (r *Report) summaryText(b *prose) {
	lines := append([]string{r.Overview.Sentence}, r.Overview.Answers...)
	for i := range r.Experiments {
		e := &r.Experiments[i]
		if e.Answer == "" {
			lines = append(lines, e.Summary...)
			continue
		}
		lines = append(lines, e.Name+": "+e.Answer+" "+e.Advice)
	}
	b.list("On this machine", slices.DeleteFunc(lines, func(line string) bool { return line == "" }), textAll)
}

// Measured reports whether there is any figure in the report, or a failure.
func (r *Report) Measured() bool {
	return slices.ContainsFunc(r.Experiments, func(e Experiment) bool {
		return slices.ContainsFunc(e.Sections, func(s Section) bool { return s.measured() })
	})
}

// measured reports whether any entry of the section has a figure, or failed.
func (s *Section) measured() bool {
	for _, point := range s.Points {
		for _, entry := range point.Entries {
			if len(entry.Repetitions) > 0 || entry.Error != "" {
				return true
			}
		}
	}
	return false
}

// sourceLine names a source in one line.
func sourceLine(s lab.Source) string {
	if s.IsZero() {
		return "a question of this project, which repeats no published study"
	}
	return fmt.Sprintf("after %s, “%s”, %d (machine: %s; Go: %s)", s.Author, s.Title, s.Year, s.Machine, s.Go)
}

func (s *Section) text(b *prose) {
	b.paragraph("\n"+s.heading(), "")
	var written []string
	for _, panel := range s.panels() {
		for _, t := range panel.tables(s) {
			t.write(b)
		}
		for _, out := range panel.leftOut() {
			if line := out.String(); !slices.Contains(written, line) {
				b.paragraph("  left out: "+line, "    ")
				written = append(written, line)
			}
		}
	}
}

// beforeUnit is the space between a figure and its unit.
var beforeUnit = regexp.MustCompile(`([0-9]) ((?:ns|µs|ms|CPUs?)\b)`)

// unbroken joins figures to their units and to "±" with spaces that do not break.
func unbroken(text string) string {
	text = strings.ReplaceAll(text, " ± ", format.NoBreak+"±"+format.NoBreak)
	return beforeUnit.ReplaceAllString(text, "${1}"+format.NoBreak+"${2}")
}
