package report

import (
	"fmt"
	"html/template"
	"slices"
	"strings"

	"github.com/sluice-go/sluice/cmd/sluice/internal/format"
	"github.com/sluice-go/sluice/cmd/sluice/internal/lab"
)

// pageStudy is one study on the page. Headline, Chart and the study's advice are
// visible; each of the other fields is a part that unfolds.
type pageStudy struct {
	*Experiment
	Place       string // such as "2 of 5"
	Source      string
	Headline    string // the answer
	Chart       template.HTML
	Topic       string   // in the table of contents
	Legend      []family // of Chart
	Derivations []pageDerivation
	Drawings    []drawing
	BesideChart template.HTML
	BesideKey   []family
	Beside      pageTable
	Sweeps      []pageSweep
	Command     string
}

// A drawing is a picture of an experiment on the page.
type drawing struct {
	SVG     template.HTML
	Caption string
}

// The ID of a folded part is the target of links into it: a browser unfolds a part
// that contains the target of a link.

type pageDerivation struct {
	ID, Title, Text string
	Table           pageTable
}

type pageSweep struct {
	ID      string
	Title   string
	Content string // such as "4 charts, 2 tables"
	Text    string
	Charts  []template.HTML
	Key     []family
	Tables  []pageTable
	LeftOut []string
}

type pageTable struct {
	Caption string
	Head    []string
	Rows    [][]string
}

func study(e *Experiment) pageStudy {
	colors := newPalette(e)
	s := pageStudy{
		Experiment: e, Source: sourceLine(e.Source), Headline: e.Answer, Topic: lab.Topic(e.Name), Chart: fewChart("", e.Conclusion.Chart, false),
	}
	s.Legend = fewKey(e.Conclusion.Chart, s.Chart)
	for _, p := range e.Pictures {
		s.Drawings = append(s.Drawings, drawing{template.HTML(p.State.SVG()), p.Caption})
	}
	if s.Headline == "" {
		s.Headline = strings.Join(e.Summary, " ")
	}
	for i, t := range e.Tables {
		s.Derivations = append(s.Derivations, pageDerivation{fmt.Sprintf("%s-derived-%d", e.Name, i+1), t.Title, t.Text, derivedTable(t).page()})
	}
	s.BesideChart = e.besideChart()
	s.BesideKey = append([]family{{Name: "published elsewhere", Class: "then", Sign: "◇"}}, key(s.BesideChart)...)
	s.Beside = e.besideTable().page()
	for i := range e.Sections {
		sweep := sweep(&e.Sections[i], colors)
		sweep.ID = e.Name + "-" + string(e.Sections[i].Name)
		s.Sweeps = append(s.Sweeps, sweep)
	}
	return s
}

func sweep(section *Section, colors palette) pageSweep {
	shown := pageSweep{Title: section.heading(), Text: section.Text}
	if !section.measured() {
		shown.Text += " Not measured in this run."
		shown.Content = "not measured"
		return shown
	}
	shown.Charts = section.charts(colors)
	shown.Key = key(shown.Charts...)
	for _, panel := range section.panels() {
		for _, t := range panel.tables(section) {
			shown.Tables = append(shown.Tables, t.page())
		}
		for _, out := range panel.leftOut() {
			if line := out.String(); !slices.Contains(shown.LeftOut, line) {
				shown.LeftOut = append(shown.LeftOut, line)
			}
		}
	}
	shown.Content = format.Plural(len(shown.Charts), "chart") + ", " + format.Plural(len(shown.Tables), "table")
	return shown
}

func (t table) page() pageTable {
	head := slices.Clone(t.head)
	for i, unit := range t.units {
		head[i] += ", " + unit
	}
	return pageTable{Caption: t.caption, Head: head, Rows: t.rows}
}
