package batch_test

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"testing"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/batch"
)

// The flush that a full buffer takes without a lock: it fails as any other flush does, and
// the Sender then holds the values that were not sent.

func TestSenderFullFails(t *testing.T) {
	c := sluice.NewBounded[int](5, &sluice.BoundedOptions[int]{Overflow: sluice.Reject})
	b := batch.NewSender(c, 4, nil)
	mustAccept(t, b, 0, 1, 2, 3, 4, 5, 6)
	if err := b.Send(t.Context(), 7); !errors.Is(err, sluice.ErrFull) || b.Len() != 2 || c.Len() != 5 {
		t.Fatalf("%v, %d held, %d queued", err, b.Len(), c.Len())
	}
	got := make([]int, 5)
	if n, err := c.RecvBatch(t.Context(), got); n != 5 || err != nil || !slices.Equal(got, sequence(5)) {
		t.Fatalf("received %v, %v", got[:n], err)
	}
	mustAccept(t, b, 7, 8) // 7 completes nothing, as 4 … 6 were not sent in one piece
	if err := b.Close(t.Context()); err != nil || b.Send(t.Context(), 9) != sluice.ErrClosed {
		t.Fatalf("Close: %v", err)
	}
	if n, err := c.RecvBatch(t.Context(), got); err != nil || !slices.Equal(got[:n], []int{5, 6, 7, 8}) {
		t.Fatalf("received %v, %v", got[:n], err)
	}
}

func TestSenderFullPanics(t *testing.T) {
	for name, act := range map[string]func(){"panic": func() { panic("OnUndelivered") }, "Goexit": runtime.Goexit} {
		var b *batch.Sender[int]
		dropped := 0
		c := sluice.NewBounded[int](2, &sluice.BoundedOptions[int]{Overflow: sluice.DropNewest, OnUndelivered: func(int, sluice.Reason) {
			dropped++
			mustPanic(t, "Sender.Send", []string{"one goroutine"}, func() { _ = b.Send(context.Background(), -1) })
			act()
		}})
		b = batch.NewSender(c, 3, nil)
		mustAccept(t, b, 0, 1)
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			defer func() { _ = recover() }()
			_ = b.Send(t.Context(), 2)
			t.Errorf("%s: Send returned", name)
		}()
		<-ended
		if unsent, got := b.TakeUnsent(), slices.Collect(c.Drain()); dropped != 1 || len(unsent) != 0 || !slices.Equal(got, sequence(2)) {
			t.Errorf("%s: %d dropped, unsent %v, queued %v: each value must be in one place", name, dropped, unsent, got)
		}
	}
}

// Whatever a hook does, each value of a flush is queued or was dropped, once: none is sent again. So it
// is for a flush of a part of a batch, and one that a Send has begun.
func TestSenderHookPanics(t *testing.T) {
	for name, act := range map[string]func(){"panic": func() { panic("planted") }, "Goexit": runtime.Goexit} {
		for _, policy := range []sluice.Overflow{sluice.DropOldest, sluice.DropNewest} {
			for _, o := range []*batch.Options[int]{nil, {MaxBytes: 5, Size: func(int) int { return 1 }}} {
				seen := map[int]int{}
				c := sluice.NewBounded[int](2, &sluice.BoundedOptions[int]{Overflow: policy, OnUndelivered: func(v int, _ sluice.Reason) {
					seen[v]++
					act()
				}})
				b := batch.NewSender(c, 5, o)
				const n = 13
				for v := range n {
					ended := make(chan struct{})
					go func() {
						defer close(ended)
						defer func() { _ = recover() }()
						_ = b.Send(t.Context(), v)
						if v == 7 {
							_ = b.Flush(t.Context())
						}
					}()
					<-ended
				}
				for v := range c.Drain() {
					seen[v]++
				}
				for _, v := range b.TakeUnsent() {
					seen[v]++
				}
				for v := range n {
					if seen[v] != 1 {
						t.Errorf("%s, %v, options %v: value %d was in %d places", name, policy, o != nil, v, seen[v])
					}
				}
			}
		}
	}
}
