package batch

import (
	"testing"
	"time"

	"github.com/sluice-go/sluice"
)

// expectEmptySlots fails t if a slot of a Sender refers to a value that is not held.
func expectEmptySlots(t *testing.T, b *Sender[*int], when string) {
	t.Helper()
	n := 0
	for _, slot := range b.held.buf {
		if slot != nil {
			n++
		}
	}
	if n != b.Len() {
		t.Errorf("%s: %d slots in use for %d values", when, n, b.Len())
	}
}

// A Sender keeps no value alive that was sent, refused or taken out, and no timer keeps
// a closed Sender alive.
func TestSenderRetention(t *testing.T) {
	for _, linger := range []time.Duration{0, time.Hour} {
		c := sluice.NewBounded[*int](5, &sluice.BoundedOptions[*int]{Overflow: sluice.Reject})
		b := NewSender(c, 3, &Options[*int]{Linger: linger})
		for i := range 10 {
			_ = b.Send(t.Context(), new(int))
			expectEmptySlots(t, b, "after Send")
			if i%5 == 0 {
				_ = b.TrySend(new(int))
				expectEmptySlots(t, b, "after TrySend")
			}
		}
		_ = b.Flush(t.Context())
		expectEmptySlots(t, b, "after Flush")
		b.TakeUnsent()
		expectEmptySlots(t, b, "after TakeUnsent")
		_ = b.TrySend(new(int))
		_ = b.Close(t.Context())
		expectEmptySlots(t, b, "after Close")
		if linger > 0 && b.timer.Stop() {
			t.Error("a timer runs after Close")
		}
	}
}
