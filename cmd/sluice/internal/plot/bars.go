package plot

import (
	"slices"

	"github.com/sluice-go/sluice/cmd/sluice/internal/format"
)

// A Part is one part of each bar, with its size at some or all places of X.
type Part struct {
	Name string // in the key
	At   map[int]Value
}

// Bars is a chart of stacked bars, one for each setting on the axis, with the
// first part at the bottom. Its scale starts at zero, so that lengths add up.
type Bars struct {
	Title  string
	XAxis  string // what X is
	YAxis  string // the unit
	Better string // as in Lines
	Class  string // of the color; the parts differ in opacity
	X      []string
	Parts  []Part
	Cover  []Value // as in Lines
}

const (
	barsTop    = 58.0
	barsBottom = 260.0
	barsLeft   = 46
	barsRight  = Width - 10
	barWidth   = 34   // at most
	keySide    = 10.0 // of the square before a name in the legend
)

// SVG returns the drawing.
func (b Bars) SVG() string {
	title, xAxis := inLines(b.Title, titleSize, Width), inLines(b.XAxis, tickSize, Width)
	lower := float64(lineGap * max(0, len(title)-1)) // a longer title moves the rest down
	c := open(lower+barsBottom+24+float64(lineGap*len(xAxis)), accessibleLabel(b.Title, b.YAxis, b.XAxis))
	c.lines(0, lineGap, "start", "title", title)
	y := fromZero(slices.Concat(b.Cover, b.Heights()))
	c.text(0, lower+31, "start", "axis", caption(b.YAxis, y, b.Better))
	bottom := lower + barsBottom
	yAt := func(v float64) float64 { return bottom - y.at(v)*(barsBottom-barsTop) }
	for _, tick := range y.ticks() {
		c.line(barsLeft, yAt(tick), barsRight, yAt(tick), "grid")
		c.text(barsLeft-6, yAt(tick)+4, "end", "tick", format.Short(tick))
	}
	c.add(`<g class="%s">`, b.Class)
	b.key(c, lower+47)
	step := float64(barsRight-barsLeft) / float64(max(1, len(b.X)))
	for i, x := range b.X {
		middle := barsLeft + step*(float64(i)+0.5)
		b.bar(c, i, middle, min(barWidth, 0.62*step), yAt)
		c.text(middle, bottom+17, "middle", "tick", x)
	}
	c.add(`</g>`)
	c.lines((barsLeft+barsRight)/2, bottom+36, "middle", "axis", xAxis)
	return c.close()
}

// Heights returns the upper ends of the parts of each bar, with their
// intervals: the Cover of charts with the same scale.
func (b Bars) Heights() []Value {
	var heights []Value
	for i := range b.X {
		base := 0.0
		for _, part := range b.Parts {
			v := part.At[i]
			if v.Unknown {
				continue
			}
			heights = append(heights, Value{Mid: base + v.Mid, Lo: base + v.Lo, Hi: base + v.Hi})
			base += v.Mid
		}
	}
	return heights
}

// bar stacks the parts of one place, with a question mark above them if a part is
// unknown. Each part's interval is at its upper end, next to the other intervals.
func (b Bars) bar(c *canvas, i int, middle, width float64, yAt func(float64) float64) {
	base, vague := 0.0, false
	for j, part := range b.Parts {
		v, ok := part.At[i]
		if !ok {
			continue
		}
		if v.Unknown {
			vague = true
			continue
		}
		top := yAt(base + v.Mid)
		c.tip("mark", v.Tip)
		c.add(`<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" class="part%d"/>`,
			middle-width/2, top, width, yAt(base)-top, j)
		x := middle + 6*(float64(j)-float64(len(b.Parts)-1)/2)
		c.line(x, yAt(base+v.Lo), x, yAt(base+v.Hi), whisker(v)+" over")
		c.closeTip()
		base += v.Mid
	}
	if vague {
		c.text(middle, yAt(base)-12, "middle", "axis", "?")
	}
}

// key draws the legend at the upper right, with the first part on the left.
func (b Bars) key(c *canvas, y float64) {
	x := float64(barsRight)
	for j, part := range slices.Backward(b.Parts) {
		x -= widthOf(part.Name, tickSize)
		c.text(x, y, "start", "axis", part.Name)
		x -= keySide + 4
		c.add(`<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" class="part%d"/>`, x, y-keySide+1, keySide, keySide, j)
		x -= keySide
	}
}
