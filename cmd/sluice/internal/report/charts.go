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
	for _, panel := range s.panels() {
		for _, m := range s.Measures {
			title := cmp.Or(m.Title, panel.Name)
			if len(panel.Points) == 1 {
				drawn = append(drawn, panel.dots(format.Capital(cmp.Or(title, s.Title)), s, m, covers[m]))
				continue
			}
			for _, group := range groups(panel.Contenders) {
				drawn = append(drawn, panel.lines(group.of(title, s.Title), group.members, s, m, covers[m], colors))
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
		family := familyOf(contender)
		series := plot.Series{
			Name: lab.NameOf(contender), Class: colors[contender], Shape: family.shape, Dashed: family.dashed, At: make(map[int]plot.Value),
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
			figure.Marks = []plot.Mark{markOf(lab.FamilyOf(contender), value)}
		}
		chart.Figures = append(chart.Figures, figure)
	}
	return template.HTML(chart.SVG())
}

// markOf returns the mark of a value in a chart where labels name contenders, so that color
// and shape only show the family.
func markOf(f lab.Family, value plot.Value) plot.Mark {
	look := shown(f)
	return plot.Mark{Class: look.Class, Shape: look.shape, Value: value}
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
		Tip: lab.NameOf(contender) + ": " + tipOf(s, m), Unknown: !s.Known() && !m.Limited(s),
	}
}

// tipOf describes a figure with its interval.
func tipOf(s stat.Summary, m lab.Measure) string {
	what := "interval"
	if s.Confidence == 0 {
		what = "range"
	}
	switch {
	case m.Limited(s):
		return withUnit(format.Below(s.Hi), m)
	case !s.Known():
		return format.NotKnownHere
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

// besideChart has a line for each published figure: the hollow mark is the
// published one, the others were measured here.
func (e *Experiment) besideChart() template.HTML {
	chart := plot.Dots{Unit: chartUnit(e.PublishedIn), Better: better(e.PublishedIn), Log: true}
	for _, b := range e.Beside {
		tip := "published: " + withUnit(format.Figure(b.Value), e.PublishedIn)
		figure := plot.Figure{Label: b.Row + ", " + b.Column, Marks: []plot.Mark{
			{Class: "then", Shape: plot.Diamond, Value: plot.Value{Mid: b.Value, Lo: b.Value, Hi: b.Value, Firm: true, Tip: tip}},
		}}
		if b.Measured != nil {
			figure.Marks = append(figure.Marks, markOf(lab.FamilyOf(b.Contender), plotted(b.Contender, e.PublishedIn, *b.Measured)))
		}
		if b.OursTakes != nil {
			figure.Marks = append(figure.Marks, markOf(lab.FamilyOf(b.Ours), plotted(b.Ours, e.PublishedIn, *b.OursTakes)))
		}
		chart.Figures = append(chart.Figures, figure)
	}
	return template.HTML(chart.SVG())
}

// fewChart draws the few figures of an answer, or returns "" if there are none. If
// logarithmic, the scale is logarithmic in any case.
func fewChart(title string, c lab.Chart, logarithmic bool) template.HTML {
	if len(c.Bars) == 0 {
		return ""
	}
	chart := plot.Dots{Title: title, Setting: format.Capital(c.Conditions), Unit: c.Unit, Better: "less is better", Log: logarithmic}
	word, _, _ := strings.Cut(c.Unit, " ") // beside each figure: "47 ns"
	if word != "%" {
		word = " " + word
	}
	for _, bar := range c.Bars {
		drawn, tip := bar.Drawn(), bar.Text(word)
		if bar.Known {
			tip = tipOf(bar.Figure, lab.Measure{Axis: c.Unit})
		}
		if !bar.Shown() {
			chart.Note = format.NotKnownHere
		}
		chart.Figures = append(chart.Figures, plot.Figure{
			Label: bar.Label, Text: bar.Text(word), Baseline: bar.Baseline && bar.Known,
			Marks: []plot.Mark{markOf(bar.Family(), plot.Value{
				Mid: drawn.Median, Lo: drawn.Lo, Hi: drawn.Hi, Firm: drawn.Confidence > 0, Unknown: !bar.Shown(), Tip: bar.Label + ": " + tip,
			})},
		})
	}
	return template.HTML(chart.SVG())
}

// fewKey is the legend of a chart of few figures.
func fewKey(c lab.Chart, chart template.HTML) []family {
	signs := key(chart)
	for _, bar := range c.Bars {
		if bar.Baseline && bar.Known {
			signs = append(signs, family{Name: bar.Label + ", for comparison", Class: "soft", Sign: "┊"})
		}
	}
	return signs
}

// A family shows a lab.Family in charts: by color, by shape and by dashes.
// page.css explains the choice.
type family struct {
	Name   string // in the legend
	Class  string // in the style, of its first member
	Sign   string // in the legend: as Shape is drawn
	letter string // of its color classes
	shape  plot.Shape
	dashed bool
}

// families has them in the order of a legend.
var families = []family{
	{Name: "no channel", Class: "o0", Sign: "◇", letter: "o", shape: plot.Diamond},
	builtIn,
	{Name: "published remedies", Class: "p0", Sign: "▲", letter: "p", shape: plot.Triangle, dashed: true},
	{Name: "sluice", Class: "s0", Sign: "●", letter: "s", shape: plot.Dot},
}

var builtIn = family{Name: "built-in channels", Class: "n0", Sign: "■", letter: "n", shape: plot.Square}

// shown returns how charts show a family.
func shown(f lab.Family) family {
	return families[map[lab.Family]int{lab.FamilyNone: 0, lab.FamilyNative: 1, lab.FamilyPublished: 2, lab.FamilySluice: 3}[f]]
}

func familyOf(contender lab.ContenderID) family { return shown(lab.FamilyOf(contender)) }

// key returns the legend of charts: the families and signs that are drawn. Where lines have
// colors of their own, a family is its shape alone.
func key(charts ...template.HTML) (signs []family) {
	drawn := ""
	for _, chart := range charts {
		drawn += string(chart)
	}
	lines := strings.Contains(drawn, `class="series `)
	for _, f := range families {
		if regexp.MustCompile(`<g class="(series )?` + f.letter + `[0-9]">`).MatchString(drawn) {
			if lines {
				f.Class = "soft"
			}
			signs = append(signs, f)
		}
	}
	for _, sign := range []struct{ drawn, sign, name string }{
		{`<line [^>]*class="whisker"`, "├┤", "95% interval"},
		{`<line [^>]*class="whisker range"`, "├┄┤", "range of few repetitions"},
		{`class="each"`, "·", "one repetition"},
		{`class="beyond"`, "›", "one far off the scale"},
	} {
		if regexp.MustCompile(sign.drawn).MatchString(drawn) {
			signs = append(signs, family{Name: sign.name, Class: "soft", Sign: sign.sign})
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
	colors := make(palette)
	used := make(map[string]int)
	for _, section := range e.Sections {
		for _, point := range section.Points {
			for _, entry := range point.Entries {
				if _, ok := colors[entry.Contender]; ok {
					continue
				}
				letter := familyOf(entry.Contender).letter
				colors[entry.Contender] = fmt.Sprintf("%s%d", letter, used[letter]%shades)
				used[letter]++
			}
		}
	}
	return colors
}
