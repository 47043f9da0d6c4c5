package plot

import "slices"

// A Shape tells marks of different origin apart, also without colour.
type Shape uint8

const (
	Dot     Shape = iota // measured here
	Diamond              // published elsewhere
)

// A Mark is one figure in a row.
type Mark struct {
	Class string
	Shape Shape
	Value Value
	Lift  float64 // upwards from the row's line, so that marks do not hide each other
}

// A Row is a label, what it comes to in words, and its marks.
type Row struct {
	Label string
	Value string
	Marks []Mark
}

// Rows is a chart of figures that have no order of their own, one below the
// other on a common scale.
type Rows struct {
	Title string
	Axis  string // the unit
	Rows  []Row
	Cover []Value // as in Lines
}

const (
	rowsTop   = 26
	rowHeight = 38
	rowsLeft  = 4
	rowsRight = Width - 14
)

// SVG returns the drawing.
func (r Rows) SVG() string {
	bottom := float64(rowsTop + rowHeight*len(r.Rows) + 4)
	c := open(bottom+40, r.Title)
	all := slices.Clone(r.Cover)
	for _, row := range r.Rows {
		for _, mark := range row.Marks {
			all = append(all, mark.Value)
		}
	}
	x := newScale(all)
	xAt := func(v float64) float64 { return rowsLeft + 4 + x.at(v)*(rowsRight-rowsLeft-8) }
	c.text(0, 14, "start", "title", r.Title)
	for _, tick := range x.ticks() {
		c.line(xAt(tick), rowsTop, xAt(tick), bottom, "grid")
		c.text(xAt(tick), bottom+15, "middle", "tick", number(tick))
	}
	unit := r.Axis
	if x.log {
		unit += ", log scale"
	}
	c.text((rowsLeft+rowsRight)/2, bottom+33, "middle", "axis", unit)
	for i, row := range r.Rows {
		row.draw(c, float64(rowsTop+rowHeight*i), xAt)
	}
	return c.close()
}

func (r Row) draw(c *canvas, top float64, xAt func(float64) float64) {
	base := top + 27.0
	c.text(rowsLeft, top+15, "start", "label halo", r.Label)
	c.text(rowsRight, top+15, "end", "value halo", r.Value)
	c.line(rowsLeft, base, rowsRight, base, "track")
	for _, mark := range r.Marks {
		v, y := mark.Value, base-mark.Lift
		c.add(`<g class="%s">`, mark.Class)
		c.tip("mark", v.Tip)
		c.line(xAt(v.Lo), y, xAt(v.Hi), y, whisker(v)+" wide")
		x := xAt(v.Mid)
		if mark.Shape == Diamond {
			c.add(`<path d="M%.1f %.1fl5 5l-5 5l-5 -5z" class="hollow"/>`, x, y-5)
		} else {
			c.add(`<circle cx="%.1f" cy="%.1f" r="4" class="dot"/>`, x, y)
		}
		c.closeTip()
		c.add(`</g>`)
	}
}
