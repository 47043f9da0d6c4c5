package watch

import (
	"strings"

	"github.com/clipperhouse/displaywidth"

	"github.com/sluice-go/sluice/cmd/sluice/internal/flowmap"
	"github.com/sluice-go/sluice/cmd/sluice/internal/format"
)

// The roles of a map, by what they mean here, and more of them. look, in style.go, has their
// appearance.
const (
	soft    = flowmap.Soft
	strong  = flowmap.Stage // names
	plain   = flowmap.Channel
	hot     = flowmap.Bottleneck     // waiting, full or lost
	values  = flowmap.Bottleneck + 1 // queued or sent values
	outward = flowmap.Bottleneck + 2 // received values
	bar     = flowmap.Bottleneck + 3 // the first and the last line, and the selected row
)

// A canvas is the lines of a screen or of a view that is scrolled, each as wide as the
// screen at most.
type canvas struct {
	width int
	rows  []*row
}

func newCanvas(width, height int) *canvas {
	c := &canvas{width: max(0, width)}
	for range height {
		c.add()
	}
	return c
}

// add adds a row at the bottom.
func (c *canvas) add() *row {
	c.rows = append(c.rows, &row{width: c.width})
	return c.rows[len(c.rows)-1]
}

// row returns a row, which is not shown if it is outside of the canvas.
func (c *canvas) row(y int) *row {
	if y < 0 || y >= len(c.rows) {
		return &row{width: c.width}
	}
	return c.rows[y]
}

// fade makes everything drawn so far secondary.
func (c *canvas) fade() {
	for _, r := range c.rows {
		r.paint(soft)
	}
}

// A row is a line that is filled from left to right.
type row struct {
	flowmap.Line
	width int // most cells
	used  int
}

// add appends text that fits.
func (r *row) add(text string, role flowmap.Role) *row {
	r.Line = append(r.Line, flowmap.Span{Text: text, Role: role})
	r.used += displaywidth.String(text)
	return r
}

// at adds spaces up to column x.
func (r *row) at(x int) *row {
	return r.add(strings.Repeat(" ", max(0, min(x, r.width)-r.used)), plain)
}

// put appends text in at most room cells. Text that does not fit is cut and ends with "…".
// Rows never have control characters.
func (r *row) put(room int, text string, role flowmap.Role) *row {
	return r.add(format.Cut(format.Clean(text), min(room, r.width-r.used)), role)
}

// write is put with all the room that is left.
func (r *row) write(text string, role flowmap.Role) *row { return r.put(r.width, text, role) }

// right appends text so that it ends before column end, in at most room cells.
func (r *row) right(end, room int, text string, role flowmap.Role) *row {
	text = format.Clean(text)
	return r.at(end-min(room, displaywidth.String(text))).put(room, text, role)
}

// over writes text at the right end, over what is there.
func (r *row) over(text string, role flowmap.Role) {
	room := max(0, r.width-displaywidth.String(text))
	kept := row{width: room}
	for _, span := range r.Line {
		kept.add(displaywidth.TruncateString(span.Text, max(0, room-kept.used), ""), span.Role)
	}
	r.Line, r.used = kept.Line, kept.used
	r.at(room).write(text, role)
}

// append appends parts of a line.
func (r *row) append(spans ...flowmap.Span) *row {
	for _, span := range spans {
		r.put(r.width, span.Text, span.Role)
	}
	return r
}

// paint sets the role of a row as far as it is filled.
func (r *row) paint(role flowmap.Role) { r.Line = flowmap.Line{{Text: r.String(), Role: role}} }

// eighths and horizontal are bars of zero to eight eighths of a cell, upward
// and to the right.
var (
	eighths    = []rune(" ▁▂▃▄▅▆▇█")
	horizontal = []rune("·▏▎▍▌▋▊▉█")
)

// parts returns how many eighths of cells a bar fills. Any value other than 0 is visible.
func parts(v, most float64, cells int) int {
	if v <= 0 || most <= 0 {
		return 0
	}
	return max(1, int(min(1, v/most)*float64(8*cells)+0.5))
}

// spark draws the last values as bars in some rows, from the bottom one up, relative to top,
// or to their maximum if top is 0. The latest value is at the right end.
func spark(rows []*row, width int, history []float64, top float64, role flowmap.Role) {
	history = history[max(0, len(history)-width):]
	if top <= 0 {
		for _, v := range history {
			top = max(top, v)
		}
	}
	for i, r := range rows {
		r.at(r.used + width - len(history))
		for _, v := range history {
			cell := flowmap.Span{Text: string(eighths[max(0, min(8, parts(v, top, len(rows))-8*i))]), Role: role}
			if cell.Text == " " && i == 0 {
				cell = flowmap.Span{Text: "▁", Role: soft} // the baseline, so that 0 differs from a missing value
			}
			r.append(cell)
		}
	}
}

// gauge returns part of most as a bar, cell by cell.
func gauge(width int, part, most float64, role flowmap.Role) (cells flowmap.Line) {
	for i := range width {
		filled := max(0, min(8, parts(part, most, width)-8*i))
		cells = append(cells, flowmap.Span{Text: string(horizontal[filled]), Role: either(filled > 0, role, soft)})
	}
	return cells
}
