// Package plot draws the charts of the reports, as SVG for inline use in a page:
// [Strip] draws a figure in the row of a table, and [Lines] a figure over an axis.
//
// What may enter: geometry, scales and marks. The page defines the colors: a mark has the
// name of a class, and text has the color of its surroundings, so that one drawing serves
// a light page and a dark one. All names and units are text of the page, which breaks it
// where it must. A drawing is as wide as its place in the page, so positions across are
// percentages, and letters keep their size.
package plot

import (
	"fmt"
	"html"
	"math"
	"strings"
	"unicode/utf8"

	"github.com/sluice-go/sluice/cmd/sluice/internal/format"
)

// A Value is a figure with its interval.
type Value struct {
	Mid, Lo, Hi float64
	// Firm is true for a confidence interval, false for a range, which is dashed.
	Firm bool
	// Each has every repetition, drawn as faint points; none is dropped. A
	// repetition far off the scale is a tick at its edge.
	Each []float64
	// Unknown is true if the interval is too wide for a figure: charts draw the
	// repetitions alone.
	Unknown bool
	// Tip is the mark's tooltip.
	Tip string
}

// A Look is the color and the shape of marks. Families of contenders differ by shape, even
// without color.
type Look struct {
	Class  string // of its color
	Shape  Shape
	Dashed bool // its lines
}

// A Shape is drawn around its position.
type Shape string

const (
	Dot      Shape = `<circle r="3.6" class="dot"/>`
	Square   Shape = `<path d="M-3.2 -3.2h6.4v6.4h-6.4z" class="dot"/>`
	Triangle Shape = `<path d="M0 -4.2l4.2 7.4h-8.4z" class="dot"/>`
	Diamond  Shape = `<path d="M0 -5l5 5l-5 5l-5 -5z" class="hollow"/>`
)

// around draws the repetitions of a value and its interval. at returns the position of a
// share of the scale.
func (v Value) around(s Scale, at func(share float64) (x, y float64)) string {
	var each, beyond string
	for _, one := range v.Each {
		x, y := at(s.at(one))
		if s.holds(one) {
			each += fmt.Sprintf("M%.1f %.1fh0", x, y)
		} else {
			beyond += fmt.Sprintf("M%.1f %.1fh0", x, y)
		}
	}
	var b strings.Builder
	for _, points := range []struct{ path, class string }{{each, "each"}, {beyond, "beyond"}} {
		if points.path != "" {
			fmt.Fprintf(&b, `<path d="%s" class="%s"/>`, points.path, points.class)
		}
	}
	if !v.Unknown && v.Lo < v.Hi {
		class := "whisker"
		if !v.Firm {
			class = "whisker range"
		}
		fromX, fromY := at(s.at(v.Lo))
		toX, toY := at(s.at(v.Hi))
		fmt.Fprintf(&b, `<path d="M%.1f %.1fL%.1f %.1f" class="%s"/>`, fromX, fromY, toX, toY, class)
	}
	return b.String()
}

// A Mark is one figure in a [Strip].
type Mark struct {
	Look
	Value Value
}

// The height of a strip, its middle, and the position of the text below an axis.
const (
	stripHeight = 22
	middle      = stripHeight / 2
	belowAxis   = 15
)

// Strip draws marks on one line. A linear scale starts at zero, and has a bar up to the
// first mark. A line across marks the figure with which others are compared, if it is known.
// The text beside the strip has the figures.
func Strip(s Scale, base Value, marks ...Mark) string {
	var b strings.Builder
	fmt.Fprintf(&b, `<svg class="strip" width="100%%" height="%d" aria-hidden="true">`, stripHeight)
	if base.Mid != 0 && !base.Unknown {
		fmt.Fprintf(&b, `<line x1="%[1]s" y1="0" x2="%[1]s" y2="100%%" class="baseline"/>`, percent(s.at(base.Mid)))
	}
	for i, mark := range marks {
		fmt.Fprintf(&b, `<g class="mark %s"><title>%s</title>`, mark.Class, html.EscapeString(mark.Value.Tip))
		if i == 0 && !s.Log && !mark.Value.Unknown {
			fmt.Fprintf(&b, `<rect y="%d" width="%s" height="10" class="bar"/>`, middle-5, percent(s.at(mark.Value.Mid)))
		}
		// Lines between two positions are stretched to the width of the strip.
		fmt.Fprintf(&b, `<svg viewBox="0 0 100 %d" preserveAspectRatio="none">%s</svg>`, stripHeight,
			mark.Value.around(s, func(share float64) (x, y float64) { return 100 * share, middle }))
		if !mark.Value.Unknown {
			fmt.Fprintf(&b, `<svg x="%s" y="%d" overflow="visible">%s</svg>`, percent(s.at(mark.Value.Mid)), middle, mark.Shape)
		}
		b.WriteString("</g>")
	}
	b.WriteString("</svg>")
	return b.String()
}

// The room of a figure at an axis in the smallest place of a page: letters are wider than
// high, and those at an edge are beside their place.
const (
	acrossRoom  = 0.36
	uprightRoom = 0.18
)

// Axis draws the scale of strips below them.
func Axis(s Scale) string {
	var b strings.Builder
	fmt.Fprintf(&b, `<svg class="strip" width="100%%" height="%d" aria-hidden="true">`, stripHeight)
	for _, tick := range s.ticks(acrossRoom) {
		fmt.Fprintf(&b, `<line x1="%[1]s" y1="0" x2="%[1]s" y2="4" class="leader"/>`, percent(s.at(tick)))
		anchor := "middle"
		switch at := s.at(tick); {
		case at < 0.13:
			anchor = "start"
		case at > 0.87:
			anchor = "end"
		}
		text(&b, percent(s.at(tick)), belowAxis, anchor, format.Short(tick))
	}
	b.WriteString("</svg>")
	return b.String()
}

// Lines is a chart of one contender over an axis of settings, evenly spaced: they are
// selected values, such as 1, 2 and 8 processors, not a continuum.
type Lines struct {
	Label string // describes the chart for screen readers
	X     []string
	// Shaded is the index in X from which the background is shaded; len(X) shades
	// nothing.
	Shaded int
	Scale  Scale
	Look   Look
	At     map[int]Value // by index in X
	Beside map[int]Value // of the contender to compare with, drawn as a line in gray
}

// The vertical parts of a chart, and the room at its sides: for the figures of the scale,
// and for half a mark.
const (
	linesHeight = 128
	linesTop    = 8.0
	linesFloor  = 102.0
	linesLeft   = 0.26
	linesRight  = 0.95
)

// xAt returns the position of a place, as a share of the width.
func (l Lines) xAt(i float64) float64 {
	return linesLeft + i*(linesRight-linesLeft)/float64(max(1, len(l.X)-1))
}

func (l Lines) yAt(share float64) float64 { return linesFloor - share*(linesFloor-linesTop) }

// SVG returns the drawing.
func (l Lines) SVG() string {
	var b strings.Builder
	fmt.Fprintf(&b, `<svg class="chart" width="100%%" height="%d" role="img" aria-label="%s">`, linesHeight, html.EscapeString(l.Label))
	if l.Shaded < len(l.X) {
		from := 0.0
		if l.Shaded > 0 {
			from = l.xAt(float64(l.Shaded) - 0.5)
		}
		fmt.Fprintf(&b, `<rect x="%s" width="%s" height="%.0f" class="shade"/>`, percent(from), percent(1-from), linesFloor+4)
	}
	for _, tick := range l.Scale.ticks(uprightRoom) {
		y := l.yAt(l.Scale.at(tick))
		fmt.Fprintf(&b, `<line x1="%s" y1="%.1f" x2="100%%" y2="%.1[2]f" class="grid"/>`, percent(linesLeft-0.04), y)
		text(&b, percent(linesLeft-0.06), y+4, "end", format.Short(tick))
	}
	l.places(&b)
	fmt.Fprintf(&b, `<g class="n0">%s</g><g class="%s">`, l.path(l.Beside, "line beside"), l.Look.Class)
	class := "line"
	if l.Look.Dashed {
		class = "line dashed"
	}
	b.WriteString(l.path(l.At, class))
	for i := range l.X {
		v, ok := l.At[i]
		if !ok {
			continue
		}
		fmt.Fprintf(&b, `<svg x="%s" overflow="visible"><g class="mark"><title>%s</title>%s`, percent(l.xAt(float64(i))), html.EscapeString(v.Tip),
			v.around(l.Scale, func(share float64) (x, y float64) { return 0, l.yAt(share) }))
		if !v.Unknown {
			fmt.Fprintf(&b, `<g transform="translate(0 %.1f)">%s</g>`, l.yAt(l.Scale.at(v.Mid)), l.Look.Shape)
		}
		b.WriteString("</g></svg>")
	}
	b.WriteString("</g></svg>")
	return b.String()
}

// places writes the places below the axis, from the last one: all of them, or every second,
// or fewer, so that they fit even if the chart is narrow.
func (l Lines) places(b *strings.Builder) {
	const letter, gap = 0.045, 0.02
	wide := 0.0
	for _, x := range l.X {
		wide = max(wide, letter*float64(utf8.RuneCountInString(x)))
	}
	step := int(math.Ceil(float64(len(l.X)-1) * (wide + gap) / (linesRight - linesLeft)))
	for i := len(l.X) - 1; i >= 0; i -= max(1, step) {
		text(b, percent(min(l.xAt(float64(i)), 1-wide/2)), linesFloor+18, "middle", l.X[i])
	}
}

// path draws a line through the known values. A value that is not known, or missing,
// leaves a gap.
func (l Lines) path(at map[int]Value, class string) string {
	var b strings.Builder
	for i := 1; i < len(l.X); i++ {
		from, ok := at[i-1]
		to, also := at[i]
		if ok && also && !from.Unknown && !to.Unknown {
			fmt.Fprintf(&b, `<line x1="%s" y1="%.1f" x2="%s" y2="%.1f" class="%s"/>`, percent(l.xAt(float64(i-1))), l.yAt(l.Scale.at(from.Mid)),
				percent(l.xAt(float64(i))), l.yAt(l.Scale.at(to.Mid)), class)
		}
	}
	return b.String()
}

func text(b *strings.Builder, x string, y float64, anchor, s string) {
	fmt.Fprintf(b, `<text x="%s" y="%.1f" text-anchor="%s" class="tick">%s</text>`, x, y, anchor, html.EscapeString(s))
}

// percent writes a share of the width.
func percent(share float64) string { return fmt.Sprintf("%.1f%%", 100*share) }
