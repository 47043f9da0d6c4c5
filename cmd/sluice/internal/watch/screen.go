package watch

import (
	"fmt"

	"github.com/clipperhouse/displaywidth"

	"github.com/sluice-go/sluice/cmd/sluice/internal/format"
)

// draw draws the whole screen: the title, the state, the content, and the keys
// at the bottom.
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
		g.fade() // it is outdated
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
		right := fmt.Sprintf("%s named  %s ", format.Thousands(m.report.Named), m.report.Time.Local().Format("15:04:05"))
		if x+2+displaywidth.String(right) <= g.width {
			g.right(x, 0, g.width-x, right, plain)
		}
	}
	g.paint(0, bar)
}

// drawState draws the error, or what the list shows.
func (m *model) drawState(g *grid, y int) {
	switch {
	case m.typing:
		g.put(0, y, g.width, "name contains: "+m.query.Filter+"▏", strong)
	case m.wrong != nil && m.pause > 0:
		g.put(0, y, g.width, fmt.Sprintf("retrying every %s: %s", m.pause, m.wrong), hot)
	case m.wrong != nil:
		g.put(0, y, g.width, m.wrong.Error(), hot)
	case m.paused:
		g.put(0, y, g.width, "paused: press space to continue", hot)
	case m.report == nil:
		g.put(0, y, g.width, "loading", soft)
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

// drawKeys lists as many keys as fit.
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

// drawScrolled draws the visible part of a body.
func (m *model) drawScrolled(g *grid, body *grid) {
	room := max(0, g.height-3)
	m.scroll = max(0, min(m.scroll, body.height-room))
	g.copy(2, min(room, body.height), body, m.scroll)
	if left := body.height - room - m.scroll; left > 0 {
		g.right(0, g.height-2, g.width, fmt.Sprintf(" ↓ %d more lines", left+1), soft)
	}
}

// help explains keys and columns.
var help = [][2]string{
	{"↑ ↓ j k", "select a row; Home, End"},
	{"⏎", "open the channel; Esc returns"},
	{"n p", "next page, previous page; PgDn, PgUp"},
	{"/", "filter by name"},
	{"t", "show one kind, then the next"},
	{"s S", "sort by the next or previous column"},
	{"o", "reverse the order"},
	{"Esc", "clear the filter"},
	{"space", "pause, continue"},
	{"q Ctrl-C", "quit"},
	{"", ""},
	{"in/s out/s", "values per second, over the last second"},
	{"send recv", "goroutines waiting to send, to receive"},
	{"since", "how long the first waiter has waited; ~ recent mean of ended waits"},
	{"oldest", "age of the oldest queued value, a lower bound"},
	{"fill", "queued/capacity or limit"},
	{"high", "high-water mark of queued values"},
	{"drops", "values dropped so far"},
	{"▁▃█", "one report each, the latest at the right"},
}

func drawHelp(width int) *grid {
	b := &body{grid: newGrid(width, maxBody)}
	for _, h := range help {
		b.pair(h[0], h[1])
	}
	return b.drawn()
}
