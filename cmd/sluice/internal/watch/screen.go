package watch

import (
	"fmt"
	"strings"

	"github.com/clipperhouse/displaywidth"

	"github.com/sluice-go/sluice/cmd/sluice/internal/format"
)

// draw draws the whole screen: the title, the state, the content, and the keys
// at the bottom.
func (m *model) draw() *canvas {
	c := newCanvas(m.width, m.height)
	state := 1
	switch {
	case m.help:
		view := newCanvas(m.width, 0)
		for _, h := range help {
			view.pair(h[0], h[1])
		}
		m.drawScrolled(c, view)
	case m.open != 0:
		if view := m.drawChannel(); view != nil {
			m.drawScrolled(c, view)
		}
	case m.mapped:
		m.drawScrolled(c, m.drawMap())
	default:
		if m.wrong == nil { // otherwise the error is there
			state += m.flowRows()
			m.drawFlow(c.rows[min(1, len(c.rows)):min(state, len(c.rows))])
		}
		m.drawList(c, 2+m.flowRows())
	}
	if m.wrong != nil {
		c.fade() // it is outdated
	}
	m.drawState(c, state)
	m.drawTitle(c.row(0))
	m.drawKeys(c.row(m.height - 1))
	return c
}

func (m *model) drawTitle(r *row) {
	r.write(" sluice  "+m.service, strong)
	if m.report != nil {
		right := fmt.Sprintf("%s channels  %s ", format.Thousands(m.report.Named), m.report.Time.Local().Format("15:04:05"))
		if r.used+2+displaywidth.String(right) <= r.width {
			r.right(r.width, r.width, right, plain)
		}
	}
	r.at(r.width).paint(bar)
}

// drawState draws the error, or above the list what it shows.
func (m *model) drawState(c *canvas, y int) {
	r := c.row(y)
	switch {
	case m.typing:
		r.write("name contains: "+m.query.Filter+"▏", strong)
	case m.wrong != nil:
		text := m.wrong.Error()
		if m.pause > 0 {
			text = fmt.Sprintf("retrying every %s: %s", m.pause, m.wrong)
		}
		for i, line := range few(text, m.width) { // over what is there
			r := c.row(y + i)
			*r = row{width: r.width}
			r.write(line, hot)
		}
	case m.paused:
		r.write("paused: press space to continue", hot)
	case m.report == nil:
		r.write("loading", soft)
	case m.help || m.open != 0 || m.mapped:
	default:
		r.write(m.listState(), soft)
		s, _ := m.query.sorting()
		if hidden := missing(m.width, s.key); hidden != "" {
			if r.used+2+displaywidth.String(hidden) > m.width {
				hidden, _, _ = strings.Cut(" +"+hidden, " hidden")
			}
			r.over(hidden, strong)
		}
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
func (m *model) drawKeys(r *row) {
	keys := []string{"q quit", "? help", "m map", "⏎ open", "/ filter", "s sort", "o order", "t kind", "n p page", "space pause"}
	switch {
	case m.typing:
		keys = []string{"⏎ keep", "esc undo", "^U clear"}
	case m.mapped && m.open == 0 && !m.help:
		keys = []string{"q quit", "? help", "m list", "↑↓ scroll", "space pause"}
	case m.help || m.open != 0:
		keys = []string{"q quit", "esc back", "↑↓ scroll", "space pause"}
	}
	*r = row{width: r.width}
	for _, k := range keys {
		if r.used+2+displaywidth.String(k) > r.width {
			break
		}
		r.write(" "+k+" ", soft)
	}
	r.at(r.width).paint(bar)
}

// drawScrolled draws the visible part of a view.
func (m *model) drawScrolled(c, view *canvas) {
	room := max(0, m.height-3)
	m.scroll = max(0, min(m.scroll, len(view.rows)-room))
	for i, r := range view.rows[m.scroll:min(m.scroll+room, len(view.rows))] {
		*c.row(2 + i) = *r
	}
	if left := len(view.rows) - room - m.scroll; left > 0 {
		c.row(m.height-2).over(fmt.Sprintf(" ↓ %d more lines", left+1), soft)
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
