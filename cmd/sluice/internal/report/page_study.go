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
	Topic       string   // in the table of contents
	Legend      []family // of Chart
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
		Chart: fewChart("", e.Conclusion.Chart, false), Topic: lab.Topic(e.Name), Legend: legend(e.Conclusion.Chart, false),
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
		family := barFamily(bar)
		if !bar.Shown() {
			chart.Note = format.NotKnownHere
		}
		text := barText(bar, c.Unit)
		drawn, tip := bar.Drawn(), text
		if bar.Known {
			tip = barTip(bar.Figure, c.Unit)
		}
		chart.Figures = append(chart.Figures, plot.Figure{
			Label: bar.Label, Class: family.Class, Shape: family.shape, Text: text, Baseline: bar.Baseline && bar.Known,
			Value: plot.Value{
				Mid: drawn.Median, Lo: drawn.Lo, Hi: drawn.Hi, Firm: drawn.Confidence > 0, Unknown: !bar.Shown(),
				Tip: bar.Label + ": " + tip,
			},
		})
	}
	return template.HTML(chart.SVG())
}

// barFamily returns the family of a bar's way.
func barFamily(bar lab.Bar) family {
	if strings.Contains(bar.Label, "chan") {
		return builtIn
	}
	return ours
}

// legend explains the signs of a chart of few figures. A linear one has bars.
func legend(c lab.Chart, logarithmic bool) []family {
	var shown []family
	for _, f := range []family{{Name: "built-in chan", Class: builtIn.Class, Sign: builtIn.Sign}, {Name: "sluice, this project’s channels", Class: ours.Class, Sign: ours.Sign}} {
		if slices.ContainsFunc(c.Bars, func(bar lab.Bar) bool { return barFamily(bar).Class == f.Class }) {
			if !logarithmic {
				f.Sign = "▬"
			}
			shown = append(shown, f)
		}
	}
	firm := slices.ContainsFunc(c.Bars, func(bar lab.Bar) bool { return bar.Shown() && bar.Figure.Confidence > 0 })
	interval := family{Name: "95% interval", Class: "soft", Sign: "├┤"}
	if !firm {
		interval.Name = "range of the repetitions"
	}
	shown = append(shown, interval)
	for _, bar := range c.Bars {
		if bar.Baseline && bar.Known {
			shown = append(shown, family{Name: bar.Label, Class: "soft", Sign: "┊"})
		}
	}
	return shown
}

// barText writes the figure of a bar beside it, with the first word of the unit:
// "47 ns".
func barText(bar lab.Bar, unit string) string {
	word, _, _ := strings.Cut(unit, " ")
	if word != "%" {
		word = " " + word
	}
	return bar.Text(word)
}

func barTip(s stat.Summary, unit string) string {
	return tip(s, lab.Measure{Axis: unit})
}
