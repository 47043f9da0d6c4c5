package watch

import (
	"fmt"

	"github.com/clipperhouse/displaywidth"
)

// draw draws the whole screen: a line of title, one of state, what is asked for, and
// at the bottom the keys.
func (m *model) draw() *grid {
	g := newGrid(m.width, m.height)
	switch {
	case m.help:
		m.drawScrolled(g, drawHelp(g.width))
	case m.open != 0:
		if body := m.drawChannel(g.width); body != nil {
			m.drawScrolled(g, body)
		}
	default:
		m.drawList(g)
	}
	if m.wrong != nil {
		g.fade() // it is not of now
	}
	m.drawState(g, 1)
	m.drawTitle(g)
	m.drawKeys(g, g.height-1)
	return g
}

func (m *model) drawTitle(g *grid) {
	left := " sluice  " + m.service
	x := g.put(0, 0, g.width, left, strong)
	if m.report != nil {
		right := fmt.Sprintf("%s named  %s ", whole(m.report.Named), m.report.Time.Local().Format("15:04:05"))
		if x+2+displaywidth.String(right) <= g.width {
			g.right(x, 0, g.width-x, right, plain)
		}
	}
	g.paint(0, bar)
}

// drawState says why there is nothing new, or what the list shows.
func (m *model) drawState(g *grid, y int) {
	switch {
	case m.typing:
		g.put(0, y, g.width, "name contains: "+m.query.Filter+"▏", strong)
	case m.wrong != nil && m.pause > 0:
		g.put(0, y, g.width, fmt.Sprintf("%s; asking again every %s", m.wrong, m.pause), hot)
	case m.wrong != nil:
		g.put(0, y, g.width, m.wrong.Error(), hot)
	case m.paused:
		g.put(0, y, g.width, "paused: space goes on", hot)
	case m.report == nil:
		g.put(0, y, g.width, "asking", soft)
	case m.help || m.open != 0:
	default:
		g.put(0, y, g.width, m.listState(), soft)
	}
}

func (m *model) listState() string {
	s, descends := m.query.sorting()
	words := "by " + s.name
	if descends != s.figure {
		words += either(descends, ", descending", ", ascending")
	}
	if m.query.Kind != "" {
		words += "; only " + m.query.Kind
	}
	if m.query.Filter != "" {
		words += fmt.Sprintf("; name contains “%s”", m.query.Filter)
	}
	return words
}

// drawKeys says what the keys do, as far as there is room.
func (m *model) drawKeys(g *grid, y int) {
	keys := []string{"q quit", "? help", "⏎ open", "/ filter", "s sort", "o order", "t kind", "n p page", "space pause"}
	switch {
	case m.typing:
		keys = []string{"⏎ keep", "esc undo", "^U clear"}
	case m.help || m.open != 0:
		keys = []string{"q quit", "esc back", "↑↓ scroll", "space pause"}
	}
	text := ""
	for _, k := range keys {
		if displaywidth.String(text)+2+displaywidth.String(k) > g.width {
			break
		}
		text += " " + k + " "
	}
	g.put(0, y, g.width, text, soft)
	g.paint(y, bar)
}

// drawScrolled shows the part of a body that is scrolled to.
func (m *model) drawScrolled(g *grid, body *grid) {
	room := max(0, g.height-3)
	m.scroll = max(0, min(m.scroll, body.height-room))
	g.copy(2, min(room, body.height), body, m.scroll)
	if left := body.height - room - m.scroll; left > 0 {
		g.right(0, g.height-2, g.width, fmt.Sprintf(" ↓ %d more lines", left+1), soft)
	}
}

// help is what each word stands for.
var help = [][2]string{
	{"↑ ↓ j k", "choose a row; Home, End"},
	{"⏎", "look into the channel; Esc goes back"},
	{"n p", "next page, previous page; PgDn, PgUp"},
	{"/", "show only names that contain a text"},
	{"t", "show one kind, then the next"},
	{"s S", "sort by the next column, by the one before"},
	{"o", "turn the order around"},
	{"Esc", "show all names and kinds"},
	{"space", "pause, go on"},
	{"q Ctrl-C", "quit"},
	{"", ""},
	{"in/s out/s", "values a second, over the last second"},
	{"send recv", "goroutines that wait to send, to receive"},
	{"since", "the first in line has waited so long; ~ mean of the waits that ended lately"},
	{"fill", "queued/capacity or limit"},
	{"high", "most values ever queued"},
	{"drops", "values dropped so far"},
	{"▁▃█", "one look each, the last one at the right"},
}

func drawHelp(width int) *grid {
	b := &body{grid: newGrid(width, maxBody)}
	for _, h := range help {
		b.pair(h[0], h[1])
	}
	return b.drawn()
}
