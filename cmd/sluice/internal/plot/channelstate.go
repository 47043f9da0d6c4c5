package plot

import (
	"fmt"
	"math"
	"strconv"
)

// A ChannelState is drawn as a ring of a few slots, filled from the receive index on,
// with the waiting senders on its left and the waiting receivers on its right. Indices
// are taken modulo the capacity.
type ChannelState struct {
	Title        string `json:"title"`         // such as "Empty"
	Capacity     int    `json:"capacity"`      // slots; a ring has from 2 to 16
	Queued       int    `json:"queued"`        // values in the slots
	SendIndex    int    `json:"send_index"`    // slot of the next value sent
	ReceiveIndex int    `json:"receive_index"` // slot of the next value received
	// Senders and Receivers name the goroutines in either wait queue, its head
	// first. A name of three characters fits; where only their number is known,
	// all are "".
	Senders   []string `json:"senders"`
	Receivers []string `json:"receivers"`
}

// Geometry of the drawing, which is narrower than a chart: three fit side by side.
const (
	stateWidth  = 300
	stateHeight = 232
	ringX       = stateWidth / 2
	ringY       = 112
	ringOuter   = 62.0
	ringInner   = 39.0
	slotsDrawn  = 16 // the largest number
	// inLine is the number of goroutines drawn from a wait queue; the rest are
	// counted.
	inLine     = 4
	lineHeight = 24
)

// SVG returns the drawing. Its accessible label describes the state.
func (s ChannelState) SVG() string {
	c := openSized(stateWidth, stateHeight, s.words())
	c.text(0, 14, "start", "title", s.Title)
	if s.Capacity >= 2 && s.Capacity <= slotsDrawn {
		s.ring(c)
	}
	c.text(ringX, ringY-1, "middle", "label", strconv.Itoa(s.Queued))
	c.text(ringX, ringY+13, "middle", "axis", fmt.Sprintf("of %d", s.Capacity))
	waiting{x: 34, heading: "senders", ring: ringX - ringOuter - 6}.draw(c, s.Senders)
	waiting{x: stateWidth - 34, heading: "receivers", ring: ringX + ringOuter + 6}.draw(c, s.Receivers)
	return c.close()
}

// words describes the state.
func (s ChannelState) words() string {
	return fmt.Sprintf("%s: %d of %d slots filled, send index %d, receive index %d; waiting to send: %s; waiting to receive: %s",
		s.Title, s.Queued, s.Capacity, s.SendIndex, s.ReceiveIndex, inWords(s.Senders), inWords(s.Receivers))
}

// inWords counts a wait queue, and names its head.
func inWords(queue []string) string {
	count := strconv.Itoa(len(queue))
	if len(queue) == 0 || queue[0] == "" {
		return count
	}
	return count + ", first " + queue[0]
}

func (s ChannelState) ring(c *canvas) {
	c.add(`<g class="s0">`)
	for i := range s.Capacity {
		class := "slot"
		if behind := wrap(i-s.ReceiveIndex, s.Capacity); behind < s.Queued {
			class = "slot filled"
		}
		x1, y1 := onRing(s.turn(i), ringOuter)
		x2, y2 := onRing(s.turn(i+1), ringOuter)
		x3, y3 := onRing(s.turn(i+1), ringInner)
		x4, y4 := onRing(s.turn(i), ringInner)
		c.add(`<path d="M%.1f %.1fA%.0f %.0f 0 0 1,%.1f %.1fL%.1f %.1fA%.0f %.0f 0 0 0,%.1f %.1fz" class="%s"/>`,
			x1, y1, ringOuter, ringOuter, x2, y2, x3, y3, ringInner, ringInner, x4, y4, class)
	}
	c.add(`</g>`)
	for i := range s.Capacity {
		x, y := onRing(s.middle(i), (ringOuter+ringInner)/2)
		c.text(x, y+4, "middle", "number", strconv.Itoa(i))
	}
	// One arrow points at its slot from outside, the other from inside: at the
	// same slot, neither hides the other.
	send, receive := s.middle(s.SendIndex), s.middle(s.ReceiveIndex)
	c.arrow(send, ringOuter+14, ringOuter+2, "send")
	c.arrow(receive, ringInner-14, ringInner-2, "receive")
	const below = ringY + ringOuter + 32
	for _, index := range []struct {
		x           float64
		class, word string
		at          int
	}{{46, "send", "send index", s.SendIndex}, {156, "receive", "receive index", s.ReceiveIndex}} {
		c.add(`<path d="M%.1f %.1fl10 0l-5 -9z" class="%s"/>`, index.x, below, index.class)
		c.text(index.x+15, below, "start", "label", fmt.Sprintf("%s %d", index.word, index.at))
	}
}

// turn returns the beginning of slot i, in turns clockwise from the top.
func (s ChannelState) turn(i int) float64 { return float64(i) / float64(s.Capacity) }

// middle returns the middle of an index's slot.
func (s ChannelState) middle(index int) float64 { return s.turn(wrap(index, s.Capacity)) + s.turn(1)/2 }

// wrap returns i modulo n, never negative.
func wrap(i, n int) int { return ((i % n) + n) % n }

// onRing returns the position at an angle, in turns, and a distance from the
// center.
func onRing(turns, radius float64) (x, y float64) {
	sin, cos := math.Sincos(2 * math.Pi * turns)
	return ringX + radius*sin, ringY - radius*cos
}

// arrow draws an arrowhead along a radius.
func (c *canvas) arrow(turns, from, to float64, class string) {
	tipX, tipY := onRing(turns, to)
	x, y := onRing(turns, from)
	sin, cos := math.Sincos(2 * math.Pi * turns)
	const half = 5
	c.add(`<path d="M%.1f %.1fL%.1f %.1fL%.1f %.1fz" class="%s"/>`,
		tipX, tipY, x+half*cos, y+half*sin, x-half*cos, y-half*sin, class)
}

// waiting has the position of a wait queue: a column beside the ring.
type waiting struct {
	x, ring float64
	heading string
}

func (w waiting) draw(c *canvas, queue []string) {
	const top = 82.0
	c.text(w.x, 46, "middle", "axis", "waiting")
	c.text(w.x, 59, "middle", "axis", w.heading)
	if len(queue) == 0 {
		c.text(w.x, top+4, "middle", "axis", "none")
		return
	}
	// The head of the queue is next.
	c.line(w.x+math.Copysign(14, w.ring-w.x), top, w.ring, ringY-12, "next")
	for i, name := range queue[:min(len(queue), inLine)] {
		y := top + float64(i*lineHeight)
		c.add(`<circle cx="%.1f" cy="%.1f" r="11" class="waiter"/>`, w.x, y)
		c.text(w.x, y+4, "middle", "number", name)
	}
	if more := len(queue) - inLine; more > 0 {
		c.text(w.x, top+inLine*lineHeight, "middle", "axis", fmt.Sprintf("+ %d", more))
	}
}
