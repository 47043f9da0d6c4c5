// Package plot draws what the reports show, as SVG to be put inline into a page:
// [Lines] over an axis, [Rows] of single figures, [Bars] of parts on top of each
// other, and the [ChannelState] of a channel.
//
// What may enter: geometry, scales and marks. Colours are the page's: a mark
// carries the name of a class, and the text takes the colour of its
// surroundings, so that one drawing serves a light page and a dark one. No text
// may be cut off or lie over another one, however long the names and however
// many: a chart breaks a text into lines and grows in height. Charts are narrow
// by design: a page lays several side by side, and a phone shows one at nearly
// its full size.
package plot

import (
	"fmt"
	"html"
	"strings"
)

// Width of every chart in SVG units, which are pixels as long as the page does
// not scale it: near the width of a phone, so that text stays readable there.
const Width = 400

// A Value is a figure with its interval.
type Value struct {
	Mid, Lo, Hi float64
	// Firm tells a confidence interval from a mere range, drawn dashed.
	Firm bool
	// Each is every repetition, drawn as faint points: none is dropped. What lies
	// far off the scale is drawn as an arrow at its edge.
	Each []float64
	// Tip is what a pointer resting on the mark shows.
	Tip string
}

// A Shape tells marks of different origin apart, also without colour.
type Shape uint8

const (
	Dot      Shape = iota
	Square         // filled, as is Dot
	Triangle       // filled
	Diamond        // hollow
)

// markRadius is half the height of a mark.
const markRadius = 3.6

// canvas collects the elements of a drawing.
type canvas struct {
	strings.Builder
}

func (c *canvas) add(format string, args ...any) {
	fmt.Fprintf(c, format+"\n", args...)
}

// text writes s at a place; anchor is start, middle or end.
func (c *canvas) text(x, y float64, anchor, class, s string) {
	c.add(`<text x="%.1f" y="%.1f" text-anchor="%s" class="%s">%s</text>`,
		x, y, anchor, class, html.EscapeString(s))
}

// lines writes some lines of text, the first at y, and returns where the next
// would be.
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

// mark draws a shape around a place.
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

// open begins a drawing whose title is also what a screen reader says.
func open(height float64, title string) *canvas { return openSized(Width, height, title) }

func openSized(width, height float64, label string) *canvas {
	c := &canvas{}
	c.add(`<svg viewBox="0 0 %.0f %.0f" role="img" aria-label="%s" class="chart">`,
		width, height, html.EscapeString(label))
	return c
}

// tip wraps what follows, up to closeTip, so that it shows s on hover.
func (c *canvas) tip(class, s string) {
	c.add(`<g class="%s"><title>%s</title>`, class, html.EscapeString(s))
}

func (c *canvas) closeTip() { c.add(`</g>`) }

// whisker is the class of an interval's stroke.
func whisker(v Value) string {
	if v.Firm {
		return "whisker"
	}
	return "whisker range"
}

// caption is what stands at an axis: the unit, that its scale is logarithmic, and
// which direction is good.
func caption(unit string, s scale, better string) string {
	if s.log {
		unit += ", log scale"
	}
	if better != "" {
		unit += " · " + better
	}
	return unit
}

// spoken is what a screen reader says of a chart. The figures are in the table
// that the page puts below it.
func spoken(title, unit, by string) string {
	said := title
	if unit != "" {
		said += ": " + unit
	}
	if by != "" {
		said += ", by " + by
	}
	return said
}
