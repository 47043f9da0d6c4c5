package watch

import (
	"fmt"
	"strings"

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
	case m.mapped:
		m.drawScrolled(g, m.drawMap(g.width))
	default:
		if m.wrong == nil { // otherwise the error is there
			m.drawFlow(g, 1)
		}
		m.drawList(g, 2+m.flowRows())
	}
	if m.wrong != nil {
		g.fade() // it is outdated
	}
	m.drawState(g)
	m.drawTitle(g)
	m.drawKeys(g, g.height-1)
	return g
}

func (m *model) drawTitle(g *grid) {
	left := " sluice  " + m.service
	x := g.put(0, 0, g.width, left, strong)
	if m.report != nil {
		right := fmt.Sprintf("%s channels  %s ", format.Thousands(m.report.Named), m.report.Time.Local().Format("15:04:05"))
		if x+2+displaywidth.String(right) <= g.width {
			g.right(x, 0, g.width-x, right, plain)
		}
	}
	g.paint(0, bar)
}

// maxWrongLines limits the lines of an error.
const maxWrongLines = 4

// drawState draws the error, or above the list what it shows.
func (m *model) drawState(g *grid) {
	y := 1
	if m.wrong == nil && !m.help && !m.mapped && m.open == 0 {
		y += m.flowRows()
	}
	switch {
	case m.typing:
		g.put(0, y, g.width, "name contains: "+m.query.Filter+"▏", strong)
	case m.wrong != nil && m.pause > 0:
		m.drawWrong(g, y, fmt.Sprintf("retrying every %s: %s", m.pause, m.wrong))
	case m.wrong != nil:
		m.drawWrong(g, y, m.wrong.Error())
	case m.paused:
		g.put(0, y, g.width, "paused: press space to continue", hot)
	case m.report == nil:
		g.put(0, y, g.width, "loading", soft)
	case m.help || m.open != 0 || m.mapped:
	default:
		x := g.put(0, y, g.width, m.listState(), soft)
		s, _ := m.query.sorting()
		if hidden := missing(g.width, s.key); x+2+displaywidth.String(hidden) <= g.width {
			g.right(x, y, g.width-x, hidden, strong)
		} else if hidden != "" {
			hidden, _, _ = strings.Cut(" +"+hidden, " hidden")
			from := max(0, g.width-displaywidth.String(hidden))
			g.put(from, y, g.width-from, hidden, strong)
		}
	}
}

// drawWrong draws an error over what is below it.
func (m *model) drawWrong(g *grid, y int, text string) {
	all := lines(format.Clean(text), g.width)
	for i, line := range all[:min(maxWrongLines, len(all))] {
		g.put(0, y+i, g.width, fmt.Sprintf("%-*s", g.width, line), hot)
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
	keys := []string{"q quit", "? help", "m map", "⏎ open", "/ filter", "s sort", "o order", "t kind", "n p page", "space pause"}
	switch {
	case m.typing:
		keys = []string{"⏎ keep", "esc undo", "^U clear"}
	case m.mapped && m.open == 0 && !m.help:
		keys = []string{"q quit", "? help", "m list", "↑↓ scroll", "space pause"}
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
	{"m", "the map of functions and channels, or the list"},
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
	{"dropped", "values dropped so far"},
	{"senders", "goroutines waiting to send; receivers: to receive"},
	{"since", "how long the first waiter has waited; ~ recent mean of ended waits"},
	{"oldest", "age of the oldest queued value: ≈ estimated, ≥ and < bounds"},
	{"full in", "time until the channel is full at the present rates"},
	{"fill", "queued/capacity or limit; in color from 80% full"},
	{"high", "high-water mark of queued values"},
	{"▁▃█", "one report each, the latest at the right"},
}

func drawHelp(width int) *grid {
	b := &body{grid: newGrid(width, maxBody)}
	for _, h := range help {
		b.pair(h[0], h[1])
	}
	return b.drawn()
}
