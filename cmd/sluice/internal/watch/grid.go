package watch

import (
	"github.com/clipperhouse/displaywidth"

	"github.com/sluice-go/sluice/cmd/sluice/internal/format"
)

// A style is the meaning of a text; look, in style.go, returns its appearance.
type style uint8

const (
	plain   style = iota
	soft          // secondary text
	strong        // names
	hot           // waiting, full or lost
	values        // queued or sent values
	outward       // received values
	bar           // the first and the last line
	chosen        // the selected row
)

// A grid is a screen of cells in memory.
type grid struct {
	width, height int
	cells         []cell
}

// A cell holds one grapheme. A wide one leaves the text of the cell to its
// right empty.
type cell struct {
	text  string
	style style
}

func newGrid(width, height int) *grid {
	g := &grid{width, height, make([]cell, max(0, width)*max(0, height))}
	for i := range g.cells {
		g.cells[i].text = " "
	}
	return g
}

// at returns the cell at x, y, or nil outside the grid.
func (g *grid) at(x, y int) *cell {
	if x < 0 || y < 0 || x >= g.width || y >= g.height {
		return nil
	}
	return &g.cells[y*g.width+x]
}

// put writes s at x, in at most room cells, and returns the column after it.
// Text that does not fit is cut and ends with "…". Cells never hold control
// characters.
func (g *grid) put(x, y, room int, s string, st style) int {
	s = format.Clean(s)
	room = min(room, g.width-x)
	cut := displaywidth.String(s) > room
	if cut {
		room-- // for the …
	}
	from := x
	each := displaywidth.StringGraphemes(s)
	for each.Next() {
		text, width := each.Value(), each.Width()
		if width == 0 {
			continue // a mark without a letter
		}
		if x+width > from+room {
			break
		}
		g.set(x, y, cell{text, st})
		for i := 1; i < width; i++ {
			g.set(x+i, y, cell{"", st})
		}
		x += width
	}
	if cut && room >= 0 {
		g.set(x, y, cell{"…", st})
		x++
	}
	return x
}

// right writes s so that it ends before x+room.
func (g *grid) right(x, y, room int, s string, st style) {
	g.put(x+max(0, room-displaywidth.String(s)), y, room, s, st)
}

func (g *grid) set(x, y int, c cell) {
	if at := g.at(x, y); at != nil {
		*at = c
	}
}

// paint sets the style of a row, except for emphasized cells.
func (g *grid) paint(y int, st style) {
	for x := range g.width {
		if c := g.at(x, y); c != nil && (st == chosen || st == bar || c.style == plain) {
			c.style = st
		}
	}
}

// fade makes everything drawn so far secondary.
func (g *grid) fade() {
	for i := range g.cells {
		g.cells[i].style = soft
	}
}

// copy copies rows of another grid, starting at first.
func (g *grid) copy(y, rows int, from *grid, first int) {
	for row := range rows {
		for x := range min(g.width, from.width) {
			if c := from.at(x, first+row); c != nil {
				g.set(x, y+row, *c)
			}
		}
	}
}

// eighths and horizontal are bars of zero to eight eighths of a cell, upward
// and to the right.
var (
	eighths    = []rune(" ▁▂▃▄▅▆▇█")
	horizontal = []rune(" ▏▎▍▌▋▊▉█")
)

// spark draws the last values as bars relative to top, or to their maximum if
// top is 0. The latest value is at the right end. Any value other than 0 is
// visible.
func (g *grid) spark(x, y, width, height int, values []float64, top float64, st style) {
	values = values[max(0, len(values)-width):]
	if top <= 0 {
		for _, v := range values {
			top = max(top, v)
		}
	}
	for i, v := range values {
		column := x + width - len(values) + i
		parts := 0
		if v > 0 && top > 0 {
			parts = max(1, int(min(1, v/top)*float64(8*height)+0.5))
		}
		for row := range height {
			filled := min(8, max(0, parts-8*row))
			if filled == 0 && row > 0 {
				continue
			}
			if filled == 0 {
				g.set(column, y+height-1, cell{"▁", soft}) // the baseline, so that 0 differs from a missing value
				continue
			}
			g.set(column, y+height-1-row, cell{string(eighths[filled]), st})
		}
	}
}

// gauge draws part of most as a bar of width cells. Any part other than 0 is
// visible.
func (g *grid) gauge(x, y, width int, part, most float64, st style) {
	parts := 0
	if part > 0 && most > 0 {
		parts = max(1, int(min(1, part/most)*float64(8*width)+0.5))
	}
	for i := range width {
		if filled := min(8, parts-8*i); filled > 0 {
			g.set(x+i, y, cell{string(horizontal[filled]), st})
		} else {
			g.set(x+i, y, cell{"·", soft})
		}
	}
}
