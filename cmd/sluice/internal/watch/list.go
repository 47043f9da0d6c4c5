package watch

import (
	"cmp"
	"fmt"
	"slices"
	"sync"

	"github.com/sluice-go/sluice/cmd/sluice/internal/flowmap"
	"github.com/sluice-go/sluice/cmd/sluice/internal/format"
	"github.com/sluice-go/sluice/livepage"
)

// A column of the list, in the order and the words of the live page. The columns
// of the lowest rank are shown if there is little room: dropped values first of
// all, because nobody looks for a loss that is hidden.
type column struct {
	head  string // empty for a history
	sort  string // the sorting of this column
	width int
	rank  int
	draw  func(g *grid, x, y, width int, c *livepage.Channel, h *history)
}

const (
	minName  = 16 // cells, on screens that are at least four times as wide
	maxName  = 48
	forNames = 5 // names get at least one part in forNames of the width
)

// columns are the columns after the name, from left to right.
var columns = []column{
	{"kind", "kind", 16, 9, func(g *grid, x, y, w int, c *livepage.Channel, _ *history) { g.put(x, y, w, kindOf(c), soft) }},
	{"fill", "fill", 11, 2, func(g *grid, x, y, w int, c *livepage.Channel, _ *history) {
		g.right(x, y, w, filled(c), either(nearlyFull(c), hot, plain))
	}},
	{"", "fill", 8, 10, func(g *grid, x, y, w int, c *livepage.Channel, h *history) {
		g.spark(x, y, w, 1, h.fill, most(c), values)
	}},
	{"full in", "", 7, 8, func(g *grid, x, y, w int, c *livepage.Channel, _ *history) {
		g.right(x, y, w, fullIn(c), either(nearlyFull(c), hot, plain))
	}},
	{"in/s", "sent", 5, 3, func(g *grid, x, y, w int, c *livepage.Channel, _ *history) { g.right(x, y, w, rate(c.SentRate), plain) }},
	{"", "sent", 12, 16, func(g *grid, x, y, w int, _ *livepage.Channel, h *history) { g.spark(x, y, w, 1, h.sent, 0, values) }},
	{"out/s", "received", 5, 4, func(g *grid, x, y, w int, c *livepage.Channel, _ *history) {
		g.right(x, y, w, rate(c.ReceivedRate), plain)
	}},
	{"", "received", 12, 17, func(g *grid, x, y, w int, _ *livepage.Channel, h *history) {
		g.spark(x, y, w, 1, h.arrived, 0, outward)
	}},
	{"dropped", "dropped", 7, 1, func(g *grid, x, y, w int, c *livepage.Channel, _ *history) {
		g.right(x, y, w, format.Compact(float64(c.Dropped)), either(c.DroppedRate != nil && *c.DroppedRate > 0, hot, plain))
	}},
	{"senders", "senders", 7, 5, func(g *grid, x, y, w int, c *livepage.Channel, _ *history) {
		g.right(x, y, w, format.Compact(float64(c.Senders.Now)), either(c.Senders.Now > 0, hot, plain))
	}},
	{"since", "oldestsender", 6, 11, func(g *grid, x, y, w int, c *livepage.Channel, _ *history) {
		g.right(x, y, w, howLong(&c.Senders), soft)
	}},
	{"receivers", "receivers", 9, 6, func(g *grid, x, y, w int, c *livepage.Channel, _ *history) {
		g.right(x, y, w, format.Compact(float64(c.Receivers.Now)), plain)
	}},
	{"since", "oldestreceiver", 6, 12, func(g *grid, x, y, w int, c *livepage.Channel, _ *history) {
		g.right(x, y, w, howLong(&c.Receivers), soft)
	}},
	{"oldest", "oldestvalue", 7, 7, func(g *grid, x, y, w int, c *livepage.Channel, _ *history) {
		g.right(x, y, w, flowmap.Oldest(&c.Age), soft)
	}},
	{"high", "high", 5, 13, func(g *grid, x, y, w int, c *livepage.Channel, _ *history) {
		g.right(x, y, w, queued(c.HighWater), plain)
	}},
	{"memory", "bytes", 9, 14, func(g *grid, x, y, w int, c *livepage.Channel, _ *history) {
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
func most(c *livepage.Channel) float64 {
	if c.Cap == nil || float64(*c.Cap) > 16*max(1, float64(c.HighWater)) {
		return max(1, float64(c.HighWater))
	}
	return float64(*c.Cap)
}

// rankOf returns the rank of a column. The sorted column comes right after the
// dropped values, since the order makes no sense without it.
func rankOf(c column, sorted string) int {
	if c.sort == sorted && c.head != "" {
		return min(c.rank, 1)
	}
	return c.rank + 1
}

// fitting returns the columns that fit, and the width of names.
func fitting(width int, sorted string) (shown []column, name int) {
	name = width
	ranked := slices.Clone(columns)
	slices.SortStableFunc(ranked, func(a, b column) int { return cmp.Compare(rankOf(a, sorted), rankOf(b, sorted)) })
	for _, c := range ranked {
		if name-c.width-1 < max(min(minName, width/4), width/forNames) {
			break
		}
		name -= c.width + 1
		shown = append(shown, c)
	}
	slices.SortFunc(shown, func(a, b column) int { return cmp.Compare(place(a), place(b)) })
	return shown, min(name, maxName)
}

// place returns the index of a column.
func place(c column) int {
	return slices.IndexFunc(columns, func(other column) bool { return other.rank == c.rank })
}

// figures returns the number of columns with a head.
func figures(all []column) (n int) {
	for _, c := range all {
		if c.head != "" {
			n++
		}
	}
	return n
}

// missing says how many columns do not fit, and from which width all do; "" if
// none is missing. Histories do not count.
func missing(width int, sorted string) string {
	shown, _ := fitting(width, sorted)
	n := figures(columns) - figures(shown)
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("%s hidden: they need %d", format.Plural(n, "column"), widthOfAll())
}

// widthOfAll returns the smallest width at which all figures fit.
var widthOfAll = sync.OnceValue(func() int {
	for width := 1; ; width++ {
		if all, _ := fitting(width, ""); figures(all) == figures(columns) {
			return width
		}
	}
})

// drawList draws the heads at top, the rows, and the line below them.
func (m *model) drawList(g *grid, top int) {
	sorted, _ := m.query.sorting()
	shown, name := fitting(g.width, sorted.key)
	m.drawHeads(g, top, shown, name)
	for i := range m.rows() {
		y := top + 1 + i
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
		g.put(0, top+1, g.width, text, soft)
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
