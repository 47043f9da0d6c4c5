package watch

import (
	"fmt"
	"strings"

	"github.com/sluice-go/sluice/cmd/sluice/internal/format"
	"github.com/sluice-go/sluice/livepage"
)

// A body is the canvas of a channel's own view, filled from top to bottom. It
// may be taller than the screen.
type body struct {
	*grid
	y int
}

// maxBody is more than the lines of any channel.
const maxBody = 96

// labeled is the column where labeled text starts.
const labeled = 12

// drawChannel draws the open channel, or returns nil before its first report.
func (m *model) drawChannel(width int) *grid {
	if m.report == nil || len(m.report.Channels) == 0 {
		return nil
	}
	c := &m.report.Channels[0]
	b := &body{grid: newGrid(width, maxBody)}
	x := b.put(0, b.y, width, c.Name, strong)
	if about := fmt.Sprintf("  %s, ID %d", kindOf(c), c.ID); x+len(about) <= width {
		b.put(x, b.y, width-x, about, soft)
	} else {
		b.y++
		b.put(0, b.y, width, strings.TrimSpace(about), soft)
	}
	b.y += 2
	b.inside(c)
	b.y++
	if h := m.past[c.ID]; h != nil {
		b.lines(c, h, either(m.height >= 34, 3, 1))
	}
	b.y++
	b.figures(c)
	return b.drawn()
}

// drawn returns the part of b that is filled.
func (b *body) drawn() *grid { return &grid{b.width, b.y, b.cells[:b.width*b.y]} }

func (b *body) label(text string) { b.put(0, b.y, labeled-1, text, soft) }

// inside draws the waiting senders, the queue, and the waiting receivers. It
// omits what a channel of another kind does not report.
func (b *body) inside(c *livepage.Channel) {
	in := c.Snapshot
	if in == nil {
		in = &livepage.Snapshot{}
	}
	b.waiting("senders", &c.Senders, in.Senders)
	switch {
	case c.Kind == "Bounded" && len(in.Rings) == 1 && in.Rings[0].Slots > 0:
		b.ring(c, in.Rings[0])
	case len(in.Lanes) > 0:
		b.lanes(c, in.Lanes)
	case c.Cap != nil && *c.Cap == 0:
		b.label("hand-off")
		b.put(labeled, b.y, b.width-labeled, "no slots: a sender hands its value to a receiver", plain)
		b.y++
	default:
		b.queue(c)
	}
	b.waiting("receivers", &c.Receivers, in.Receivers)
}

// maxCircles is the number of waiting goroutines that are drawn individually.
const maxCircles = 12

func (b *body) waiting(label string, w *livepage.Waiting, ages []float64) {
	b.label(label)
	defer func() { b.y++ }()
	if w.Now <= 0 {
		b.put(labeled, b.y, b.width-labeled, "none waiting", soft)
		return
	}
	room := b.width - labeled
	circles := min(w.Now, maxCircles, max(1, room/4))
	text := " waiting"
	if w.Now > circles {
		text = fmt.Sprintf(" and %s more waiting", format.Compact(float64(w.Now-circles)))
	}
	first := ""
	switch {
	case len(ages) > 1:
		text, first = text+", for ", format.CompactSeconds(ages[0])
	case w.Since > 0:
		text, first = text+", the first for ", format.CompactSeconds(w.Since)
	}
	if circles+len(text)+len(first) > room && w.Since > 0 { // the duration is more important than the circles
		b.put(labeled, b.y, room, fmt.Sprintf("%s waiting, first for %s", format.Compact(float64(w.Now)), format.CompactSeconds(w.Since)), hot)
		return
	}
	text += first
	for _, age := range ages[min(1, len(ages)):min(len(ages), circles)] {
		text += " " + format.CompactSeconds(age)
	}
	x := b.put(labeled, b.y, room, strings.Repeat("○", circles), hot)
	b.put(x, b.y, b.width-x, text, plain)
}

// ring draws the slots of a ring. The upper arrow marks the next slot to send
// to, the lower one the next slot to receive from. With many slots, several
// share a cell.
func (b *body) ring(c *livepage.Channel, r livepage.Ring) {
	width := max(1, b.width-labeled-1)
	per := 1 // cells per slot
	if r.Slots < width {
		per = min(4, width/r.Slots)
		width = per * r.Slots
	}
	place := func(slot int) int { return labeled + int(float64(width)*(float64(slot)+0.5)/float64(r.Slots)) }
	length, send, receive := clamp(r.Len, r.Slots), clamp(r.Send, r.Slots-1), clamp(r.Receive, r.Slots-1)
	b.arrow(place(send), "▼", "send index "+format.Thousands(send), values)
	b.label("slots")
	for i := range width {
		// A cell covers the slots from here on, and is filled if any of them
		// is.
		from := min(int(float64(i)/float64(width)*float64(r.Slots)), r.Slots-1)
		more := int(float64(i+1)/float64(width)*float64(r.Slots)) - from
		behind := from - receive
		if behind < 0 {
			behind += r.Slots
		}
		last := per > 1 && i%per == per-1 // cell of a slot
		if behind < length || length > 0 && behind > r.Slots-more {
			b.set(labeled+i, b.y, cell{either(last, "▊", "█"), either(nearlyFull(c), hot, values)})
		} else {
			b.set(labeled+i, b.y, cell{either(last, "┊", "░"), soft})
		}
	}
	b.y++
	b.arrow(place(receive), "▲", "receive index "+format.Thousands(receive), outward)
	b.put(labeled, b.y, b.width-labeled, fmt.Sprintf("%s of %s slots filled%s", format.Thousands(length), format.Thousands(r.Slots), oldest(c)), plain)
	b.y++
}

func clamp(v, most int) int { return max(0, min(v, most)) }

// arrow draws an arrow and its label, to its right if there is room.
func (b *body) arrow(x int, head, text string, st style) {
	b.set(x, b.y, cell{head, st})
	if x+2+len(text) <= b.width {
		b.put(x+2, b.y, b.width-x-2, text, soft)
	} else {
		from := max(0, x-1-len(text))
		b.put(from, b.y, x-1-from, text, soft)
	}
	b.y++
}

// queue draws a queue without a ring of slots.
func (b *body) queue(c *livepage.Channel) {
	b.label("queued")
	width := min(60, max(1, b.width-labeled-1))
	full := most(c)
	b.gauge(labeled, b.y, width, float64(c.Len), full, either(nearlyFull(c), hot, values))
	if mark := int(float64(width) * float64(c.HighWater) / full); c.HighWater > c.Len && mark < width {
		b.set(labeled+max(0, mark), b.y, cell{"│", hot})
	}
	b.y++
	text := fmt.Sprintf("%s queued%s, high-water mark %s; ", format.Thousands(c.Len), oldest(c), format.Thousands(c.HighWater))
	if c.Cap == nil {
		text += "no limit"
	} else {
		text += "limit " + format.Thousands(*c.Cap)
	}
	b.put(labeled, b.y, b.width-labeled, text, plain)
	b.y++
}

// maxLanes is the number of lanes that are drawn individually.
const maxLanes = 12

// lanes draws the queue of each lane, or of each level of a Priority, and its waiting senders.
func (b *body) lanes(c *livepage.Channel, lanes []livepage.Lane) {
	width := max(1, min(30, (b.width-labeled)/3))
	levels := c.Kind == "Priority" // which share a limit
	for i, lane := range lanes[:min(maxLanes, len(lanes))] {
		b.label(fmt.Sprintf("%s %d", either(levels, "level", "lane"), i))
		full := max(1, float64(c.HighWater))
		if lane.Cap != nil && float64(*lane.Cap) <= 16*full {
			full = max(1, float64(*lane.Cap))
		}
		b.gauge(labeled, b.y, width, float64(lane.Len), full, values)
		text := format.Compact(float64(lane.Len))
		if lane.Cap != nil && !levels {
			text += "/" + format.Compact(float64(*lane.Cap))
		}
		text += either(lane.Private, ", private", "") + either(lane.InUse, "", either(levels, ", closed", ", unused"))
		x := b.put(labeled+width+1, b.y, b.width-labeled-width-1, text, either(lane.InUse, plain, soft))
		if lane.Senders > 0 {
			b.put(x, b.y, b.width-x, fmt.Sprintf(", %s waiting, first for %s", format.Compact(float64(lane.Senders)), format.CompactSeconds(lane.OldestSender)), hot)
		}
		b.y++
	}
	text := fmt.Sprintf("%s lanes in use, ", format.Thousands(c.Lanes))
	if levels {
		text = fmt.Sprintf("%s levels, ", format.Thousands(len(lanes)))
	}
	if len(lanes) > maxLanes {
		text += fmt.Sprintf("%d shown, ", maxLanes)
	}
	text += fmt.Sprintf("%s queued in total%s, at most %s%s", format.Thousands(c.Len), oldest(c), format.Thousands(c.HighWater), either(levels, "", " in one"))
	b.put(labeled, b.y, b.width-labeled, text, plain)
	b.y++
}

// lines draws the history.
func (b *body) lines(c *livepage.Channel, h *history, height int) {
	width := min(remembered, max(1, b.width-labeled-8))
	for _, line := range []struct {
		what, now string
		values    []float64
		top       float64
		style     style
	}{
		{"fill", filled(c), h.fill, most(c), values},
		{"in", rate(c.SentRate) + "/s", h.sent, 0, values},
		{"out", rate(c.ReceivedRate) + "/s", h.arrived, 0, outward},
	} {
		b.y += height - 1
		b.put(0, b.y, 5, line.what, soft)
		b.put(5, b.y, 11, line.now, plain)
		b.spark(labeled+5, b.y-height+1, width-1, height, line.values, line.top, line.style)
		b.y++
	}
}

// figures draws all figures, one per line.
func (b *body) figures(c *livepage.Channel) {
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
	figures := [][2]string{
		{"sent", format.Thousands(c.Sent)}, {"received", format.Thousands(c.Received)}, {"dropped", total(c.Dropped, c.DroppedRate)},
		{"senders", side(&c.Senders)}, {"receivers", side(&c.Receivers)},
		{"capacity", capacity}, {"high-water", format.Thousands(c.HighWater)}, {"memory", format.Bytes(c.Bytes)},
	}
	for _, more := range [][2]string{
		{"rejected", either(c.Rejected > 0, total(c.Rejected, c.RejectedRate), "")},
		{"lanes", c.LaneChange}, {"on disk", either(c.BytesOnDisk != 0, format.Bytes(c.BytesOnDisk), "")}, {"warning", c.Warning}, {"no answer", c.Unanswered},
		{"ready", either(c.Snapshot != nil && c.Snapshot.Ready, "in use: goroutines that wait for it in a native select are not counted", "")},
	} {
		if more[1] != "" {
			figures = append(figures, more)
		}
	}
	for _, f := range figures {
		b.pair(f[0], f[1])
	}
}

// maxLines limits the lines of one text, which may come from a service.
const maxLines = 4

// pair writes a label and a text, on as many lines as needed.
func (b *body) pair(label, text string) {
	b.label(label)
	lines := strings.Split(strings.TrimSuffix(format.Wrap(format.Clean(text), b.width-labeled, 0, ""), "\n"), "\n")
	for _, line := range lines[:min(maxLines, len(lines))] {
		b.put(labeled, b.y, b.width-labeled, line, plain)
		b.y++
	}
}
