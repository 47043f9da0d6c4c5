package report

import (
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/sluice-go/sluice/cmd/sluice/internal/format"
	"github.com/sluice-go/sluice/cmd/sluice/internal/lab"
)

// WriteText writes tables and findings for a terminal.
func (r *Report) WriteText(w io.Writer) error {
	var b strings.Builder
	for i := range r.Experiments {
		r.Experiments[i].text(&b)
	}
	for i := range r.Experiments {
		r.Experiments[i].findingsText(&b)
	}
	r.summaryText(&b)
	b.WriteString("\n")
	if r.anyOversubscribed() {
		fmt.Fprintf(&b, "* oversubscribed: GOMAXPROCS exceeds the %s of this machine\n", format.Plural(r.Machine.Whole(), "CPU"))
	}
	for _, note := range r.Footnotes() {
		b.WriteString(wrap(note, textWidth, "  "))
	}
	list(&b, "About this run", r.Remarks(), textAll)
	list(&b, "Disturbed while measured", r.DisturbedPoints(), textShown)
	if text := r.reducedText(); text != "" {
		b.WriteString("\n" + wrap("Reduced: "+text, textWidth, "  "))
	}
	list(&b, "Failed", r.Failures, textAll)
	if r.Interrupted {
		list(&b, "Interrupted. Missing", r.Missing, textShown)
	}
	_, err := io.WriteString(w, format.CleanLines(b.String())) // names come from a file
	return err
}

const (
	textWidth = 92 // where running text is wrapped
	textShown = 8  // lines of a long list on the terminal; results.json has all
	textAll   = 1 << 30
)

func (r *Report) anyOversubscribed() bool {
	any := false
	r.eachPoint(func(_ *Experiment, p *Point) { any = any || p.Oversubscribed })
	return any
}

// list writes a heading and the first lines, if there are any lines.
func list(b *strings.Builder, heading string, lines []string, shown int) {
	if len(lines) == 0 {
		return
	}
	fmt.Fprintf(b, "\n%s\n", heading)
	for i, line := range lines {
		if i == shown {
			fmt.Fprintf(b, "- … and %d more; the report has all\n", len(lines)-i)
			break
		}
		b.WriteString(wrap("- "+line, textWidth, "  "))
	}
}

func (e *Experiment) text(b *strings.Builder) {
	title := e.Name + ": " + e.Title
	fmt.Fprintf(b, "\n%s\n%s\n%s\n", title, strings.Repeat("=", utf8.RuneCountInString(title)), sourceLine(e.Source))
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
		fmt.Fprintf(b, "\n%s\n", t.Title)
		derivedTable(t).write(b)
	}
	fmt.Fprintf(b, "\nPublished, and measured here\n")
	if e.besideMeasured() {
		e.besideTable().write(b)
	} else {
		fmt.Fprintf(b, "  No point of this run has a published figure; the page shows the published ones.\n")
	}
}

// summaryText is written last, because the end of the output is what a terminal
// shows.
func (r *Report) summaryText(b *strings.Builder) {
	lines := append([]string{r.Overview.Sentence}, r.Overview.Answers...)
	for i := range r.Experiments {
		e := &r.Experiments[i]
		if e.Answer == "" {
			lines = append(lines, e.Summary...)
			continue
		}
		lines = append(lines, e.Name+": "+e.Answer+" "+e.Advice)
	}
	list(b, "On this machine", slices.DeleteFunc(lines, func(line string) bool { return line == "" }), textAll)
}

func (e *Experiment) findingsText(b *strings.Builder) {
	if len(e.Findings) == 0 {
		return
	}
	fmt.Fprintf(b, "\nFindings of %s\n", e.Name)
	for _, finding := range e.Findings {
		b.WriteString(wrap("- "+finding, textWidth, "  "))
	}
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

func (e *Experiment) besideMeasured() bool {
	for _, b := range e.Beside {
		if b.Measured != nil || b.OursTakes != nil {
			return true
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

func (s *Section) text(b *strings.Builder) {
	fmt.Fprintf(b, "\n%s\n", s.heading())
	var written []string
	for _, panel := range s.panels() {
		for _, t := range panel.tables(s) {
			t.write(b)
		}
		for _, out := range panel.leftOut() {
			if line := out.String(); !slices.Contains(written, line) {
				b.WriteString("  " + wrap("left out: "+line, textWidth-2, "    "))
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

// wrap is format.Wrap of unbroken text.
func wrap(text string, width int, indent string) string {
	return format.Wrap(unbroken(text), width, 0, indent)
}
