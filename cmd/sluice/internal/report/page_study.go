package report

import (
	"fmt"
	"html/template"
	"slices"
	"strings"

	"github.com/sluice-go/sluice/cmd/sluice/internal/format"
	"github.com/sluice-go/sluice/cmd/sluice/internal/lab"
	"github.com/sluice-go/sluice/cmd/sluice/internal/plot"
	"github.com/sluice-go/sluice/cmd/sluice/internal/stat"
)

// pageStudy is one study on the page. Headline, Chart and the study's advice are
// visible; each of the other fields is a part that unfolds.
type pageStudy struct {
	*Experiment
	Place       string // such as "2 of 5"
	Source      string
	Headline    string // the answer
	Chart       template.HTML
	Families    []family
	Derivations []pageDerivation
	Drawings    []drawing
	BesideRows  template.HTML
	Beside      pageTable
	Sweeps      []pageSweep
	Command     string
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
		Experiment: e, Source: sourceLine(e.Source), Headline: e.Answer, Families: families, Drawings: e.drawings(),
		Chart: fewChart("", e.Conclusion.Chart, false),
	}
	if s.Headline == "" {
		s.Headline = strings.Join(e.Summary, " ")
	}
	for i, t := range e.Tables {
		s.Derivations = append(s.Derivations, pageDerivation{fmt.Sprintf("%s-derived-%d", e.Name, i+1), t.Title, t.Text, derivedTable(t).page()})
	}
	s.BesideRows = template.HTML(e.besideChart().SVG())
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

// fewChart draws the few figures of an answer, or returns "" if there are none. If
// logarithmic, the scale is logarithmic in any case.
func fewChart(title string, c lab.Chart, logarithmic bool) template.HTML {
	if len(c.Bars) == 0 {
		return ""
	}
	chart := plot.Dots{Title: title, Setting: format.Capital(c.Conditions), Unit: c.Unit, Better: "less is better", Log: logarithmic}
	for _, bar := range c.Bars {
		family := ours
		if strings.Contains(bar.Label, "chan") {
			family = builtIn
		}
		if !bar.Known {
			chart.Note = format.NotKnownHere
		}
		text := barText(bar, c.Unit)
		chart.Figures = append(chart.Figures, plot.Figure{
			Label: bar.Label, Class: family.Class, Shape: family.shape, Text: text, Baseline: bar.Baseline,
			Value: plot.Value{
				Mid: bar.Figure.Median, Lo: bar.Figure.Lo, Hi: bar.Figure.Hi, Firm: bar.Figure.Confidence > 0, Unknown: !bar.Known,
				Tip: bar.Label + ": " + barTip(bar.Figure, c.Unit),
			},
		})
	}
	return template.HTML(chart.SVG())
}

// barText writes the figure of a bar beside it, with the first word of the unit:
// "47 ns". From 10 on it is a whole number.
func barText(bar lab.Bar, unit string) string {
	if !bar.Known {
		return format.NotKnown
	}
	word, _, _ := strings.Cut(unit, " ")
	if word != "%" {
		word = " " + word
	}
	s, whole := bar.Figure, 0.0
	if s.Median >= 10 {
		whole = 2 // a margin that leaves no decimal place
	}
	return format.Rounded(s.Median, min(s.Lo, s.Median-whole), max(s.Hi, s.Median+whole)) + word
}

func barTip(s stat.Summary, unit string) string {
	return tip(s, lab.Measure{Axis: unit})
}
