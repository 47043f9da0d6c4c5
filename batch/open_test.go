package batch_test

import (
	"context"
	"slices"
	"testing"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/batch"
)

// Send appends before it looks at anything else; what it finds then must not change what a
// call returns.
func TestSenderOpen(t *testing.T) {
	t.Parallel()
	c := sluice.NewBounded[int](32, nil)
	b := batch.NewSender(c, 4, nil)
	var none context.Context
	mustPanic(t, "Sender.Send", []string{"nil context"}, func() {
		for i := range 4 { // at the latest when the batch is complete
			_ = b.Send(none, i)
		}
	})
	if b.Len() != 3 || c.Len() != 0 {
		t.Fatalf("%d held, %d sent", b.Len(), c.Len())
	}
	if unsent := b.TakeUnsent(); !slices.Equal(unsent, sequence(3)) || b.Len() != 0 {
		t.Fatalf("unsent: %v, then %d", unsent, b.Len())
	}
	for i := range 11 { // other calls between those of Send
		mustAccept(t, b, i)
		switch i {
		case 0:
			if b.Len() != 1 {
				t.Errorf("Len is %d", b.Len())
			}
		case 2, 8:
			if err := b.Flush(t.Context()); err != nil || b.Len() != 0 {
				t.Errorf("Flush: %v, %d held", err, b.Len())
			}
		}
	}
	if err := b.Close(t.Context()); err != nil || b.Send(t.Context(), -1) != sluice.ErrClosed || b.TrySend(-1) != sluice.ErrClosed {
		t.Errorf("Close: %v", err)
	}
	got := make([]int, 32)
	n, err := c.RecvBatch(t.Context(), got)
	if err != nil || !slices.Equal(got[:n], sequence(11)) {
		t.Errorf("received %v, %v", got[:n], err)
	}
}

// TestSenderOpenFull: a TrySend that completes a batch keeps what there is no room for.
func TestSenderOpenFull(t *testing.T) {
	t.Parallel()
	c := sluice.NewBounded[int](6, nil)
	b := batch.NewSender(c, 4, nil)
	accepted := 0
	for b.TrySend(accepted) == nil {
		accepted++
	}
	if accepted != 9 || c.Len() != 6 || b.Len() != 3 { // 6 in the channel, and 3: a batch of 4 fails
		t.Fatalf("%d accepted, %d sent, %d held", accepted, c.Len(), b.Len())
	}
	if _, err := c.Recv(t.Context()); err != nil || b.TrySend(9) != nil || b.Len() != 3 {
		t.Fatalf("%d held", b.Len())
	}
	got := make([]int, 6)
	if n, err := c.RecvBatch(t.Context(), got); n != 6 || err != nil || !slices.Equal(got, []int{1, 2, 3, 4, 5, 6}) {
		t.Fatalf("received %v, %v", got[:n], err)
	}
	if unsent := b.TakeUnsent(); !slices.Equal(unsent, []int{7, 8, 9}) {
		t.Errorf("unsent %v", unsent)
	}
}

func TestSenderZeroValue(t *testing.T) {
	t.Parallel()
	mustPanic(t, "Sender", []string{"zero value", "NewSender"}, func() {
		_ = new(batch.Sender[byte]).Send(t.Context(), 1) // append makes room for 8
	})
	for _, call := range map[string]func(*batch.Sender[int]){
		"Send":       func(b *batch.Sender[int]) { _ = b.Send(t.Context(), 1) },
		"TrySend":    func(b *batch.Sender[int]) { _ = b.TrySend(1) },
		"Flush":      func(b *batch.Sender[int]) { _ = b.Flush(t.Context()) },
		"Close":      func(b *batch.Sender[int]) { _ = b.Close(t.Context()) },
		"TakeUnsent": func(b *batch.Sender[int]) { b.TakeUnsent() },
		"SendSlice":  func(b *batch.Sender[int]) { _, _ = b.SendSlice(t.Context(), nil) },
		"Dropped":    func(b *batch.Sender[int]) { b.Dropped() },
		"Len":        func(b *batch.Sender[int]) { b.Len() },
	} {
		mustPanic(t, "Sender", []string{"zero value", "NewSender"}, func() { call(new(batch.Sender[int])) })
	}
}
