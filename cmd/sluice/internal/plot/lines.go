package plot

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/sluice-go/sluice/cmd/sluice/internal/format"
)

// A Series is one line of a chart, with a value at some or all places of X.
type Series struct {
	Name   string // written at the end of the line
	Class  string // of its color
	Shape  Shape
	Dashed bool
	At     map[int]Value
}

// Lines is a chart of several series over an axis of settings, evenly spaced:
// they are selected values, such as 1, 2 and 8 processors, not a continuum.
type Lines struct {
	Title  string
	XAxis  string // what X is
	YAxis  string // the unit
	Better string // the better direction, such as "less is better"
	X      []string
	// Shaded is the index in X from which the background is shaded; len(X) shades
	// nothing. Shade is the reason.
	Shaded int
	Shade  string
	Series []Series
	// Cover are additional values within the scale: charts to compare have the
	// same.
	Cover []Value
}

const (
	plotHeight = 204.0 // at least
	margin     = 5.0   // from the upper and lower edge of the frame to a mark
	inset      = 18.0  // from the frame to the first and the last place
	labelRoom  = 150.0 // for the names, at most
	keyWidth   = 10.0  // of the mark before a name
	leaderRoom = 16.0  // between the frame and the mark
	labelGap   = 4.0   // between two names, besides lineGap
	dodgeStep  = 2.4   // keeps whiskers of one place apart
)

// frame has the positions of the parts of a Lines.
type frame struct {
	Lines
	scale                    scale
	left, right, top, bottom float64
	title, axis, xAxis       []string
	labels                   []label
	tickRows                 int
}

// A label is the name of a series to the right of the frame.
type label struct {
	series int
	lines  []string
	at     float64 // height of its last mark
	led    bool    // that mark is at the right edge
	y      float64 // of its middle
}

func (l label) height() float64 { return float64(lineGap*len(l.lines)) + labelGap }

// SVG returns the drawing.
func (l Lines) SVG() string {
	f := l.layout()
	height := f.bottom + float64(lineGap*f.tickRows) + 8 + float64(lineGap*len(f.xAxis)) + 4
	c := open(height, accessibleLabel(l.Title, l.YAxis, l.XAxis))
	f.draw(c)
	for i := range l.Series {
		f.series(c, i)
	}
	return c.close()
}

// layout computes all positions: the frame from the widths of the texts, and
// the labels from the frame.
func (l Lines) layout() *frame {
	f := &frame{Lines: l, scale: newScale(l.values(), false)}
	f.title = inLines(l.Title, titleSize, Width)
	f.axis = inLines(caption(l.YAxis, f.scale, l.Better), tickSize, Width)
	f.top = float64(lineGap*(len(f.title)+len(f.axis)) + 12)
	if l.Shaded < len(l.X) {
		f.top += lineGap
	}
	var ticks []string
	for _, tick := range f.scale.ticks() {
		ticks = append(ticks, format.Short(tick))
	}
	f.left = widest(ticks, tickSize) + 10
	tall, wide := 0.0, 0.0
	for i, s := range l.Series {
		if len(s.At) == 0 {
			continue
		}
		name := s.Name
		if len(s.known()) == 0 {
			name += " (not known)"
		}
		f.labels = append(f.labels, label{series: i, lines: inLines(name, labelSize, labelRoom-keyWidth)})
		last := &f.labels[len(f.labels)-1]
		tall += last.height()
		wide = max(wide, widest(last.lines, labelSize)+leaderRoom+keyWidth)
	}
	f.right = Width - max(wide, widest(l.X[max(0, len(l.X)-1):], tickSize)/2-inset)
	f.bottom = f.top + max(plotHeight, tall)
	f.xAxis = inLines(l.XAxis, tickSize, Width)
	f.tickRows = f.rowsOfTicks()
	f.placeLabels()
	return f
}

func (l Lines) values() []Value {
	all := slices.Clone(l.Cover)
	for _, s := range l.Series {
		for _, i := range s.places() {
			all = append(all, s.At[i])
		}
	}
	return all
}

// yAt returns the height of a figure. A mark at either end of the scale is within
// the frame.
func (f *frame) yAt(v float64) float64 {
	return f.bottom - margin - f.scale.at(v)*(f.bottom-f.top-2*margin)
}

// step is the distance between two places of the axis.
func (f *frame) step() float64 {
	return (f.right - f.left - 2*inset) / float64(max(1, len(f.X)-1))
}

// xAt returns the middle of a place.
func (f *frame) xAt(i int) float64 {
	if len(f.X) == 1 {
		return (f.left + f.right) / 2
	}
	return f.left + inset + float64(i)*f.step()
}

// markAt returns the position of a series' mark at a place, next to other
// series' marks.
func (f *frame) markAt(series, i int) float64 {
	n := float64(len(f.labels))
	room := min(dodgeStep, 0.55*f.step()/max(1, n))
	rank := 0
	for _, l := range f.labels {
		if l.series < series {
			rank++
		}
	}
	return f.xAt(i) + room*(float64(rank)-(n-1)/2)
}

// rowsOfTicks returns the number of rows of text below the axis such that no
// two texts touch: neighbors are in different rows.
func (f *frame) rowsOfTicks() int {
	for rows := 1; rows < len(f.X); rows++ {
		clear := true
		for i := rows; i < len(f.X); i++ {
			need := (widthOf(f.X[i], tickSize)+widthOf(f.X[i-rows], tickSize))/2 + 4
			clear = clear && need <= float64(rows)*f.step()
		}
		if clear {
			return rows
		}
	}
	return max(1, len(f.X))
}

// placeLabels puts each name at the end of its line, moved up or down so that
// no two overlap.
func (f *frame) placeLabels() {
	for i := range f.labels {
		l := &f.labels[i]
		s := f.Series[l.series]
		places := s.known()
		if len(places) == 0 {
			places = s.places()
		}
		last := places[len(places)-1]
		l.at, l.led = f.yAt(s.At[last].Mid), last == len(f.X)-1 && len(s.known()) > 0
		l.y = l.at
	}
	slices.SortStableFunc(f.labels, func(a, b label) int { return cmp.Compare(a.at, b.at) })
	ceiling := f.top
	for i := range f.labels {
		l := &f.labels[i]
		l.y = max(l.y, ceiling+l.height()/2)
		ceiling = l.y + l.height()/2
	}
	// Labels below the lower edge move up again, with their neighbors.
	floor := f.bottom
	for i := len(f.labels) - 1; i >= 0; i-- {
		l := &f.labels[i]
		l.y = min(l.y, floor-l.height()/2)
		floor = l.y - l.height()/2
	}
}

// draw draws everything but the series.
func (f *frame) draw(c *canvas) {
	y := c.lines(0, lineGap, "start", "title", f.title)
	c.lines(0, y+2, "start", "axis", f.axis)
	if f.Shaded < len(f.X) {
		from := f.left
		if f.Shaded > 0 {
			from = f.xAt(f.Shaded) - min(inset, f.step()/2)
		}
		c.add(`<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" class="shade"/>`,
			from, f.top, f.right-from, f.bottom-f.top)
		c.text(max(f.right, widthOf(f.Shade, tickSize)), f.top-5, "end", "axis", f.Shade)
	}
	for _, tick := range f.scale.ticks() {
		c.line(f.left, f.yAt(tick), f.right, f.yAt(tick), "grid")
		c.text(f.left-6, f.yAt(tick)+4, "end", "tick", format.Short(tick))
	}
	for i, x := range f.X {
		c.text(f.xAt(i), f.bottom+16+float64(lineGap*(i%f.tickRows)), "middle", "tick", x)
	}
	// Below the middle of the frame, but within the chart.
	middle := max((f.left+f.right)/2, widest(f.xAxis, tickSize)/2)
	c.lines(middle, f.bottom+float64(lineGap*f.tickRows)+20, "middle", "axis", f.xAxis)
}

// series draws a line, its marks and its name as one group, which the page can
// highlight.
func (f *frame) series(c *canvas, i int) {
	s := f.Series[i]
	c.add(`<g class="series %s">`, s.Class)
	if path := f.path(i); path != "" {
		class := "line"
		if s.Dashed {
			class = "line dashed"
		}
		c.add(`<path d="%s" class="%s"/>`, path, class)
	}
	for _, place := range s.places() {
		x := f.markAt(i, place)
		c.value(f.scale, s.Shape, s.At[place], func(v float64) (float64, float64) { return x, f.yAt(v) }, true)
	}
	for _, l := range f.labels {
		if l.series == i {
			f.name(c, s, l)
		}
	}
	c.add(`</g>`)
}

func (f *frame) path(series int) string {
	path, verb := "", "M"
	for _, i := range f.Series[series].places() {
		v := f.Series[series].At[i]
		if v.Unknown {
			verb = "M" // a gap
			continue
		}
		path += fmt.Sprintf("%s%.1f %.1f", verb, f.markAt(series, i), f.yAt(v.Mid))
		verb = "L"
	}
	return path
}

// name writes the name of a series after its mark. Between the frame and the name, a thin
// line leads from the height of a last mark at the right edge.
func (f *frame) name(c *canvas, s Series, l label) {
	x := f.right + leaderRoom
	if l.led {
		c.line(f.right+1, l.at, x-markRadius-1, l.y, "leader")
	}
	c.mark(s.Shape, x, l.y)
	c.lines(x+keyWidth, l.y+4-lineGap*float64(len(l.lines)-1)/2, "start", "label", l.lines)
}

// places returns the indices at which the series has a value, in order.
func (s Series) places() []int { return slices.Sorted(maps.Keys(s.At)) }

// known returns the places whose figures are known.
func (s Series) known() []int {
	return slices.DeleteFunc(s.places(), func(i int) bool { return s.At[i].Unknown })
}
