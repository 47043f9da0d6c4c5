// Package plot draws what the reports show, as SVG to be put inline into a page:
// [Lines] over an axis, [Rows] of single figures, [Bars] of parts on top of each
// other, and the [Inside] of a channel.
//
// What may enter: geometry, scales and marks. Colours are the page's: a mark
// carries the name of a class, and the text takes the colour of its
// surroundings, so that one drawing serves a light page and a dark one. Charts
// are narrow by design: a page lays several side by side, and a phone shows one
// at full size.
package plot

import (
	"fmt"
	"html"
	"strings"
)

// Width of every chart in SVG units, which are pixels as long as the page does
// not scale it: near the width of a phone, so that text stays readable there.
const Width = 440

// textWidth is roughly how wide a character of a label is. Labels must not be
// cut off, so it errs on the large side.
const textWidth = 6.4

// A Value is a figure with its interval.
type Value struct {
	Mid, Lo, Hi float64
	// Firm tells a confidence interval from a mere range, drawn dashed.
	Firm bool
	// Tip is what a pointer resting on the mark shows.
	Tip string
}

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

func (c *canvas) line(x1, y1, x2, y2 float64, class string) {
	c.add(`<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" class="%s"/>`, x1, y1, x2, y2, class)
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
