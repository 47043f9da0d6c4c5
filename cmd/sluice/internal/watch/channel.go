package watch

import (
	"fmt"
	"strings"

	"github.com/sluice-go/sluice/cmd/sluice/internal/flowmap"
	"github.com/sluice-go/sluice/cmd/sluice/internal/format"
	"github.com/sluice-go/sluice/livepage"
)

// labeled is the column where labeled text starts.
const labeled = 12

// drawChannel draws the open channel, or returns nil before its first report.
func (m *model) drawChannel() *canvas {
	if m.report == nil || len(m.report.Channels) == 0 {
		return nil
	}
	c, v := &m.report.Channels[0], newCanvas(m.width, 0)
	name := v.add().write(c.Name, strong)
	if about := fmt.Sprintf("  %s, ID %d", kindOf(c), c.ID); name.used+len(about) <= v.width {
		name.write(about, soft)
	} else {
		v.add().write(strings.TrimSpace(about), soft)
	}
	v.add()
	v.inside(c)
	v.add()
	if h := m.past[c.ID]; h != nil {
		v.lines(c, h, either(m.height >= 34, 3, 1))
	}
	v.add()
	v.figures(c)
	return v
}

// label adds a row with a label. Text follows at column labeled.
func (v *canvas) label(text string) *row { return v.add().put(labeled-1, text, soft).at(labeled) }

// inside draws the waiting senders, the queue, and the waiting receivers. It
// omits what a channel of another kind does not report.
func (v *canvas) inside(c *livepage.Channel) {
	in := c.Snapshot
	if in == nil {
		in = &livepage.Snapshot{}
	}
	v.waiting("senders", &c.Senders, in.Senders)
	switch {
	case c.Kind == "Bounded" && len(in.Rings) == 1 && in.Rings[0].Slots > 0:
		v.ring(c, in.Rings[0])
	case len(in.Lanes) > 0:
		v.lanes(c, in.Lanes)
	case c.Cap != nil && *c.Cap == 0:
		v.label("hand-off").write("no slots: a sender hands its value to a receiver", plain)
	default:
		v.queue(c)
	}
	v.waiting("receivers", &c.Receivers, in.Receivers)
}

// maxCircles is the number of waiting goroutines that are drawn individually.
const maxCircles = 12

func (v *canvas) waiting(label string, w *livepage.Waiting, ages []float64) {
	r := v.label(label)
	if w.Now <= 0 {
		r.write("none waiting", soft)
		return
	}
	room := v.width - labeled
	circles := min(w.Now, maxCircles, max(1, room/4))
	text, first := " waiting", ""
	if w.Now > circles {
		text = fmt.Sprintf(" and %s more waiting", format.Compact(float64(w.Now-circles)))
	}
	switch {
	case len(ages) > 1:
		text, first = text+", for ", format.CompactSeconds(ages[0])
	case w.Since > 0:
		text, first = text+", the first for ", format.CompactSeconds(w.Since)
	}
	if circles+len(text)+len(first) > room && w.Since > 0 { // the duration is more important than the circles
		r.write(fmt.Sprintf("%s waiting, first for %s", format.Compact(float64(w.Now)), format.CompactSeconds(w.Since)), hot)
		return
	}
	text += first
	for _, age := range ages[min(1, len(ages)):min(len(ages), circles)] {
		text += " " + format.CompactSeconds(age)
	}
	r.write(strings.Repeat("○", circles), hot).write(text, plain)
}

// ring draws the slots of a ring. The upper arrow marks the next slot to send
// to, the lower one the next slot to receive from. With many slots, several
// share a cell.
func (v *canvas) ring(c *livepage.Channel, ring livepage.Ring) {
	width := max(1, v.width-labeled-1)
	per := 1 // cells per slot
	if ring.Slots < width {
		per = min(4, width/ring.Slots)
		width = per * ring.Slots
	}
	place := func(slot int) int { return labeled + int(float64(width)*(float64(slot)+0.5)/float64(ring.Slots)) }
	length, send, receive := clamp(ring.Len, ring.Slots), clamp(ring.Send, ring.Slots-1), clamp(ring.Receive, ring.Slots-1)
	v.arrow(place(send), "▼", "send index "+format.Thousands(send), values)
	slots := v.label("slots")
	for i := range width {
		// A cell covers the slots from here on, and is filled if any of them
		// is.
		from := min(int(float64(i)/float64(width)*float64(ring.Slots)), ring.Slots-1)
		more := int(float64(i+1)/float64(width)*float64(ring.Slots)) - from
		behind := from - receive
		if behind < 0 {
			behind += ring.Slots
		}
		last := per > 1 && i%per == per-1 // cell of a slot
		if behind < length || length > 0 && behind > ring.Slots-more {
			slots.write(either(last, "▊", "█"), either(nearlyFull(c), hot, values))
		} else {
			slots.write(either(last, "┊", "░"), soft)
		}
	}
	v.arrow(place(receive), "▲", "receive index "+format.Thousands(receive), outward)
	v.label("").write(fmt.Sprintf("%s of %s slots filled%s", format.Thousands(length), format.Thousands(ring.Slots), oldest(c)), plain)
}

func clamp(v, most int) int { return max(0, min(v, most)) }

// arrow draws an arrow and its label, to its right if there is room.
func (v *canvas) arrow(x int, head, text string, role flowmap.Role) {
	r := v.add()
	if x+2+len(text) <= v.width {
		r.at(x).write(head, role).at(x+2).write(text, soft)
	} else {
		r.right(x-1, x-1, text, soft).at(x).write(head, role)
	}
}

// queue draws a queue without a ring of slots.
func (v *canvas) queue(c *livepage.Channel) {
	width, full := min(60, max(1, v.width-labeled-1)), most(c.Cap, c.HighWater)
	cells := gauge(width, float64(c.Len), full, either(nearlyFull(c), hot, values))
	if mark := int(float64(width) * float64(c.HighWater) / full); c.HighWater > c.Len && mark < width {
		cells[max(0, mark)] = flowmap.Span{Text: "│", Role: hot}
	}
	v.label("queued").append(cells...)
	limit := "no limit"
	if c.Cap != nil {
		limit = "limit " + format.Thousands(*c.Cap)
	}
	v.label("").write(fmt.Sprintf("%s queued%s, high-water mark %s; %s", format.Thousands(c.Len), oldest(c), format.Thousands(c.HighWater), limit), plain)
}

// maxLanes is the number of lanes that are drawn individually.
const maxLanes = 12

// lanes draws the queue of each lane, or of each level of a Priority, and its waiting senders.
func (v *canvas) lanes(c *livepage.Channel, lanes []livepage.Lane) {
	width := max(1, min(30, (v.width-labeled)/3))
	levels := c.Kind == "Priority" // which share a limit
	for i, lane := range lanes[:min(maxLanes, len(lanes))] {
		text := format.Compact(float64(lane.Len))
		if lane.Cap != nil && !levels {
			text += "/" + format.Compact(float64(*lane.Cap))
		}
		text += either(lane.Private, ", private", "") + either(lane.InUse, "", either(levels, ", closed", ", unused"))
		r := v.label(fmt.Sprintf("%s %d", either(levels, "level", "lane"), i)).append(gauge(width, float64(lane.Len), most(lane.Cap, c.HighWater), values)...)
		r.write(" ", plain).write(text, either(lane.InUse, plain, soft))
		if lane.Senders > 0 {
			r.write(fmt.Sprintf(", %s waiting, first for %s", format.Compact(float64(lane.Senders)), format.CompactSeconds(lane.OldestSender)), hot)
		}
	}
	text := fmt.Sprintf("%s lanes in use, ", format.Thousands(c.Lanes))
	if levels {
		text = fmt.Sprintf("%s levels, ", format.Thousands(len(lanes)))
	}
	if len(lanes) > maxLanes {
		text += fmt.Sprintf("%d shown, ", maxLanes)
	}
	text += fmt.Sprintf("%s queued in total%s, at most %s%s", format.Thousands(c.Len), oldest(c), format.Thousands(c.HighWater), either(levels, "", " in one"))
	v.label("").write(text, plain)
}

// lines draws the history.
func (v *canvas) lines(c *livepage.Channel, h *history, height int) {
	width := min(remembered, max(1, v.width-labeled-8))
	for i, column := range columns {
		if column.history == nil {
			continue
		}
		figure := columns[i-1]
		what, _, _ := strings.Cut(figure.head, "/")
		now, _ := figure.text(c)
		rows := make([]*row, height) // from the bottom up
		for i := range rows {
			rows[height-1-i] = v.add()
		}
		rows[0].put(5, what, soft).at(5).put(11, now+strings.TrimPrefix(figure.head, what), plain)
		for _, r := range rows {
			r.at(labeled + 5)
		}
		past, top, role := column.history(c, h)
		spark(rows, width-1, past, top, role)
	}
}

// figures draws all figures, one per line.
func (v *canvas) figures(c *livepage.Channel) {
	side := func(w *livepage.Waiting) string {
		text := fmt.Sprintf("%s waits, %s in total", format.Compact(float64(w.Waits)), format.CompactSeconds(w.Total))
		if w.Mean != nil && *w.Mean > 0 {
			text += fmt.Sprintf(", recent mean %s", format.CompactSeconds(*w.Mean))
		}
		return text
	}
	total := func(n uint64, rate *float64) string {
		if rate != nil && *rate > 0 {
			return format.Thousands(n) + ", " + format.Compact(*rate) + "/s"
		}
		return format.Thousands(n)
	}
	capacity := "unlimited"
	if c.Cap != nil {
		capacity = format.Thousands(*c.Cap)
	}
	for _, f := range [][2]string{
		{"sent", format.Thousands(c.Sent)}, {"received", format.Thousands(c.Received)}, {"dropped", total(c.Dropped, c.DroppedRate)},
		{"senders", side(&c.Senders)}, {"receivers", side(&c.Receivers)},
		{"capacity", capacity}, {"high-water", format.Thousands(c.HighWater)}, {"memory", format.Bytes(c.Bytes)},
		{"rejected", either(c.Rejected > 0, total(c.Rejected, c.RejectedRate), "")},
		{"lanes", c.LaneChange}, {"on disk", either(c.BytesOnDisk != 0, format.Bytes(c.BytesOnDisk), "")}, {"warning", c.Warning}, {"no answer", c.Unanswered},
		{"ready", either(c.Snapshot != nil && c.Snapshot.Ready, "in use: goroutines that wait for it in a native select are not counted", "")},
	} {
		if f[1] != "" {
			v.pair(f[0], f[1])
		}
	}
}

// pair writes a label and a text, on as many lines as needed.
func (v *canvas) pair(label, text string) {
	for i, line := range few(text, v.width-labeled) {
		v.label(either(i == 0, label, "")).write(line, plain)
	}
}
