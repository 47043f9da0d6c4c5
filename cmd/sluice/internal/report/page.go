package report

import (
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/lab"
)

//go:embed page.html
var pageText string

// Style is the style of this tool's pages, light and dark, on a screen and on a
// phone. Charts of package plot need it.
//
//go:embed page.css
var Style string

var pageTemplate = template.Must(template.New("page").
	Funcs(template.FuncMap{"unbroken": unbroken}).
	Parse(pageText))

// page is the template's data.
type page struct {
	*Report
	Policy    string
	Style     template.CSS
	When      string
	Length    string
	Topology  string // the layout of the CPUs
	Sentences []pageSentence
	Warnings  []warning
	Families  []family
	Studies   []pageStudy
}

// A pageSentence is a sentence of the summary with its experiment.
type pageSentence struct{ Text, Name string }

type pageStudy struct {
	*Experiment
	Place       string // such as "2 of 5"
	Source      string
	Families    []family
	Derivations []pageDerivation
	Drawings    []drawing
	BesideRows  template.HTML
	Beside      pageTable
	Sweeps      []pageSweep
	Command     string
}

type pageDerivation struct {
	Title, Text string
	Table       pageTable
}

type pageSweep struct {
	Title   string
	Text    string
	Charts  []template.HTML
	Tables  []pageTable
	LeftOut []string
}

type pageTable struct {
	Caption string
	Head    []string
	Rows    [][]string
}

// WritePage writes the page. The page is self-contained: it includes the style
// and the charts, has no script, and its policy forbids browsers to load or to
// run anything else.
func (r *Report) WritePage(w io.Writer) error {
	p := page{
		Report:   r,
		Policy:   Policy(Style),
		Style:    template.CSS(Style),
		When:     r.Started.Format("2 January 2006, 15:04 MST"),
		Length:   time.Duration(r.Took).Round(time.Second).String(),
		Topology: topology(r.Machine),
		Warnings: r.warnings(),
		Families: families,
	}
	for i := range r.Experiments {
		e := &r.Experiments[i]
		for _, sentence := range e.Summary {
			p.Sentences = append(p.Sentences, pageSentence{sentence, e.Name})
		}
		s := study(e)
		s.Place = fmt.Sprintf("%d of %d", i+1, len(r.Experiments))
		s.Command = r.command(e)
		p.Studies = append(p.Studies, s)
	}
	return pageTemplate.Execute(w, p)
}

// Policy returns the Content-Security-Policy of a page with this style: it
// allows the style, and nothing else.
func Policy(style string) string {
	sum := sha256.Sum256([]byte(style))
	return "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) +
		"'; base-uri 'none'; form-action 'none'"
}

// command returns the command that measures an experiment again, at the same size.
func (r *Report) command(e *Experiment) string {
	command := "sluice lab " + e.Name
	if r.Size != lab.Standard.String() {
		command += " -" + r.Size
	}
	if len(r.Procs) > 0 {
		command += " -procs " + strings.Trim(strings.Join(strings.Fields(fmt.Sprint(r.Procs)), ","), "[]")
	}
	if r.Count > 0 {
		command += fmt.Sprintf(" -count %d", r.Count)
	}
	return command
}

func study(e *Experiment) pageStudy {
	colors := newPalette(e)
	s := pageStudy{Experiment: e, Source: sourceLine(e.Source), Families: families, Drawings: e.drawings()}
	for _, t := range e.Tables {
		s.Derivations = append(s.Derivations, pageDerivation{t.Title, t.Text, derivedTable(t).page()})
	}
	s.BesideRows = template.HTML(e.besideChart().SVG())
	s.Beside = e.besideTable().page()
	for i := range e.Sections {
		s.Sweeps = append(s.Sweeps, sweep(&e.Sections[i], colors))
	}
	return s
}

func sweep(section *Section, colors palette) pageSweep {
	shown := pageSweep{Title: section.heading(), Text: section.Text}
	if !section.measured() {
		shown.Text += " Not measured in this run."
		return shown
	}
	covers, measures := section.covers(), section.Measures
	if section.Stacked {
		shown.Charts, measures = section.stacked(colors), nil
	}
	for _, panel := range section.panels() {
		for _, m := range measures {
			for _, chart := range panel.charts(section, m, covers[m], colors) {
				shown.Charts = append(shown.Charts, template.HTML(chart))
			}
		}
		for _, t := range panel.tables(section) {
			shown.Tables = append(shown.Tables, t.page())
		}
		for _, out := range panel.leftOut() {
			if line := out.String(); !slices.Contains(shown.LeftOut, line) {
				shown.LeftOut = append(shown.LeftOut, line)
			}
		}
	}
	return shown
}

func (t table) page() pageTable {
	head := slices.Clone(t.head)
	for i, unit := range t.units {
		head[i] += ", " + unit
	}
	return pageTable{Caption: t.caption, Head: head, Rows: t.rows}
}
