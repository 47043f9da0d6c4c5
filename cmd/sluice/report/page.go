package report

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/experiment"
	"github.com/sluice-go/sluice/cmd/sluice/plot"
	"github.com/sluice-go/sluice/cmd/sluice/stat"
)

//go:embed page.html
var pageText string

//go:embed page.css
var pageStyle string

var pageTemplate = template.Must(template.New("page").
	Funcs(template.FuncMap{"unbroken": unbroken}).
	Parse(pageText))

// page is what the template reads.
type page struct {
	*Report
	Style   template.CSS
	When    string
	Length  string
	Studies []pageStudy
}

type pageStudy struct {
	*Experiment
	Source     string
	Drawings   []drawing
	BesideRows template.HTML
	Beside     pageTable
	Sweeps     []pageSweep
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

// WritePage writes the page. It refers to nothing outside itself: the style and
// the charts are part of it, and there is no script.
func (r *Report) WritePage(w io.Writer) error {
	p := page{
		Report: r,
		Style:  template.CSS(pageStyle),
		When:   r.Started.Format("2 January 2006, 15:04 MST"),
		Length: time.Duration(r.Took).Round(time.Second).String(),
	}
	for i := range r.Experiments {
		p.Studies = append(p.Studies, study(&r.Experiments[i]))
	}
	return pageTemplate.Execute(w, p)
}

func study(e *Experiment) pageStudy {
	colours := newPalette(e)
	s := pageStudy{Experiment: e, Source: sourceLine(e.Source), Drawings: e.drawings()}
	s.BesideRows = template.HTML(e.besideChart().SVG())
	s.Beside = e.besideTable().page()
	for i := range e.Sections {
		section := &e.Sections[i]
		sweep := pageSweep{Title: section.heading(), Text: section.Text}
		if !section.measured() {
			sweep.Text += " Not measured in this run."
			s.Sweeps = append(s.Sweeps, sweep)
			continue
		}
		measures := section.Measures
		if section.Stacked {
			sweep.Charts, measures = section.stacked(colours), nil
		}
		covers := section.covers()
		for _, panel := range section.panels() {
			for _, m := range measures {
				sweep.Charts = append(sweep.Charts, template.HTML(panel.chart(section, m, covers[m], colours)))
			}
			for _, t := range panel.tables(section) {
				sweep.Tables = append(sweep.Tables, t.page())
			}
			for _, out := range panel.leftOut() {
				if line := out.String(); !slices.Contains(sweep.LeftOut, line) {
					sweep.LeftOut = append(sweep.LeftOut, line)
				}
			}
		}
		s.Sweeps = append(s.Sweeps, sweep)
	}
	return s
}

func (t table) page() pageTable {
	head := slices.Clone(t.head)
	for i, unit := range t.units {
		head[i] += ", " + unit
	}
	return pageTable{Caption: t.caption, Head: head, Rows: t.rows}
}

// A palette gives each contender of an experiment one colour class, the same in
// all its charts: n for the built-in channel, p for published remedies, s for
// this library, numbered by their appearance.
type palette map[string]string

func newPalette(e *Experiment) palette {
	colours := make(palette)
	used := make(map[string]int)
	for _, section := range e.Sections {
		for _, point := range section.Points {
			for _, entry := range point.Entries {
				if _, ok := colours[entry.Contender]; ok {
					continue
				}
				family := "p"
				switch {
				case strings.HasPrefix(entry.Contender, "native"):
					family = "n"
				case strings.HasPrefix(entry.Contender, "sluice"):
					family = "s"
				}
				colours[entry.Contender] = fmt.Sprintf("%s%d", family, used[family]%shades)
				used[family]++
			}
		}
	}
	return colours
}

// shades is how many classes of each family page.css knows.
const shades = 7

// covers returns the values of all panels, by measure: their charts are to be
// compared, so they share a scale.
func (s *Section) covers() map[experiment.Measure][]plot.Value {
	covers := make(map[experiment.Measure][]plot.Value)
	for _, m := range s.Measures {
		for i := range s.Points {
			for j := range s.Points[i].Entries {
				if value, ok := s.Points[i].Entries[j].value(m); ok {
					covers[m] = append(covers[m], value)
				}
			}
		}
	}
	return covers
}

// chart draws a panel: lines if it has an axis with several places, else rows.
func (p *Panel) chart(s *Section, m experiment.Measure, cover []plot.Value, colours palette) string {
	title := p.Name
	if m.Title != "" {
		title = m.Title
	}
	if title == "" {
		title = s.Title
	}
	title = strings.ToUpper(title[:1]) + title[1:]
	if len(p.Points) > 1 {
		chart := p.lines(title, s, m, colours)
		chart.Cover = cover
		return chart.SVG()
	}
	chart := p.rows(title, s, m, colours)
	chart.Cover = cover
	return chart.SVG()
}

func (p *Panel) lines(title string, s *Section, m experiment.Measure, colours palette) plot.Lines {
	from := p.oversubscribedFrom()
	chart := plot.Lines{Title: title, XAxis: s.Axis, YAxis: chartUnit(m), Shaded: from, Shade: "oversubscribed"}
	if from == 0 { // of the whole panel the title says it
		chart.Shaded = len(p.Points)
		chart.Title += ", oversubscribed"
	}
	for _, point := range p.Points {
		chart.X = append(chart.X, point.X)
	}
	for _, contender := range p.Contenders {
		chart.Series = append(chart.Series, plot.Series{Name: contender, Class: colours[contender], At: p.values(contender, m)})
	}
	return chart
}

func (p *Panel) rows(title string, s *Section, m experiment.Measure, colours palette) plot.Rows {
	chart := plot.Rows{Title: title, Axis: chartUnit(m)}
	if s.Axis != "" {
		chart.Title += ", " + s.Axis + " " + p.Points[0].X
	}
	for _, contender := range p.Contenders {
		entry := p.Points[0].entry(contender)
		row := plot.Row{Label: contender, Value: cell(entry, m)}
		if value, ok := entry.value(m); ok {
			// The label names the row: the colour need only tell the family.
			row.Marks = []plot.Mark{{Class: colours[contender][:1] + "0", Value: value}}
		}
		chart.Rows = append(chart.Rows, row)
	}
	return chart
}

// chartUnit is the unit in words, and what its scale does not show.
func chartUnit(m experiment.Measure) string {
	if m.Floor == 0 {
		return m.Axis
	}
	return fmt.Sprintf("%s, %v or less drawn as that", m.Axis, m.Floor)
}

// value returns what a chart shows of an entry; ok is false if it has no figure.
// e may be nil.
func (e *Entry) value(m experiment.Measure) (v plot.Value, ok bool) {
	if e == nil || e.Error != "" {
		return v, false
	}
	s, ok := e.summary(m)
	return plotted(e.Contender, m, s), ok
}

func plotted(who string, m experiment.Measure, s stat.Summary) plot.Value {
	v := plot.Value{Mid: s.Median, Lo: s.Lo, Hi: s.Hi}
	if m.Floor > 0 {
		v = plot.Value{Mid: max(v.Mid, m.Floor), Lo: max(v.Lo, m.Floor), Hi: max(v.Hi, m.Floor)}
	}
	what := "interval"
	if s.Confidence == 0 {
		what = "range"
	}
	v.Firm = s.Confidence > 0
	v.Tip = fmt.Sprintf("%s: %s %s, %s %s to %s, %d repetitions",
		who, digits(s.Median), m.Axis, what, digits(s.Lo), digits(s.Hi), s.N)
	return v
}

// besideChart has a row for each published figure: the diamond is what was
// published, the dots were measured here.
func (e *Experiment) besideChart() plot.Rows {
	unit := e.BesideIn.Axis
	chart := plot.Rows{Title: "Then and now", Axis: chartUnit(e.BesideIn)}
	for _, b := range e.Beside {
		row := plot.Row{Label: b.Row + ", " + b.Column, Value: digits(b.Published)}
		tip := fmt.Sprintf("published: %s %s", digits(b.Published), unit)
		row.Marks = append(row.Marks, plot.Mark{Class: "then", Shape: plot.Diamond,
			Value: plot.Value{Mid: b.Published, Lo: b.Published, Hi: b.Published, Firm: true, Tip: tip}})
		for _, here := range []struct {
			name, class string
			s           *stat.Summary
			lift        float64
		}{{b.Contender, "same", b.Measured, 3}, {b.Ours, "s0", b.OursTakes, -3}} {
			if here.s == nil {
				continue
			}
			row.Value += " → " + digits(here.s.Median)
			row.Marks = append(row.Marks, plot.Mark{Class: here.class, Value: plotted(here.name, e.BesideIn, *here.s), Lift: here.lift})
		}
		chart.Rows = append(chart.Rows, row)
	}
	return chart
}
