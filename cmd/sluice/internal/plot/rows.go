package plot

import (
	"fmt"
	"slices"

	"github.com/sluice-go/sluice/cmd/sluice/internal/format"
)

// A Mark is one figure in a row.
type Mark struct {
	Class string
	Shape Shape
	Value Value
	Lift  float64 // above the row's line, so that marks do not hide each other
}

// A Row is a label, its value as text, and its marks.
type Row struct {
	Label string
	Value string
	Marks []Mark
}

// Rows is a chart of unordered figures, one below the other, on a common scale.
type Rows struct {
	Title  string
	Axis   string // the unit
	Better string // as in Lines
	Rows   []Row
	Cover  []Value // as in Lines
}

const (
	rowsLeft  = 4
	rowsRight = Width - 14
	rowPad    = 24 // below a row's label: its line, and space
	valueGap  = 14 // between a label and its value
)

// SVG returns the drawing.
func (r Rows) SVG() string {
	x := newScale(r.values())
	var ticks []string
	for _, tick := range x.ticks() {
		ticks = append(ticks, format.Short(tick))
	}
	pad := max(4, widest(ticks, tickSize)/2-rowsLeft) // the ticks at the ends are not cut off
	xAt := func(v float64) float64 { return rowsLeft + pad + x.at(v)*(rowsRight-rowsLeft-2*pad) }
	title := inLines(r.Title, titleSize, Width)
	unit := inLines(caption(r.Axis, x, r.Better), tickSize, Width)
	top := float64(lineGap*len(title) + 8)
	bottom := top + 4
	for _, row := range r.Rows {
		bottom += row.height()
	}
	c := open(bottom+22+lineGap*float64(len(unit)), accessibleLabel(r.Title, r.Axis, ""))
	c.lines(0, lineGap, "start", "title", title)
	for _, tick := range x.ticks() {
		c.line(xAt(tick), top, xAt(tick), bottom, "grid")
		c.text(xAt(tick), bottom+15, "middle", "tick", format.Short(tick))
	}
	c.lines((rowsLeft+rowsRight)/2, bottom+32, "middle", "axis", unit)
	for _, row := range r.Rows {
		row.draw(c, top, x, xAt)
		top += row.height()
	}
	return c.close()
}

func (r Rows) values() []Value {
	all := slices.Clone(r.Cover)
	for _, row := range r.Rows {
		for _, mark := range row.Marks {
			all = append(all, mark.Value)
		}
	}
	return all
}

// label returns the lines of a row's label, which do not reach the value.
func (r Row) label() []string {
	return inLines(r.Label, labelSize, rowsRight-rowsLeft-valueGap-widest(r.value(), labelSize))
}

// value returns the lines of a row's value: one, unless it is wider than half
// the chart.
func (r Row) value() []string { return inLines(r.Value, labelSize, Width/2) }

func (r Row) height() float64 {
	return float64(lineGap*max(1, len(r.label()), len(r.value())) + rowPad)
}

func (r Row) draw(c *canvas, top float64, x scale, xAt func(float64) float64) {
	base := top + r.height() - 11
	c.lines(rowsLeft, top+lineGap, "start", "label halo", r.label())
	c.lines(rowsRight, top+lineGap, "end", "value halo", r.value())
	c.line(rowsLeft, base, rowsRight, base, "track")
	for _, mark := range r.Marks {
		v, y := mark.Value, base-mark.Lift
		c.add(`<g class="%s">`, mark.Class)
		c.tip("mark", v.Tip)
		points := ""
		for _, one := range v.Each {
			if x.holds(one) {
				points += fmt.Sprintf("M%.1f %.1fh0", xAt(one), y)
			} else {
				c.beyond(xAt(one), y, one > x.hi, 1, 0)
			}
		}
		if points != "" {
			c.add(`<path d="%s" class="each"/>`, points)
		}
		if !v.Unknown {
			c.line(xAt(v.Lo), y, xAt(v.Hi), y, whisker(v))
			c.add(`<path d="M%.1f %.1fv6M%.1f %.1fv6" class="whisker"/>`, xAt(v.Lo), y-3, xAt(v.Hi), y-3)
			c.mark(mark.Shape, xAt(v.Mid), y)
		}
		c.closeTip()
		c.add(`</g>`)
	}
}

// beyond draws an arrow at an edge of the scale, for a repetition far beyond
// it. It points along x or against y, and in the reverse direction below the
// scale.
func (c *canvas) beyond(x, y float64, above bool, dx, dy float64) {
	if !above {
		dx, dy = -dx, -dy
	}
	c.add(`<path d="M%.1f %.1fL%.1f %.1fL%.1f %.1fz" class="beyond"/>`,
		x, y, x-7*dx-3*dy, y+7*dy-3*dx, x-7*dx+3*dy, y+7*dy+3*dx)
}
