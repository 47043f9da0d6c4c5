package watch

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/sluice-go/sluice/cmd/sluice/internal/format"
	"github.com/sluice-go/sluice/debug"
)

// A column of the list. The columns of the lowest rank are shown if there is
// little room.
type column struct {
	head  string
	sort  string // the sorting of this column
	width int
	rank  int
	draw  func(g *grid, x, y, width int, c *debug.Channel, h *history)
}

const (
	minName  = 16 // cells
	maxName  = 48
	forNames = 5 // names get at least one part in forNames of the width
)

// columns are the columns after the name, from left to right.
var columns = []column{
	{"kind", "kind", 10, 6, func(g *grid, x, y, w int, c *debug.Channel, _ *history) { g.put(x, y, w, c.Kind, soft) }},
	{"fill", "fill", 11, 1, func(g *grid, x, y, w int, c *debug.Channel, _ *history) {
		g.right(x, y, w, filled(c), either(isFull(c), hot, plain))
	}},
	{"", "fill", 8, 7, func(g *grid, x, y, w int, c *debug.Channel, h *history) { g.spark(x, y, w, 1, h.fill, most(c), values) }},
	{"in/s", "sent", 5, 2, func(g *grid, x, y, w int, c *debug.Channel, _ *history) { g.right(x, y, w, rate(c.SentRate), plain) }},
	{"", "sent", 12, 9, func(g *grid, x, y, w int, _ *debug.Channel, h *history) { g.spark(x, y, w, 1, h.sent, 0, values) }},
	{"out/s", "received", 5, 3, func(g *grid, x, y, w int, c *debug.Channel, _ *history) {
		g.right(x, y, w, rate(c.ReceivedRate), plain)
	}},
	{"", "received", 12, 10, func(g *grid, x, y, w int, _ *debug.Channel, h *history) { g.spark(x, y, w, 1, h.arrived, 0, outward) }},
	{"drops", "dropped", 5, 8, func(g *grid, x, y, w int, c *debug.Channel, _ *history) {
		g.right(x, y, w, format.Compact(float64(c.Dropped)), either(c.DroppedRate != nil && *c.DroppedRate > 0, hot, plain))
	}},
	{"send", "senders", 5, 4, func(g *grid, x, y, w int, c *debug.Channel, _ *history) {
		g.right(x, y, w, format.Compact(float64(c.Senders.Now)), either(c.Senders.Now > 0, hot, plain))
	}},
	{"since", "oldestsender", 6, 12, func(g *grid, x, y, w int, c *debug.Channel, _ *history) { g.right(x, y, w, howLong(&c.Senders), soft) }},
	{"recv", "receivers", 5, 5, func(g *grid, x, y, w int, c *debug.Channel, _ *history) {
		g.right(x, y, w, format.Compact(float64(c.Receivers.Now)), plain)
	}},
	{"since", "oldestreceiver", 6, 13, func(g *grid, x, y, w int, c *debug.Channel, _ *history) {
		g.right(x, y, w, howLong(&c.Receivers), soft)
	}},
	{"oldest", "oldestvalue", 6, 11, func(g *grid, x, y, w int, c *debug.Channel, _ *history) { g.right(x, y, w, age(c), soft) }},
	{"high", "high", 5, 14, func(g *grid, x, y, w int, c *debug.Channel, _ *history) {
		g.right(x, y, w, format.Compact(float64(c.HighWater)), plain)
	}},
	{"lanes", "lanes", 5, 15, func(g *grid, x, y, w int, c *debug.Channel, _ *history) {
		g.right(x, y, w, format.Compact(float64(c.Lanes)), plain)
	}},
	{"memory", "bytes", 9, 16, func(g *grid, x, y, w int, c *debug.Channel, _ *history) {
		g.right(x, y, w, format.Bytes(c.Bytes), soft)
	}},
}

// either returns a if yes, else b.
func either[T any](yes bool, a, b T) T {
	if yes {
		return a
	}
	return b
}

// most returns the fill at which a bar is full: the capacity, or the high-water
// mark if the capacity is much larger.
func most(c *debug.Channel) float64 {
	if c.Cap == nil || float64(*c.Cap) > 16*max(1, float64(c.HighWater)) {
		return max(1, float64(c.HighWater))
	}
	return float64(*c.Cap)
}

// fitting returns the columns that fit, and the width of names. The sorted
// column always comes first, since the order makes no sense without it.
func fitting(width int, sorted string) (shown []column, name int) {
	rank := func(c column) int {
		if c.sort == sorted && c.head != "" {
			return 0
		}
		return c.rank
	}
	name = width
	ranked := slices.Clone(columns)
	slices.SortFunc(ranked, func(a, b column) int { return cmp.Compare(rank(a), rank(b)) })
	last := -1
	for _, c := range ranked {
		if name-c.width-1 < max(minName, width/forNames) {
			break
		}
		name -= c.width + 1
		last = rank(c)
	}
	for _, c := range columns {
		if rank(c) <= last {
			shown = append(shown, c)
		}
	}
	return shown, min(name, maxName)
}

// drawList draws the rows, and the lines above and below them.
func (m *model) drawList(g *grid) {
	sorted, _ := m.query.sorting()
	shown, name := fitting(g.width, sorted.key)
	m.drawHeads(g, 2, shown, name)
	for i := range m.rows() {
		y := 3 + i
		if y >= g.height-2 {
			break
		}
		c := &m.report.Channels[i]
		h := m.past[c.ID]
		if h == nil {
			h = &history{} // two of the same ID: a service may send anything
		}
		g.put(0, y, name, c.Name, either(c.Closed, soft, strong))
		x := name + 1
		for _, column := range shown {
			column.draw(g, x, y, column.width, c, h)
			x += column.width + 1
		}
		if c.ID == m.chosen {
			g.paint(y, chosen)
		}
	}
	if m.report != nil && m.rows() == 0 {
		text := "No channel matches: Esc shows all."
		if m.report.Named == 0 {
			text = "No channel has a name: set Name in its options."
		}
		g.put(0, 3, g.width, text, soft)
	}
	if m.report != nil {
		g.put(0, g.height-2, g.width, fmt.Sprintf("page %s of %s, %s channels", format.Thousands(m.report.Page), format.Thousands(m.report.Pages), format.Thousands(m.report.Matching)), soft)
	}
}

func (m *model) drawHeads(g *grid, y int, shown []column, name int) {
	sorted, descends := m.query.sorting()
	mark := "▴"
	if descends {
		mark = "▾"
	}
	head := func(x, width int, text, key string, left bool) {
		st := soft
		if key == sorted.key && text != "" {
			text, st = text+mark, strong
		}
		if left {
			g.put(x, y, width, text, st)
		} else {
			g.right(x-1, y, width+1, text, st) // a mark takes the space before
		}
	}
	head(0, name, "name", "name", true)
	x := name + 1
	for _, c := range shown {
		head(x, c.width, c.head, c.sort, c.head == "kind")
		x += c.width + 1
	}
}
