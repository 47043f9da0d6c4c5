package report

import (
	"cmp"
	"fmt"
	"html/template"
	"regexp"
	"slices"
	"strings"

	"github.com/sluice-go/sluice/cmd/sluice/internal/format"
	"github.com/sluice-go/sluice/cmd/sluice/internal/lab"
	"github.com/sluice-go/sluice/cmd/sluice/internal/plot"
	"github.com/sluice-go/sluice/cmd/sluice/internal/stat"
)

// charts draws a section: each panel as lines if it has several places, or else as dots,
// in one chart for each measure. All charts of a measure share a scale.
func (s *Section) charts(colors palette) (drawn []template.HTML) {
	for _, m := range s.Measures {
		var cover []plot.Value
		for i := range s.Points {
			for j := range s.Points[i].Entries {
				if value, ok := s.Points[i].Entries[j].value(m); ok {
					cover = append(cover, value)
				}
			}
		}
		for _, panel := range s.panels() {
			title := cmp.Or(m.Title, panel.Name)
			if len(s.Measures) > 1 && panel.Name != "" {
				title = panel.Name + ", " + m.Title
			}
			if len(panel.Points) == 1 {
				drawn = append(drawn, panel.dots(format.Capital(cmp.Or(title, s.Title)), s, m, cover))
				continue
			}
			for _, group := range groups(panel.Contenders) {
				drawn = append(drawn, panel.lines(group.of(title, s.Title), group.members, s, m, cover, colors))
			}
		}
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

func (p *panel) lines(title string, members []lab.ContenderID, s *Section, m lab.Measure, cover []plot.Value, colors palette) template.HTML {
	chart := plot.Lines{
		Title: title, XAxis: s.Axis, YAxis: chartUnit(m), Better: better(m),
		Shaded: p.oversubscribedFrom(), Shade: "oversubscribed", Cover: cover,
	}
	for _, point := range p.Points {
		chart.X = append(chart.X, point.X)
	}
	for _, contender := range members {
		look := families[lab.FamilyOf(contender)]
		series := plot.Series{
			Name: lab.NameOf(contender), Class: colors[contender], Shape: look.shape, Dashed: look.dashed, At: make(map[int]plot.Value),
		}
		for i, point := range p.Points {
			if value, ok := point.Entry(contender).value(m); ok {
				series.At[i] = value
			}
		}
		chart.Series = append(chart.Series, series)
	}
	return template.HTML(chart.SVG())
}

func (p *panel) dots(title string, s *Section, m lab.Measure, cover []plot.Value) template.HTML {
	chart := plot.Dots{Title: title, Unit: chartUnit(m), Better: better(m), Cover: cover}
	if s.Axis != "" {
		axis, unit, _ := strings.Cut(s.Axis, ", ")
		chart.Title += ", " + axis + ": " + strings.TrimSpace(p.Points[0].X+" "+unit)
	}
	for _, contender := range p.Contenders {
		entry := p.Points[0].Entry(contender)
		figure := plot.Figure{Label: lab.NameOf(contender), Text: cell(entry, m)}
		if value, ok := entry.value(m); ok {
			figure.Marks = []plot.Mark{families[lab.FamilyOf(contender)].mark(value)}
		}
		chart.Figures = append(chart.Figures, figure)
	}
	return template.HTML(chart.SVG())
}

// besideChart has a line for each published figure: the hollow mark is the
// published one, the others were measured here.
func (e *Experiment) besideChart() template.HTML {
	chart := plot.Dots{Unit: chartUnit(e.PublishedIn), Better: better(e.PublishedIn), Log: true}
	for _, b := range e.Beside {
		tip := "published: " + withUnit(format.Figure(b.Value), e.PublishedIn)
		figure := plot.Figure{Label: b.Row + ", " + b.Column, Marks: []plot.Mark{
			{Class: "then", Shape: plot.Diamond, Value: plot.Value{Mid: b.Value, Lo: b.Value, Hi: b.Value, Firm: true, Tip: tip}},
		}}
		for i, s := range []*stat.Summary{b.Measured, b.OursTakes} {
			if s != nil {
				id := []lab.ContenderID{b.Contender, b.Ours}[i]
				figure.Marks = append(figure.Marks, families[lab.FamilyOf(id)].mark(valueOf(lab.NameOf(id), *s, e.PublishedIn)))
			}
		}
		chart.Figures = append(chart.Figures, figure)
	}
	return template.HTML(chart.SVG())
}

// fewChart draws the few figures of an answer, with its legend, or returns "" if there are
// none. If logarithmic, the scale is logarithmic in any case.
func fewChart(title string, c lab.Chart, logarithmic bool) (drawn template.HTML, legend []sign) {
	if len(c.Bars) == 0 {
		return "", nil
	}
	chart := plot.Dots{Title: title, Setting: format.Capital(c.Conditions), Unit: c.Unit, Better: "less is better", Log: logarithmic}
	word, _, _ := strings.Cut(c.Unit, " ") // beside each figure: "47 ns"
	if word != "%" {
		word = " " + word
	}
	var baseline []sign
	for _, bar := range c.Bars {
		value := valueOf(bar.Label, bar.Drawn(), lab.Measure{Axis: c.Unit})
		if value.Unknown = !bar.Shown(); value.Unknown {
			chart.Note = format.NotKnownHere
		} else if bar.Limited {
			value.Tip = bar.Label + ": " + bar.Text(word)
		}
		figure := plot.Figure{Label: bar.Label, Text: bar.Text(word), Baseline: bar.Baseline && bar.Known, Marks: []plot.Mark{families[bar.Family()].mark(value)}}
		if figure.Baseline {
			baseline = append(baseline, sign{bar.Label + ", for comparison", "soft", "┊"})
		}
		chart.Figures = append(chart.Figures, figure)
	}
	drawn = template.HTML(chart.SVG())
	return drawn, append(key(drawn), baseline...)
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
	members := make(map[lab.Family][]lab.ContenderID)
	for _, contender := range contenders {
		f := lab.FamilyOf(contender)
		members[f] = append(members[f], contender)
	}
	beside := members[lab.FamilyNative]
	if len(beside) > company {
		beside = beside[:1]
	}
	members[lab.FamilyNative] = members[lab.FamilyNative][len(beside):]
	var all []group
	for f, look := range families {
		rest := members[lab.Family(f)]
		parts := (len(rest) + mostSeries - len(beside) - 1) / (mostSeries - len(beside))
		for part := range parts {
			g := group{title: look.Name}
			if parts > 1 {
				g.title += fmt.Sprintf(", part %d of %d", part+1, parts)
			}
			g.members = slices.Concat(beside, rest[part*len(rest)/parts:(part+1)*len(rest)/parts])
			all = append(all, g)
		}
	}
	return all
}

// value returns the value of an entry in a chart, with every repetition. ok is false if
// the entry, which may be nil, has no figure.
func (e *Entry) value(m lab.Measure) (v plot.Value, ok bool) {
	if e == nil || e.Error != "" {
		return v, false
	}
	s, ok := e.summary(m)
	v = valueOf(lab.NameOf(e.Contender), s, m)
	for _, sample := range e.Samples(m.Unit) {
		one := m.Show(stat.Summary{N: 1, Median: sample, Lo: sample, Hi: sample})
		v.Each = append(v.Each, valueOf("", one, m).Mid)
	}
	return v, ok
}

// valueOf returns a summary in the shown unit as a chart draws it, with its tooltip.
func valueOf(name string, s stat.Summary, m lab.Measure) plot.Value {
	v := plot.Value{Mid: s.Median, Lo: s.Lo, Hi: s.Hi, Firm: s.Confidence > 0}
	if m.Floor > 0 {
		v.Mid, v.Lo, v.Hi = max(v.Mid, m.Floor), max(v.Lo, m.Floor), max(v.Hi, m.Floor)
	}
	what := "interval"
	if !v.Firm {
		what = "range"
	}
	v.Tip = name + ": "
	switch {
	case m.Limited(s):
		v.Tip += withUnit(format.Below(s.Hi), m)
	case !s.Known():
		v.Unknown = true
		v.Tip += format.NotKnownHere
	default:
		v.Tip += fmt.Sprintf("%s, %s %s to %s, %s", withUnit(median(s, m), m), what,
			format.Figure(s.Lo), format.Figure(s.Hi), format.Plural(s.N, "repetition"))
	}
	return v
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

// A sign is one entry of a legend.
type sign struct {
	Name  string
	Class string // in the style
	Sign  string // as it is drawn
}

// A look shows a lab.Family in charts: by color, by shape and by dashes.
// page.css explains the choice.
type look struct {
	sign
	letter string // of its color classes
	shape  plot.Shape
	dashed bool
}

// families has the look of each family, in the order of a legend.
var families = [...]look{
	lab.FamilyNone:      {sign{"no channel", "o0", "◇"}, "o", plot.Diamond, false},
	lab.FamilyNative:    {sign{"built-in channels", "n0", "■"}, "n", plot.Square, false},
	lab.FamilyPublished: {sign{"published remedies", "p0", "▲"}, "p", plot.Triangle, true},
	lab.FamilySluice:    {sign{"sluice", "s0", "●"}, "s", plot.Dot, false},
}

// mark returns the mark of a value in a chart where labels name contenders, so that color
// and shape only show the family.
func (l look) mark(v plot.Value) plot.Mark {
	return plot.Mark{Class: l.Class, Shape: l.shape, Value: v}
}

// key returns the legend of charts: the families and signs that are drawn. Where lines have
// colors of their own, a family is its shape alone.
func key(charts ...template.HTML) (signs []sign) {
	drawn := ""
	for _, chart := range charts {
		drawn += string(chart)
	}
	has := func(what string) bool { return regexp.MustCompile(what).MatchString(drawn) }
	for _, look := range families {
		if has(`<g class="(series )?` + look.letter + `[0-9]">`) {
			if has(`class="series `) {
				look.Class = "soft"
			}
			signs = append(signs, look.sign)
		}
	}
	for _, other := range []struct{ drawn, sign, name string }{
		{`<line [^>]*class="whisker"`, "├┤", "95% interval"},
		{`<line [^>]*class="whisker range"`, "├┄┤", "range of few repetitions"},
		{`class="each"`, "·", "one repetition"},
		{`class="beyond"`, "›", "one far off the scale"},
	} {
		if has(other.drawn) {
			signs = append(signs, sign{other.name, "soft", other.sign})
		}
	}
	return signs
}

// A palette has one color class for each contender of an experiment, for all
// its charts: the letter of its family, and a number by appearance.
type palette map[lab.ContenderID]string

// shades is the number of classes per family in page.css.
const shades = 7

func newPalette(e *Experiment) palette {
	colors, used := make(palette), make(map[string]int)
	for i := range e.Sections {
		for _, panel := range e.Sections[i].panels() {
			for _, contender := range panel.Contenders {
				if letter := families[lab.FamilyOf(contender)].letter; colors[contender] == "" {
					colors[contender] = fmt.Sprint(letter, used[letter]%shades)
					used[letter]++
				}
			}
		}
	}
	return colors
}
