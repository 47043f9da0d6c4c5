package plot

import (
	"slices"
	"strings"

	"github.com/sluice-go/sluice/cmd/sluice/internal/format"
)

// A Mark is one figure in a line of [Dots].
type Mark struct {
	Class string // of its color
	Shape Shape
	Value Value
}

// A Figure is one line of [Dots]: a label, marks with their intervals, and the value as
// text.
type Figure struct {
	Label string
	Marks []Mark
	Text  string // on the right, such as "47 ns"
	// Baseline is true for the figure with which the others are compared: a line
	// through all figures marks it.
	Baseline bool
}

// Dots is a chart of figures without an order, each with its label on the left and its
// value on the right. A linear scale starts at zero, and has a bar up to the first mark of
// a line.
type Dots struct {
	Title   string
	Setting string // what all figures have in common, below the title
	Unit    string
	Better  string // as in Lines
	Note    string // below the axis
	Log     bool   // even if all figures are close together
	Figures []Figure
	Cover   []Value // as in Lines
}

const (
	dotsLabel = 148.0 // for the labels, at most
	dotsGap   = 8.0   // between the parts of a line
	dotsInset = 6.0   // from the frame to a mark
	dotsPitch = 23.0  // of lines with one line of text
	barHeight = 9.0
	markGap   = 6.0 // between the marks of a line
	tickGap   = 8.0 // between two figures at the axis
)

// dotsFrame has the positions of the parts of Dots.
type dotsFrame struct {
	scale          scale
	left, right    float64
	top, bottom    float64
	ticks          []float64
	title, setting []string
	unit           []string
	words          []string // of the accessible label
}

// SVG returns the drawing. Its accessible label has all figures.
func (d Dots) SVG() string {
	f := d.layout()
	c := open(f.bottom+22+lineGap*float64(len(f.unit)), strings.Join(f.words, "; "))
	y := c.lines(0, lineGap, "start", "title", f.title)
	c.lines(0, y, "start", "axis", f.setting)
	c.add(`<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" class="shade"/>`, f.left, f.top, f.right-f.left, f.bottom-f.top)
	for _, tick := range f.ticks {
		c.line(f.xAt(tick), f.top, f.xAt(tick), f.bottom, "grid")
		c.text(f.xAt(tick), f.bottom+15, "middle", "tick", format.Short(tick))
	}
	middle := min((f.left+f.right)/2, Width-widest(f.unit, tickSize)/2)
	c.lines(middle, f.bottom+32, "middle", "axis", f.unit)
	for _, figure := range d.Figures {
		if figure.Baseline && !figure.Marks[0].Value.Unknown {
			x := f.xAt(figure.Marks[0].Value.Mid)
			c.line(x, f.top, x, f.bottom, "baseline")
		}
	}
	y = f.top
	for _, figure := range d.Figures {
		f.draw(c, figure, y)
		y += figure.height()
	}
	return c.close()
}

func (d Dots) layout() dotsFrame {
	f := dotsFrame{
		title: inLines(d.Title, titleSize, Width), setting: inLines(d.Setting, tickSize, Width),
		words: []string{accessibleLabel(strings.Trim(d.Title+", "+d.Setting, ", "), d.Unit, "")},
	}
	values := slices.Clone(d.Cover)
	labels, texts := 0.0, 0.0
	for _, figure := range d.Figures {
		for _, mark := range figure.Marks {
			values = append(values, mark.Value)
		}
		labels = max(labels, widest(figure.label(), labelSize))
		texts = max(texts, widthOf(figure.Text, labelSize))
		f.words = append(f.words, figure.Label+" "+figure.Text)
	}
	f.scale = newScale(values, d.Log)
	f.unit = append(inLines(caption(d.Unit, f.scale, d.Better), tickSize, Width), inLines(d.Note, tickSize, Width)...)
	f.left, f.right = labels+dotsGap, Width-texts-dotsGap
	f.top = float64(lineGap*(len(f.title)+len(f.setting)) + 8)
	f.bottom = f.top
	for _, figure := range d.Figures {
		f.bottom += figure.height()
	}
	f.ticks = f.scale.fitting(func(tick float64) (at, width float64) {
		return f.xAt(tick), widthOf(format.Short(tick), tickSize) + tickGap
	})
	return f
}

func (f dotsFrame) xAt(v float64) float64 {
	left := f.left
	if f.scale.log {
		left += dotsInset
	}
	return left + f.scale.at(v)*(f.right-dotsInset-left)
}

func (f Figure) label() []string { return inLines(f.Label, labelSize, dotsLabel) }

func (f Figure) height() float64 {
	return max(dotsPitch+float64(lineGap*(max(1, len(f.label()))-1)), markGap*float64(len(f.Marks)+1))
}

// draw draws one line, of which the upper edge is at y.
func (f dotsFrame) draw(c *canvas, figure Figure, y float64) {
	middle, label := y+figure.height()/2, figure.label()
	c.lines(0, middle+4-lineGap*float64(len(label)-1)/2, "start", "label", label)
	class := "value"
	if !slices.ContainsFunc(figure.Marks, func(m Mark) bool { return !m.Value.Unknown }) {
		class = "axis"
	}
	c.text(Width, middle+4, "end", class, figure.Text)
	for i, mark := range figure.Marks {
		at := middle + markGap*(float64(i)-float64(len(figure.Marks)-1)/2)
		c.add(`<g class="%s">`, mark.Class)
		if i == 0 && !f.scale.log && !mark.Value.Unknown {
			c.add(`<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" class="bar"/>`,
				f.left, at-barHeight/2, max(0.5, f.xAt(mark.Value.Mid)-f.left), barHeight)
		}
		c.value(f.scale, mark.Shape, mark.Value, func(v float64) (x, y float64) { return f.xAt(v), at }, false)
		c.add(`</g>`)
	}
}
