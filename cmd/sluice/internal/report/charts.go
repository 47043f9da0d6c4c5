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

// A view shows some figures of one measure: as a table, on the page with a strip in each
// row, or with a chart of each row if there are several places.
type view struct {
	Caption string
	Unit    string   // with the scale: "ns per value, log scale · less is better"
	Head    []string // of the columns
	Rows    []row
	Axis    template.HTML // below the strips
	Charts  []chart
}

type row struct {
	Label string
	Strip template.HTML
	Cells []string
}

type chart struct {
	Name string
	SVG  template.HTML
}

// looks has the look of each family; page.css explains the choice.
var looks = [...]plot.Look{
	lab.FamilyNone:      {Class: "o0", Shape: plot.Diamond},
	lab.FamilyNative:    {Class: "n0", Shape: plot.Square},
	lab.FamilyPublished: {Class: "p0", Shape: plot.Triangle, Dashed: true},
	lab.FamilySluice:    {Class: "s0", Shape: plot.Dot},
}

// unitOf writes a unit with its scale and the better direction.
func unitOf(m lab.Measure, s plot.Scale) string {
	unit := m.Axis
	if s.Log {
		unit += ", log scale"
	}
	if m.Rate != 0 {
		return unit + " · more is better"
	}
	return unit + " · less is better"
}

// views shows a section: each panel in each measure, with a column for each place on the
// axis. All views of a measure share a scale.
func (s *Section) views() (all []view) {
	for _, m := range s.Measures {
		var cover []plot.Value
		for i := range s.Points {
			for j := range s.Points[i].Entries {
				if value, ok := s.Points[i].Entries[j].value(m); ok {
					cover = append(cover, value)
				}
			}
		}
		scale := plot.NewScale(cover)
		for _, p := range s.panels() {
			all = append(all, p.view(s, m, scale))
		}
	}
	return all
}

func (p *panel) view(s *Section, m lab.Measure, scale plot.Scale) view {
	v := view{Caption: strings.Trim(p.Name+", "+m.Title, ", "), Unit: unitOf(m, scale)}
	var xs []string
	shaded := len(p.Points)
	for i, point := range p.Points {
		head := point.X
		if point.Oversubscribed {
			head, shaded = head+"*", min(shaded, i)
		}
		xs, v.Head = append(xs, point.X), append(v.Head, head)
	}
	if s.Axis != "" {
		v.Unit += ", by " + s.Axis
	}
	base := slices.IndexFunc(p.Contenders, func(id lab.ContenderID) bool { return lab.FamilyOf(id) == lab.FamilyNative })
	var beside map[int]plot.Value
	if base >= 0 {
		beside = p.values(p.Contenders[base], m)
	}
	if len(p.Points) == 1 {
		v.Axis = template.HTML(plot.Axis(scale))
	}
	for i, id := range p.Contenders {
		r, look, values := row{Label: lab.NameOf(id)}, looks[lab.FamilyOf(id)], p.values(id, m)
		for _, point := range p.Points {
			r.Cells = append(r.Cells, cell(point.Entry(id), m))
		}
		if len(p.Points) > 1 {
			lines := plot.Lines{Label: r.Label + ": " + v.Unit, X: xs, Shaded: shaded, Scale: scale, Look: look, At: values}
			if i != base {
				lines.Beside = beside
			}
			v.Charts = append(v.Charts, chart{r.Label, template.HTML(lines.SVG())})
		} else if value, ok := values[0]; ok {
			r.Strip = template.HTML(plot.Strip(scale, beside[0], plot.Mark{Look: look, Value: value}))
		}
		v.Rows = append(v.Rows, r)
	}
	return v
}

// values returns the known places of a contender, by the index of their points.
func (p *panel) values(id lab.ContenderID, m lab.Measure) map[int]plot.Value {
	values := make(map[int]plot.Value)
	for i, point := range p.Points {
		if value, ok := point.Entry(id).value(m); ok {
			values[i] = value
		}
	}
	return values
}

// bars shows the few figures of an answer.
func bars(c lab.Chart) view {
	v := view{Caption: format.Capital(c.Conditions)}
	var base plot.Value
	var values []plot.Value
	m := lab.Measure{Axis: c.Unit}
	for _, bar := range c.Bars {
		value := valueOf(bar.Label, bar.Figure, m)
		if bar.Baseline {
			base = value
		}
		values = append(values, value)
	}
	scale := plot.NewScale(values)
	v.Unit, v.Axis = unitOf(m, scale), template.HTML(plot.Axis(scale))
	for i, bar := range c.Bars {
		v.Rows = append(v.Rows, row{bar.Label,
			template.HTML(plot.Strip(scale, base, plot.Mark{Look: looks[bar.Family()], Value: values[i]})), []string{bar.Text(c.ShortUnit())}})
	}
	return v
}

// publishedView has a row for each published figure: the diamond is the published one, the
// others were measured here.
func (e *Experiment) publishedView() view {
	var marks [][]plot.Mark
	var values []plot.Value
	for _, b := range e.Beside {
		published := stat.Summary{N: 1, Median: b.Value, Lo: b.Value, Hi: b.Value}
		row := []plot.Mark{{Look: plot.Look{Class: "then", Shape: plot.Diamond}, Value: valueOf("published", published, e.PublishedIn)}}
		for i, s := range []*stat.Summary{b.Measured, b.OursTakes} {
			if s != nil {
				id := []lab.ContenderID{b.Contender, b.Ours}[i]
				row = append(row, plot.Mark{Look: looks[lab.FamilyOf(id)], Value: valueOf(lab.NameOf(id), *s, e.PublishedIn)})
			}
		}
		marks = append(marks, row)
		for _, mark := range row {
			values = append(values, mark.Value)
		}
	}
	scale := plot.NewScale(values)
	v := view{Unit: unitOf(e.PublishedIn, scale), Axis: template.HTML(plot.Axis(scale)), Head: []string{"published", "the same, here", "sluice, here"}}
	for i, b := range e.Beside {
		v.Rows = append(v.Rows, row{b.Row + ", " + b.Column, template.HTML(plot.Strip(scale, plot.Value{}, marks[i]...)),
			[]string{format.Figure(b.Value), figure(b.Measured), figure(b.OursTakes)}})
	}
	return v
}

// value returns the value of an entry in a chart, with every repetition. ok is false if
// the entry, which may be nil, has no figure.
func (e *Entry) value(m lab.Measure) (v plot.Value, ok bool) {
	if e == nil || e.Error != "" {
		return v, false
	}
	s, ok := e.Summaries[m.Unit]
	v = valueOf(lab.NameOf(e.Contender), m.Show(s), m)
	for _, sample := range e.Samples(m.Unit) {
		v.Each = append(v.Each, m.Show(stat.Summary{N: 1, Median: sample, Lo: sample, Hi: sample}).Median)
	}
	return v, ok
}

// valueOf returns a summary in the shown unit as a chart draws it, with its tooltip.
func valueOf(name string, s stat.Summary, m lab.Measure) plot.Value {
	v := plot.Value{Mid: s.Median, Lo: s.Lo, Hi: s.Hi, Firm: s.Confidence > 0, Unknown: !s.Known()}
	what := "interval"
	if !v.Firm {
		what = "range"
	}
	v.Tip = name + ": " + format.NotKnownHere
	if s.Known() {
		v.Tip = fmt.Sprintf("%s: %s %s, %s %s to %s, %s", name, format.Rounded(s.Median, s.Lo, s.Hi), m.Axis, what,
			format.Figure(s.Lo), format.Figure(s.Hi), format.Plural(s.N, "repetition"))
	}
	return v
}

// cell returns the text of an entry in a table: a figure, or the reason why it
// is missing.
func cell(e *Entry, m lab.Measure) string {
	switch {
	case e == nil:
		return "left out"
	case e.Error != "":
		return "FAILED"
	}
	s, ok := e.Summaries[m.Unit]
	if !ok {
		return "missing"
	}
	s = m.Show(s)
	return figure(&s)
}

// figure writes a summary as precisely as it is known, with the distance to the farther end
// of its interval: "47 ± 3%", "47 ~ 3%" for a range of too few repetitions, and "47" for a
// single one; or "not run" if it is nil.
func figure(s *stat.Summary) string {
	if s == nil {
		return "not run"
	}
	text := format.Rounded(s.Median, s.Lo, s.Hi)
	if !s.Known() || s.N < 2 {
		return text
	}
	percent := 100 * s.Spread()
	margin := format.Margin(percent)
	if percent >= 1 && percent < 9.5 {
		margin = fmt.Sprintf("%.0f", percent)
	}
	if s.Confidence == 0 {
		return text + " ~ " + margin + "%"
	}
	return text + " ± " + margin + "%"
}
