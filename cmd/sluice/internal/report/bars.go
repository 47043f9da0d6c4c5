package report

import (
	"html/template"

	"github.com/sluice-go/sluice/cmd/sluice/internal/lab"
	"github.com/sluice-go/sluice/cmd/sluice/internal/plot"
)

// bars draws a section whose measures are parts of a whole: one chart per
// contender of the panel, which compares the contender with itself.
func (p *Panel) bars(s *Section, colors palette) []plot.Bars {
	var charts []plot.Bars
	for _, contender := range p.Contenders {
		chart := plot.Bars{Title: lab.NameOf(contender) + ", " + p.Name, XAxis: s.Axis, YAxis: s.Measures[0].Axis, Better: better(s.Measures[0]), Class: colors[contender]}
		for _, point := range p.Points {
			chart.X = append(chart.X, point.X)
		}
		for _, m := range s.Measures {
			chart.Parts = append(chart.Parts, plot.Part{Name: m.Title, At: p.values(contender, m)})
		}
		charts = append(charts, chart)
	}
	return charts
}

// values returns the values of a contender, by the index of the point.
func (p *Panel) values(contender lab.ContenderID, m lab.Measure) map[int]plot.Value {
	values := make(map[int]plot.Value)
	for i, point := range p.Points {
		if value, ok := point.Entry(contender).value(m); ok {
			values[i] = value
		}
	}
	return values
}

// stacked draws all panels of a stacked section on one scale.
func (s *Section) stacked(colors palette) []template.HTML {
	var charts []plot.Bars
	var cover []plot.Value
	for _, panel := range s.panels() {
		for _, chart := range panel.bars(s, colors) {
			charts = append(charts, chart)
			cover = append(cover, chart.Heights()...)
		}
	}
	var drawn []template.HTML
	for _, chart := range charts {
		chart.Cover = cover
		drawn = append(drawn, template.HTML(chart.SVG()))
	}
	return drawn
}
