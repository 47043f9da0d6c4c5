package watch

import (
	"fmt"
	"strings"

	"github.com/sluice-go/sluice/cmd/sluice/internal/format"
	"github.com/sluice-go/sluice/debug"
)

// A body is what a channel's own view draws on, from top to bottom. It may be higher
// than the screen.
type body struct {
	*grid
	y int
}

// maxBody is more than any channel takes, in lines.
const maxBody = 64

// labelled is where things begin that have a label, in cells.
const labelled = 12

// drawChannel draws the channel that is open, nil before it is known.
func (m *model) drawChannel(width int) *grid {
	if m.report == nil || len(m.report.Channels) == 0 {
		return nil
	}
	c := &m.report.Channels[0]
	b := &body{grid: newGrid(width, maxBody)}
	x := b.put(0, b.y, width, c.Name, strong)
	if about := fmt.Sprintf("  %s %d%s", c.Kind, c.ID, either(c.Closed, ", closed", "")); x+len(about) <= width {
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

// drawn is what is drawn of a body.
func (b *body) drawn() *grid { return &grid{b.width, b.y, b.cells[:b.width*b.y]} }

func (b *body) label(text string) { b.put(0, b.y, labelled-1, text, soft) }

// inside draws who waits to send, what is queued, and who waits to receive. What is not
// told of a channel of a foreign kind is left out.
func (b *body) inside(c *debug.Channel) {
	in := c.Inside
	if in == nil {
		in = &debug.Inside{}
	}
	b.waiting("senders", &c.Senders, in.Senders)
	switch {
	case c.Kind == "Bounded" && len(in.Rings) == 1 && in.Rings[0].Slots > 0:
		b.ring(in.Rings[0])
	case len(in.Lanes) > 0:
		b.lanes(c, in.Lanes)
	case c.Cap != nil && *c.Cap == 0:
		b.label("hand over")
		b.put(labelled, b.y, b.width-labelled, "no slots: a value goes from hand to hand", plain)
		b.y++
	default:
		b.tank(c)
	}
	b.waiting("receivers", &c.Receivers, in.Receivers)
}

// maxCircles is how many of those who wait are drawn one by one.
const maxCircles = 12

func (b *body) waiting(who string, w *debug.Waiting, ages []float64) {
	b.label(who)
	defer func() { b.y++ }()
	if w.Now <= 0 {
		b.put(labelled, b.y, b.width-labelled, "none waits", soft)
		return
	}
	room := b.width - labelled
	circles := min(w.Now, maxCircles, max(1, room/4))
	text := " wait"
	if w.Now > circles {
		text = fmt.Sprintf(" and %s more wait", short(float64(w.Now-circles)))
	}
	first := ""
	switch {
	case len(ages) > 1:
		text, first = text+", since ", seconds(ages[0])
	case w.Since > 0:
		text, first = text+", the first since ", seconds(w.Since)
	}
	if circles+len(text)+len(first) > room && w.Since > 0 { // for how long says more than circles do
		b.put(labelled, b.y, room, fmt.Sprintf("%s wait, first since %s", short(float64(w.Now)), seconds(w.Since)), hot)
		return
	}
	text += first
	for _, age := range ages[min(1, len(ages)):min(len(ages), circles)] {
		text += " " + seconds(age)
	}
	x := b.put(labelled, b.y, room, strings.Repeat("○", circles), hot)
	b.put(x, b.y, b.width-x, text, plain)
}

// ring draws slots in a row, of which the first follows the last. The arrow from above
// is where the next value is sent to, that from below where the next one is received
// from. Of many slots, several share a cell.
func (b *body) ring(r debug.Ring) {
	width := max(1, b.width-labelled-1)
	per := 1 // cells a slot
	if r.Slots < width {
		per = min(4, width/r.Slots)
		width = per * r.Slots
	}
	place := func(slot int) int { return labelled + int(float64(width)*(float64(slot)+0.5)/float64(r.Slots)) }
	length, send, receive := clamp(r.Len, r.Slots), clamp(r.Send, r.Slots-1), clamp(r.Receive, r.Slots-1)
	b.arrow(place(send), "▼", "send index "+whole(send), values)
	b.label("slots")
	for i := range width {
		// A cell is of the slots from here on; it is filled if one of them is.
		from := min(int(float64(i)/float64(width)*float64(r.Slots)), r.Slots-1)
		more := int(float64(i+1)/float64(width)*float64(r.Slots)) - from
		behind := from - receive
		if behind < 0 {
			behind += r.Slots
		}
		last := per > 1 && i%per == per-1 // cell of a slot
		if behind < length || length > 0 && behind > r.Slots-more {
			b.set(labelled+i, b.y, cell{either(last, "▊", "█"), values})
		} else {
			b.set(labelled+i, b.y, cell{either(last, "┊", "░"), soft})
		}
	}
	b.y++
	b.arrow(place(receive), "▲", "receive index "+whole(receive), outward)
	b.put(labelled, b.y, b.width-labelled, fmt.Sprintf("%s of %s slots filled", whole(length), whole(r.Slots)), plain)
	b.y++
}

func clamp(v, most int) int { return max(0, min(v, most)) }

// arrow draws an arrow and what it is, to its right if there is room.
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

// tank draws what is queued without a ring of slots to show.
func (b *body) tank(c *debug.Channel) {
	b.label("queued")
	width := min(60, max(1, b.width-labelled-1))
	full := most(c)
	b.gauge(labelled, b.y, width, float64(c.Len), full, values)
	if mark := int(float64(width) * float64(c.HighWater) / full); c.HighWater > c.Len && mark < width {
		b.set(labelled+max(0, mark), b.y, cell{"│", hot})
	}
	b.y++
	text := fmt.Sprintf("%s queued, at most %s so far; ", whole(c.Len), whole(c.HighWater))
	if c.Cap == nil {
		text += "no limit"
	} else {
		text += "limit " + whole(*c.Cap)
	}
	b.put(labelled, b.y, b.width-labelled, text, plain)
	b.y++
}

// maxLanes is how many are drawn one by one.
const maxLanes = 12

// lanes draws what each lane holds, and who waits for room in it and in no other.
func (b *body) lanes(c *debug.Channel, lanes []debug.Lane) {
	width := max(1, min(30, (b.width-labelled)/3))
	for i, lane := range lanes[:min(maxLanes, len(lanes))] {
		b.label(fmt.Sprintf("lane %d", i))
		full := max(1, float64(c.HighWater))
		if lane.Cap != nil && float64(*lane.Cap) <= 16*full {
			full = max(1, float64(*lane.Cap))
		}
		b.gauge(labelled, b.y, width, float64(lane.Len), full, values)
		text := short(float64(lane.Len))
		if lane.Cap != nil {
			text += "/" + short(float64(*lane.Cap))
		}
		text += either(lane.Private, ", private", "") + either(lane.InUse, "", ", not in use")
		x := b.put(labelled+width+1, b.y, b.width-labelled-width-1, text, either(lane.InUse, plain, soft))
		if lane.Senders > 0 {
			b.put(x, b.y, b.width-x, fmt.Sprintf(", %s wait since %s", short(float64(lane.Senders)), seconds(lane.OldestSender)), hot)
		}
		b.y++
	}
	text := fmt.Sprintf("%s lanes in use, ", whole(c.Lanes))
	if len(lanes) > maxLanes {
		text += fmt.Sprintf("%d drawn, ", maxLanes)
	}
	text += fmt.Sprintf("%s queued in all, at most %s in one", whole(c.Len), whole(c.HighWater))
	b.put(labelled, b.y, b.width-labelled, text, plain)
	b.y++
}

// lines draws how it went.
func (b *body) lines(c *debug.Channel, h *history, height int) {
	width := min(remembered, max(1, b.width-labelled-8))
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
		b.spark(labelled+5, b.y-height+1, width-1, height, line.values, line.top, line.style)
		b.y++
	}
}

// figures are all that is known, one a line.
func (b *body) figures(c *debug.Channel) {
	side := func(w *debug.Waiting) string {
		text := fmt.Sprintf("%s waits, %s in all", short(float64(w.Waits)), seconds(w.Total))
		if w.Mean != nil && *w.Mean > 0 {
			text += fmt.Sprintf(", lately %s each", seconds(*w.Mean))
		}
		return text
	}
	dropped := whole(c.Dropped)
	if c.DroppedRate != nil && *c.DroppedRate > 0 {
		dropped += ", " + short(*c.DroppedRate) + "/s"
	}
	capacity := "unlimited"
	if c.Cap != nil {
		capacity = whole(*c.Cap)
	}
	figures := [][2]string{
		{"sent", whole(c.Sent)}, {"received", whole(c.Received)}, {"dropped", dropped},
		{"senders", side(&c.Senders)}, {"receivers", side(&c.Receivers)},
		{"capacity", capacity}, {"high water", whole(c.HighWater)}, {"memory", size(c.Bytes)},
	}
	for _, more := range [][2]string{
		{"lanes", c.LaneChange}, {"on disk", either(c.BytesOnDisk != 0, size(c.BytesOnDisk), "")}, {"warning", c.Warning},
		{"ready", either(c.Inside != nil && c.Inside.Ready, "in use: who waits for it in a native select is in no line", "")},
	} {
		if more[1] != "" {
			figures = append(figures, more)
		}
	}
	for _, f := range figures {
		b.pair(f[0], f[1])
	}
}

// maxLines is how many lines a text takes at most: it may be from a service.
const maxLines = 4

// pair writes a label and a text after it, on as many lines as that needs.
func (b *body) pair(label, text string) {
	b.label(label)
	lines := strings.Split(strings.TrimSuffix(format.Wrap(clean(text), b.width-labelled, 0, ""), "\n"), "\n")
	for _, line := range lines[:min(maxLines, len(lines))] {
		b.put(labelled, b.y, b.width-labelled, line, plain)
		b.y++
	}
}
