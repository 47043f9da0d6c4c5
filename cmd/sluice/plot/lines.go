package plot

import (
	"fmt"
	"slices"
)

// A Series is one line of a chart, with a value at some or all places of X.
type Series struct {
	Name  string // written beside the end of the line
	Class string // of its colour
	At    map[int]Value
}

// Lines is a chart of several series over an axis of settings. The settings are
// evenly spaced: they are chosen ones, such as 1, 2 and 8 processors, not a
// continuum.
type Lines struct {
	Title string
	XAxis string // what X is
	YAxis string // the unit
	X     []string
	// Shaded is the index in X from which the background is shaded, and
	// Shade says why. len(X) shades nothing.
	Shaded int
	Shade  string
	Series []Series
	// Cover are values that the scale must have room for besides those drawn:
	// charts that are to be compared share them.
	Cover []Value
}

const (
	linesHeight = 290
	linesTop    = 44
	linesBottom = linesHeight - 44
	linesLeft   = 46
	labelGap    = 14 // between the baselines of two labels
)

// SVG returns the drawing.
func (l Lines) SVG() string {
	c := open(linesHeight, l.Title)
	right := Width - l.labelWidth()
	all := slices.Clone(l.Cover)
	for _, s := range l.Series {
		for _, v := range s.At {
			all = append(all, v)
		}
	}
	y := newScale(all)
	yAt := func(v float64) float64 { return linesBottom - y.at(v)*(linesBottom-linesTop) }
	xAt := func(i int) float64 {
		inset := 22.0
		if len(l.X) == 1 {
			return (linesLeft + right) / 2
		}
		return linesLeft + inset + float64(i)*(right-linesLeft-2*inset)/float64(len(l.X)-1)
	}
	l.frame(c, y, yAt, xAt, right)
	for i, s := range l.Series {
		// Whiskers at the same place would hide each other.
		dodge := 2.4 * (float64(i) - float64(len(l.Series)-1)/2)
		s.draw(c, yAt, func(i int) float64 { return xAt(i) + dodge })
	}
	l.labels(c, yAt, xAt, right)
	return c.close()
}

// labelWidth returns the room that the longest series name needs.
func (l Lines) labelWidth() float64 {
	longest := 0
	for _, s := range l.Series {
		longest = max(longest, len(s.Name))
	}
	return min(190, 16+textWidth*float64(longest))
}

func (l Lines) frame(c *canvas, y scale, yAt func(float64) float64, xAt func(int) float64, right float64) {
	c.text(0, 14, "start", "title", l.Title)
	unit := l.YAxis
	if y.log {
		unit += ", log scale"
	}
	c.text(0, 31, "start", "axis", unit)
	if l.Shaded < len(l.X) {
		from := xAt(l.Shaded) - 20
		c.add(`<rect x="%.1f" y="%d" width="%.1f" height="%d" class="shade"/>`,
			from, linesTop, right-from, linesBottom-linesTop)
		c.text(right-4, linesBottom-5, "end", "axis", l.Shade)
	}
	for _, tick := range y.ticks() {
		c.line(linesLeft, yAt(tick), right, yAt(tick), "grid")
		c.text(linesLeft-6, yAt(tick)+4, "end", "tick", number(tick))
	}
	for i, x := range l.X {
		c.text(xAt(i), linesBottom+17, "middle", "tick", x)
	}
	c.text((linesLeft+right)/2, linesBottom+36, "middle", "axis", l.XAxis)
}

func (s Series) draw(c *canvas, yAt func(float64) float64, xAt func(int) float64) {
	c.add(`<g class="%s">`, s.Class)
	path := ""
	for _, i := range s.places() {
		verb := "L"
		if path == "" {
			verb = "M"
		}
		path += fmt.Sprintf("%s%.1f %.1f", verb, xAt(i), yAt(s.At[i].Mid))
	}
	c.add(`<path d="%s" class="line"/>`, path)
	for _, i := range s.places() {
		v := s.At[i]
		c.tip("mark", v.Tip)
		c.line(xAt(i), yAt(v.Lo), xAt(i), yAt(v.Hi), whisker(v))
		c.line(xAt(i)-3, yAt(v.Lo), xAt(i)+3, yAt(v.Lo), "whisker")
		c.line(xAt(i)-3, yAt(v.Hi), xAt(i)+3, yAt(v.Hi), "whisker")
		c.add(`<circle cx="%.1f" cy="%.1f" r="3.2" class="dot"/>`, xAt(i), yAt(v.Mid))
		c.closeTip()
	}
	c.add(`</g>`)
}

// places returns the indices at which the series has a value, in order.
func (s Series) places() []int {
	places := make([]int, 0, len(s.At))
	for i := range s.At {
		places = append(places, i)
	}
	slices.Sort(places)
	return places
}

// labels writes each name where its line ends, moved up or down as far as it
// must so that no two overlap, with a thin line back to the mark.
func (l Lines) labels(c *canvas, yAt func(float64) float64, xAt func(int) float64, right float64) {
	type label struct {
		series     Series
		x, from, y float64
	}
	var labels []label
	for _, s := range l.Series {
		places := s.places()
		if len(places) == 0 {
			continue
		}
		last := places[len(places)-1]
		at := yAt(s.At[last].Mid)
		labels = append(labels, label{s, xAt(last), at, at})
	}
	slices.SortStableFunc(labels, func(a, b label) int {
		switch {
		case a.from < b.from:
			return -1
		case a.from > b.from:
			return 1
		}
		return 0
	})
	for i := range labels {
		if i > 0 {
			labels[i].y = max(labels[i].y, labels[i-1].y+labelGap)
		}
	}
	// What was pushed over the lower edge moves up again, and its neighbours.
	floor := float64(linesBottom)
	for i := len(labels) - 1; i >= 0; i-- {
		labels[i].y = min(labels[i].y, floor)
		floor = labels[i].y - labelGap
	}
	for _, label := range labels {
		c.add(`<g class="%s">`, label.series.Class)
		c.add(`<path d="M%.1f %.1fL%.1f %.1fL%.1f %.1f" class="leader"/>`,
			label.x+8, label.from, right-2, label.from, right+8, label.y)
		c.text(right+11, label.y+4, "start", "label", label.series.Name)
		c.add(`</g>`)
	}
}
