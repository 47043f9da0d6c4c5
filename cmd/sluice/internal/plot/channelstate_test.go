package plot

import (
	"strconv"
	"strings"
	"testing"
)

func TestChannelStateIsWellFormed(t *testing.T) {
	for name, state := range map[string]ChannelState{
		"empty":        {Title: "a & b", Capacity: 8, SendIndex: 3, ReceiveIndex: 3, Receivers: []string{"<1>"}},
		"no slots":     {Title: "t", Senders: []string{"p"}},
		"one slot":     {Title: "t", Capacity: 1, Queued: 1},
		"many":         {Title: "t", Capacity: 1 << 20, Queued: 1 << 19, SendIndex: 7, ReceiveIndex: 1 << 19},
		"many, none":   {Title: "t", Capacity: 1024},
		"many, full":   {Title: "t", Capacity: 1024, Queued: 1024},
		"inconsistent": {Title: "t", Capacity: 4, Queued: 9, SendIndex: -3, ReceiveIndex: 77},
		"long lines":   {Title: "t", Capacity: 4, Senders: make([]string, 1000), Receivers: make([]string, 5)},
	} {
		t.Run(name, func(t *testing.T) {
			svg := state.SVG()
			wellFormed(t, svg)
			for _, wrong := range []string{"NaN", "Inf", "%!"} {
				if strings.Contains(svg, wrong) {
					t.Errorf("the drawing holds %q:\n%s", wrong, svg)
				}
			}
		})
	}
}

// The slots from the receive index on are filled, across the end of the ring.
func TestChannelStateFillsFromTheReceiveIndex(t *testing.T) {
	svg := ChannelState{Capacity: 8, Queued: 3, SendIndex: 1, ReceiveIndex: 6}.SVG()
	var filled []int
	slot := 0
	for part := range strings.SplitSeq(svg, "<path") {
		switch {
		case strings.Contains(part, `class="slot filled"`):
			filled = append(filled, slot)
			slot++
		case strings.Contains(part, `class="slot"`):
			slot++
		}
	}
	if slot != 8 || len(filled) != 3 || filled[0] != 0 || filled[1] != 6 || filled[2] != 7 {
		t.Errorf("of %d slots %v are filled, want 0, 6 and 7 of 8", slot, filled)
	}
}

// A channel of many slots, or of none, has no ring.
func TestChannelStateWithoutRing(t *testing.T) {
	for _, capacity := range []int{0, 1, 1024} {
		if svg := (ChannelState{Capacity: capacity, Queued: capacity}).SVG(); strings.Contains(svg, "slot filled\"") || !strings.Contains(svg, ">of "+strconv.Itoa(capacity)+"<") {
			t.Errorf("%d slots: %s", capacity, svg)
		}
	}
}

// An arrow points at the middle of its slot: the arrow of slot 3 of 4 points
// from the right, below the center.
func TestChannelStateArrows(t *testing.T) {
	svg := ChannelState{Capacity: 4, Queued: 2, SendIndex: 3, ReceiveIndex: 1}.SVG()
	tip := func(class, axis string) float64 {
		pattern := `d="M([0-9.]+) [0-9.]+L[^"]+" class="` + class + `"`
		if axis == "y" {
			pattern = `d="M[0-9.]+ ([0-9.]+)L[^"]+" class="` + class + `"`
		}
		found := places(t, svg, pattern)
		if len(found) != 1 {
			t.Fatalf("%d arrows of class %s", len(found), class)
		}
		return found[0]
	}
	if x, y := tip("send", "x"), tip("send", "y"); x >= ringX || y >= ringY {
		t.Errorf("slot 3 of 4 is at the upper left; the send arrow ends at %v, %v", x, y)
	}
	if x, y := tip("receive", "x"), tip("receive", "y"); x <= ringX || y <= ringY {
		t.Errorf("slot 1 of 4 is at the lower right; the receive arrow ends at %v, %v", x, y)
	}
}

// The accessible label describes the state.
func TestChannelStateInWords(t *testing.T) {
	svg := ChannelState{Title: "Full", Capacity: 8, Queued: 8, SendIndex: 5, ReceiveIndex: 5, Senders: []string{"p1", "p3"}}.SVG()
	const want = `aria-label="Full: 8 of 8 slots filled, send index 5, receive index 5; waiting to send: 2, first p1; waiting to receive: 0"`
	if !strings.Contains(svg, want) {
		t.Errorf("the drawing lacks %s:\n%s", want, svg)
	}
}

// A wait queue shows its first goroutines and counts the rest.
func TestChannelStateLines(t *testing.T) {
	var who []string
	for i := range 10 {
		who = append(who, "w"+strconv.Itoa(i))
	}
	svg := ChannelState{Capacity: 4, Receivers: who}.SVG()
	if n := strings.Count(svg, `class="waiter"`); n != inLine {
		t.Errorf("%d goroutines are drawn, want %d", n, inLine)
	}
	for _, want := range []string{">w0<", ">w3<", ">+ 6<", ">none<"} {
		if !strings.Contains(svg, want) {
			t.Errorf("the drawing lacks %q", want)
		}
	}
	if strings.Contains(svg, ">w4<") {
		t.Error("the fifth is drawn as well as counted")
	}
}
