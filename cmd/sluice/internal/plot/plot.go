// Package plot draws the charts of the reports, as SVG for inline use in a
// page: [Dots] for single figures, and [Lines] over an axis.
//
// What may enter: geometry, scales and marks. The page defines the colors: a
// mark has the name of a class, and text has the color of its surroundings, so
// that one drawing serves a light page and a dark one. No text may be cut off
// or overlap another one, however many and long the names are: a chart breaks
// text into lines and grows in height. Charts are narrow by design: a page
// shows several side by side, and a phone shows one at nearly full size.
package plot

import (
	"fmt"
	"html"
	"strings"
)

// Width is the width of every chart in SVG units, which are pixels unless the
// page scales the chart. It is near the width of a phone, so that text is
// readable there.
const Width = 400

// A Value is a figure with its interval.
type Value struct {
	Mid, Lo, Hi float64
	// Firm is true for a confidence interval, false for a range, which is dashed.
	Firm bool
	// Each has every repetition, drawn as faint points; none is dropped. A
	// repetition far off the scale is an arrow at its edge.
	Each []float64
	// Unknown is true if the interval is too wide for a figure: charts draw the
	// repetitions alone.
	Unknown bool
	// Tip is the mark's tooltip.
	Tip string
}

// A Shape distinguishes marks of different families, even without color.
type Shape uint8

const (
	Dot      Shape = iota
	Square         // filled, like Dot
	Triangle       // filled
	Diamond        // hollow
)

// markRadius is half the height of a mark.
const markRadius = 3.6

// value draws a mark, its interval and its repetitions, along the scale.
func (c *canvas) value(s scale, shape Shape, v Value, at func(v float64) (x, y float64), vertical bool) {
	c.add(`<g class="mark"><title>%s</title>`, html.EscapeString(v.Tip))
	points := ""
	for _, one := range v.Each {
		x, y := at(one)
		if s.holds(one) {
			points += fmt.Sprintf("M%.1f %.1fh0", x, y)
		} else {
			c.beyond(x, y, one > s.hi, vertical)
		}
	}
	if points != "" {
		c.add(`<path d="%s" class="each"/>`, points)
	}
	if !v.Unknown {
		if v.Lo < v.Hi {
			fromX, fromY := at(v.Lo)
			toX, toY := at(v.Hi)
			class := "whisker"
			if !v.Firm {
				class = "whisker range"
			}
			c.line(fromX, fromY, toX, toY, class)
			ends, dx, dy := "M%.1f %.1fv6M%.1f %.1fv6", 0.0, 3.0
			if vertical {
				ends, dx, dy = "M%.1f %.1fh6M%.1f %.1fh6", dy, dx
			}
			c.add(`<path d="`+ends+`" class="whisker"/>`, fromX-dx, fromY-dy, toX-dx, toY-dy)
		}
		x, y := at(v.Mid)
		c.mark(shape, x, y)
	}
	c.add(`</g>`)
}

// beyond draws an open arrowhead at an edge of the scale, for a repetition far beyond it.
func (c *canvas) beyond(x, y float64, above, vertical bool) {
	const long = 4.0
	back := long
	if above {
		back = -long
	}
	if vertical {
		c.add(`<path d="M%.1f %.1fL%.1f %.1fL%.1f %.1f" class="beyond"/>`, x-long, y-back, x, y, x+long, y-back)
	} else {
		c.add(`<path d="M%.1f %.1fL%.1f %.1fL%.1f %.1f" class="beyond"/>`, x+back, y-long, x, y, x+back, y+long)
	}
}

// canvas collects the elements of a drawing.
type canvas struct {
	strings.Builder
}

func (c *canvas) add(format string, args ...any) {
	fmt.Fprintf(c, format+"\n", args...)
}

// text writes s at a position; anchor is start, middle or end.
func (c *canvas) text(x, y float64, anchor, class, s string) {
	c.add(`<text x="%.1f" y="%.1f" text-anchor="%s" class="%s">%s</text>`,
		x, y, anchor, class, html.EscapeString(s))
}

// lines writes lines of text, the first at y, and returns the position of the
// next.
func (c *canvas) lines(x, y float64, anchor, class string, lines []string) float64 {
	for _, line := range lines {
		c.text(x, y, anchor, class, line)
		y += lineGap
	}
	return y
}

func (c *canvas) line(x1, y1, x2, y2 float64, class string) {
	c.add(`<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" class="%s"/>`, x1, y1, x2, y2, class)
}

// mark draws a shape around a position.
func (c *canvas) mark(shape Shape, x, y float64) {
	const r = markRadius
	switch shape {
	case Dot:
		c.add(`<circle cx="%.1f" cy="%.1f" r="%.1f" class="dot"/>`, x, y, r)
	case Square:
		c.add(`<path d="M%.1f %.1fh%.1fv%.1fh%.1fz" class="dot"/>`, x-r+.4, y-r+.4, 2*r-.8, 2*r-.8, .8-2*r)
	case Triangle:
		c.add(`<path d="M%.1f %.1fl%.1f %.1fh%.1fz" class="dot"/>`, x, y-r-.6, r+.6, 2*r+.2, -2*r-1.2)
	case Diamond:
		c.add(`<path d="M%.1f %.1fl5 5l-5 5l-5 -5z" class="hollow"/>`, x, y-5)
	}
}

func (c *canvas) close() string {
	c.add(`</svg>`)
	return c.String()
}

// open begins a drawing. The label describes it for screen readers.
func open(height float64, label string) *canvas {
	c := &canvas{}
	c.add(`<svg viewBox="0 0 %d %.0f" role="img" aria-label="%s" class="chart">`, Width, height, html.EscapeString(label))
	return c
}

// caption is the text at an axis: the unit, whether the scale is logarithmic,
// and which direction is better.
func caption(unit string, s scale, better string) string {
	if s.log {
		unit += ", log scale"
	}
	if better != "" {
		unit += " · " + better
	}
	return unit
}

// accessibleLabel is the accessible label of a chart. The figures are in the
// table below the chart.
func accessibleLabel(title, unit, by string) string {
	label := title
	if unit != "" {
		label += ": " + unit
	}
	if by != "" {
		label += ", by " + by
	}
	return label
}
