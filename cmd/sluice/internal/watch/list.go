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

// A column of the list and of the table, in the order and the words of the live page. The
// columns of the lowest rank are shown if there is little room: dropped values first of
// all, because a hidden loss is not looked for.
type column struct {
	head    string // empty for a history
	sort    string // the sorting of this column
	width   int
	rank    int
	text    func(c *livepage.Channel) (text string, role flowmap.Role) // nil for a history
	history func(c *livepage.Channel, h *history) (values []float64, top float64, role flowmap.Role)
}

const (
	minName  = 16 // cells, on screens that are at least four times as wide
	maxName  = 48
	forNames = 5 // names get at least one part in forNames of the width
)

// columns are the columns after the name, from left to right. A history follows its figure.
var columns = []column{
	{"kind", "kind", 16, 9, func(c *livepage.Channel) (string, flowmap.Role) { return kindOf(c), soft }, nil},
	{"fill", "fill", 11, 2, func(c *livepage.Channel) (string, flowmap.Role) {
		return filled(c), either(nearlyFull(c), hot, plain)
	}, nil},
	{"", "fill", 8, 10, nil, func(c *livepage.Channel, h *history) ([]float64, float64, flowmap.Role) {
		return h.fill, most(c.Cap, c.HighWater), values
	}},
	{"full in", "", 7, 8, func(c *livepage.Channel) (string, flowmap.Role) {
		return fullIn(c), either(nearlyFull(c), hot, plain)
	}, nil},
	{"in/s", "sent", 5, 3, func(c *livepage.Channel) (string, flowmap.Role) { return rate(c.SentRate), plain }, nil},
	{"", "sent", 12, 16, nil, func(_ *livepage.Channel, h *history) ([]float64, float64, flowmap.Role) { return h.sent, 0, values }},
	{"out/s", "received", 5, 4, func(c *livepage.Channel) (string, flowmap.Role) { return rate(c.ReceivedRate), plain }, nil},
	{"", "received", 12, 17, nil, func(_ *livepage.Channel, h *history) ([]float64, float64, flowmap.Role) {
		return h.arrived, 0, outward
	}},
	{"dropped", "dropped", 7, 1, func(c *livepage.Channel) (string, flowmap.Role) {
		return format.Compact(float64(c.Dropped)), either(c.DroppedRate != nil && *c.DroppedRate > 0, hot, plain)
	}, nil},
	{"senders", "senders", 7, 5, func(c *livepage.Channel) (string, flowmap.Role) {
		return queued(c.Senders.Now), either(c.Senders.Now > 0, hot, plain)
	}, nil},
	{"since", "oldestsender", 6, 11, func(c *livepage.Channel) (string, flowmap.Role) { return howLong(&c.Senders), soft }, nil},
	{"receivers", "receivers", 9, 6, func(c *livepage.Channel) (string, flowmap.Role) { return queued(c.Receivers.Now), plain }, nil},
	{"since", "oldestreceiver", 6, 12, func(c *livepage.Channel) (string, flowmap.Role) { return howLong(&c.Receivers), soft }, nil},
	{"oldest", "oldestvalue", 7, 7, func(c *livepage.Channel) (string, flowmap.Role) { return flowmap.Oldest(&c.Age), soft }, nil},
	{"high", "high", 5, 13, func(c *livepage.Channel) (string, flowmap.Role) { return queued(c.HighWater), plain }, nil},
	{"memory", "bytes", 9, 14, func(c *livepage.Channel) (string, flowmap.Role) { return format.Bytes(c.Bytes), soft }, nil},
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
func most(capacity *int, highWater int) float64 {
	full := max(1, float64(highWater))
	if capacity == nil || float64(*capacity) > 16*full {
		return full
	}
	return float64(*capacity)
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
	fits := map[int]bool{} // by rank
	for _, c := range slices.SortedStableFunc(slices.Values(columns), func(a, b column) int { return cmp.Compare(rankOf(a, sorted), rankOf(b, sorted)) }) {
		if name-c.width-1 < max(min(minName, width/4), width/forNames) {
			break
		}
		name -= c.width + 1
		fits[c.rank] = true
	}
	for _, c := range columns {
		if fits[c.rank] {
			shown = append(shown, c)
		}
	}
	return shown, min(name, maxName)
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

// missing reports how many columns do not fit, and from which width all do; "" if
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
func (m *model) drawList(to *canvas, top int) {
	sorted, _ := m.query.sorting()
	shown, name := fitting(to.width, sorted.key)
	m.drawHeads(to.row(top), shown, name)
	for i := range min(m.rows(), m.height-2-top-1) {
		r, c := to.row(top+1+i), &m.report.Channels[i]
		h := m.past[c.ID]
		if h == nil {
			h = &history{} // two of the same ID: a service may send anything
		}
		r.put(name, c.Name, either(c.Closed, soft, strong))
		x := name + 1
		for _, column := range shown {
			switch r.at(x); {
			case column.text == nil:
				past, top, role := column.history(c, h)
				spark([]*row{r}, column.width, past, top, role)
			case column.head == leftmost:
				text, role := column.text(c)
				r.put(column.width, text, role)
			default:
				text, role := column.text(c)
				r.right(x+column.width, column.width, text, role)
			}
			x += column.width + 1
		}
		if c.ID == m.chosen {
			r.at(r.width).paint(bar)
		}
	}
	if m.report == nil {
		return
	}
	if m.rows() == 0 {
		to.row(top+1).write(either(m.report.Named == 0, "No channel has a name: set Name in its options.", "No channel matches: Esc shows all."), soft)
	}
	page, pages, matching := format.Thousands(m.report.Page), format.Thousands(m.report.Pages), format.Thousands(m.report.Matching)
	to.row(m.height-2).write(fmt.Sprintf("page %s of %s, %s channels", page, pages, matching), soft)
}

// leftmost is the head of the column beside the name. Its text begins at the left, as names do.
const leftmost = "kind"

func (m *model) drawHeads(r *row, shown []column, name int) {
	sorted, descends := m.query.sorting()
	head := func(text, key string) (string, flowmap.Role) {
		if key == sorted.key && text != "" {
			return text + either(descends, "▾", "▴"), strong
		}
		return text, soft
	}
	text, role := head("name", "name")
	r.put(name, text, role)
	x := name + 1
	for _, c := range shown {
		if text, role := head(c.head, c.sort); c.head == leftmost {
			r.at(x).put(c.width, text, role)
		} else {
			r.right(x+c.width, c.width+1, text, role) // a mark takes the space before
		}
		x += c.width + 1
	}
}
