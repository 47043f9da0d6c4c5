package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/sluice-go/sluice/cmd/sluice/internal/format"
	"github.com/sluice-go/sluice/cmd/sluice/internal/lab"
	"github.com/sluice-go/sluice/cmd/sluice/internal/plot"
	"github.com/sluice-go/sluice/cmd/sluice/internal/stat"
)

// covers returns the values of all panels, by measure: their charts share a
// scale, for comparison.
func (s *Section) covers() map[lab.Measure][]plot.Value {
	covers := make(map[lab.Measure][]plot.Value)
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

// charts draws a panel: as lines if it has several places, or else as rows.
func (p *Panel) charts(s *Section, m lab.Measure, cover []plot.Value, colors palette) []string {
	title := cmp.Or(m.Title, p.Name)
	if len(p.Points) == 1 {
		chart := p.rows(format.Capital(cmp.Or(title, s.Title)), s, m)
		chart.Cover = cover
		return []string{chart.SVG()}
	}
	var drawn []string
	for _, group := range groups(p.Contenders) {
		chart := p.lines(group.of(title, s.Title), group.members, s, m, colors)
		chart.Cover = cover
		drawn = append(drawn, chart.SVG())
	}
	return drawn
}

// better names the better direction of a measure.
func better(m lab.Measure) string {
	if m.Rate != 0 {
		return "more is better"
	}
	return "less is better"
}

func (p *Panel) lines(title string, members []lab.ContenderID, s *Section, m lab.Measure, colors palette) plot.Lines {
	chart := plot.Lines{
		Title: title, XAxis: s.Axis, YAxis: chartUnit(m), Better: better(m),
		Shaded: p.oversubscribedFrom(), Shade: "oversubscribed",
	}
	for _, point := range p.Points {
		chart.X = append(chart.X, point.X)
	}
	for _, contender := range members {
		family := familyOf(contender)
		chart.Series = append(chart.Series, plot.Series{
			Name: lab.NameOf(contender), Class: colors[contender], Shape: family.shape, Dashed: family.dashed,
			At: p.values(contender, m),
		})
	}
	return chart
}

func (p *Panel) rows(title string, s *Section, m lab.Measure) plot.Rows {
	chart := plot.Rows{Title: title, Axis: chartUnit(m), Better: better(m)}
	if s.Axis != "" {
		chart.Title += ", " + s.Axis + " " + p.Points[0].X
	}
	for _, contender := range p.Contenders {
		entry := p.Points[0].Entry(contender)
		row := plot.Row{Label: lab.NameOf(contender), Value: cell(entry, m)}
		if value, ok := entry.value(m); ok {
			// The label names the row: the mark only shows the family.
			family := familyOf(contender)
			row.Marks = []plot.Mark{{Class: family.Class, Shape: family.shape, Value: value}}
		}
		chart.Rows = append(chart.Rows, row)
	}
	return chart
}

// A group has the contenders of a chart.
type group struct {
	title   string // "" if it is the only one
	members []lab.ContenderID
}

// of returns the title of a group's chart. The section's title is above the
// chart anyway, so it is repeated only if there is no other title.
func (g group) of(panel, section string) string {
	switch {
	case g.title == "":
		return format.Capital(cmp.Or(panel, section))
	case panel == "":
		return format.Capital(g.title)
	}
	return format.Capital(panel + ": " + g.title)
}

// mostSeries is the largest number of series in a chart: a reader can tell seven
// apart. A larger panel has charts for each family. Each has the built-in channels
// for comparison: all of them if there are at most company, or else the first.
const (
	mostSeries = 7
	company    = 2
)

// groups divides the contenders of a panel.
func groups(contenders []lab.ContenderID) []group {
	if len(contenders) <= mostSeries {
		return []group{{members: contenders}}
	}
	members := make(map[string][]lab.ContenderID)
	for _, contender := range contenders {
		letter := familyOf(contender).letter
		members[letter] = append(members[letter], contender)
	}
	natives := members[builtIn.letter]
	beside := natives
	if len(natives) > company {
		beside = natives[:1]
	}
	members[builtIn.letter] = natives[len(beside):]
	var all []group
	for _, family := range families {
		rest := members[family.letter]
		parts := (len(rest) + mostSeries - len(beside) - 1) / (mostSeries - len(beside))
		for part := range parts {
			g := group{title: family.Name}
			if parts > 1 {
				g.title += fmt.Sprintf(", part %d of %d", part+1, parts)
			}
			from, to := part*len(rest)/parts, (part+1)*len(rest)/parts
			g.members = slices.Concat(beside, rest[from:to])
			all = append(all, g)
		}
	}
	return all
}

// value returns the value of an entry in a chart. ok is false if the entry,
// which may be nil, has no figure.
func (e *Entry) value(m lab.Measure) (v plot.Value, ok bool) {
	if e == nil || e.Error != "" {
		return v, false
	}
	s, ok := e.summary(m)
	v = plotted(e.Contender, m, s)
	v.Each = e.each(m)
	return v, ok
}

// each returns every repetition in the shown unit.
func (e *Entry) each(m lab.Measure) []float64 {
	var all []float64
	for _, repetition := range e.Repetitions {
		for _, figure := range repetition.Figures {
			if figure.Unit == m.Unit {
				one := stat.Summary{N: 1, Median: figure.Value, Lo: figure.Value, Hi: figure.Value}
				all = append(all, drawnAt(m, m.Show(one).Median))
			}
		}
	}
	return all
}

func plotted(contender lab.ContenderID, m lab.Measure, s stat.Summary) plot.Value {
	return plot.Value{
		Mid: drawnAt(m, s.Median), Lo: drawnAt(m, s.Lo), Hi: drawnAt(m, s.Hi), Firm: s.Confidence > 0,
		Tip: lab.NameOf(contender) + ": " + tip(s, m), Unknown: knownOf(s, m) == unknown,
	}
}

// tip describes a figure with its interval.
func tip(s stat.Summary, m lab.Measure) string {
	what := "interval"
	if s.Confidence == 0 {
		what = "range"
	}
	switch knownOf(s, m) {
	case unknown:
		return format.NotKnownHere
	case small:
		return withUnit(format.Below(s.Hi), m)
	}
	return fmt.Sprintf("%s, %s %s to %s, %s", withUnit(median(s, m), m), what,
		format.Figure(s.Lo), format.Figure(s.Hi), format.Plural(s.N, "repetition"))
}

// withUnit writes a figure with its unit in words.
func withUnit(figure string, m lab.Measure) string {
	if strings.HasPrefix(m.Axis, "%") {
		return figure + m.Axis
	}
	return figure + " " + m.Axis
}

// chartUnit returns the unit in words, with a remark on the floor of the scale.
func chartUnit(m lab.Measure) string {
	if m.Floor == 0 {
		return m.Axis
	}
	return fmt.Sprintf("%s, lower values drawn at %v", m.Axis, m.Floor)
}

// drawnAt returns the position of a figure on the scale.
func drawnAt(m lab.Measure, v float64) float64 {
	if m.Floor > 0 {
		return max(v, m.Floor)
	}
	return v
}

// besideLift keeps the marks of one row apart.
const besideLift = 3.5

// besideChart has a row for each published figure: the hollow mark is the
// published one, the others were measured here.
func (e *Experiment) besideChart() plot.Rows {
	chart := plot.Rows{Title: "Published → the same here → sluice here", Axis: chartUnit(e.PublishedIn), Better: better(e.PublishedIn)}
	for _, b := range e.Beside {
		row := plot.Row{Label: b.Row + ", " + b.Column, Value: format.Figure(b.Value)}
		tip := "published: " + withUnit(format.Figure(b.Value), e.PublishedIn)
		row.Marks = append(row.Marks, plot.Mark{Class: "then", Shape: plot.Diamond,
			Value: plot.Value{Mid: b.Value, Lo: b.Value, Hi: b.Value, Firm: true, Tip: tip}})
		for _, here := range []struct {
			id   lab.ContenderID
			s    *stat.Summary
			lift float64
		}{{b.Contender, b.Measured, besideLift}, {b.Ours, b.OursTakes, -besideLift}} {
			if here.s == nil {
				row.Value += " → –"
				continue
			}
			row.Value += " → " + median(*here.s, e.PublishedIn)
			family := familyOf(here.id)
			row.Marks = append(row.Marks, plot.Mark{
				Class: family.Class, Shape: family.shape, Lift: here.lift, Value: plotted(here.id, e.PublishedIn, *here.s),
			})
		}
		chart.Rows = append(chart.Rows, row)
	}
	return chart
}
