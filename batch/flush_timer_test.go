package batch

import (
	"context"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-go/sluice"
)

// In direct mode published is the number of values that are held. A flush by the timer takes them,
// and the next value finds that out.
func TestSenderPublishes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := sluice.NewBounded[*int](100, nil)
		b := NewSender(c, 10, &Options[*int]{Linger: time.Second})
		expect := func(published int64, held int, when string) {
			t.Helper()
			if got := b.timer.published.Load(); got != published || b.Len() != held {
				t.Errorf("%s: %d published, %d held; want %d, %d", when, got, b.Len(), published, held)
			}
			expectEmptySlots(t, b, when)
		}
		send := func() {
			t.Helper()
			if err := b.Send(t.Context(), new(int)); err != nil {
				t.Error(err)
			}
		}
		expect(0, 0, "at first")
		send()
		send()
		expect(2, 2, "after two values")
		if _ = b.Flush(t.Context()); c.Len() != 2 {
			t.Error("Flush sent nothing")
		}
		expect(0, 0, "after Flush")
		send()
		time.Sleep(time.Second)
		synctest.Wait()
		if got := b.timer.published.Load(); got != taken || c.Len() != 3 {
			t.Errorf("after the timer: %d published, %d sent", got, c.Len())
		}
		send() // is in the slot behind the value that the timer took, and is taken out again
		expect(1, 1, "after the next value")
		time.Sleep(time.Second)
		synctest.Wait()
		if c.Len() != 4 {
			t.Error("the timer was not started for a value after its flush")
		}
		if _ = b.Close(t.Context()); b.timer.published.Load() != taken {
			t.Error("values are published after Close")
		}
	})
}

// A hook calls Goexit in the goroutine of the timer, when the owner has completed a batch besides.
// The values of the flush are gone, those of the owner are not, and no lock is left behind.
func TestSenderTimerExits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := make(chan struct{})
		exit, dropped := true, 0
		c := sluice.NewBounded(2, &sluice.BoundedOptions[int]{Overflow: sluice.DropOldest, OnUndelivered: func(int, sluice.Reason) {
			dropped++
			if exit {
				exit = false
				<-gate
				runtime.Goexit()
			}
		}})
		for c.Len() < 2 {
			_ = c.TrySend(-1)
		}
		b := NewSender[int](c, 3, &Options[int]{Linger: time.Second})
		send := func(vs ...int) {
			t.Helper()
			for _, v := range vs {
				if err := b.Send(t.Context(), v); err != nil {
					t.Error(err)
				}
			}
		}
		send(0, 1)
		time.Sleep(time.Second)
		synctest.Wait()
		send(2, 3, 4)
		close(gate)
		synctest.Wait()
		if b.Len() != 3 {
			t.Errorf("%d are held after the flush", b.Len())
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := b.Send(ctx, 5); err != nil || b.Len() != 1 {
			t.Errorf("Send: %v, %d held", err, b.Len())
		}
		if err := b.Close(ctx); err != nil || dropped != 2+2+2 || c.Len() != 2 {
			t.Errorf("Close: %v, %d dropped, %d queued", err, dropped, c.Len())
		}
	})
}

// TestAmount: the sums of sizes stay within 64 bits.
func TestAmount(t *testing.T) {
	const largest = 1<<63 - 1 // as a limit
	limit := amount{10, largest}
	for _, test := range []struct {
		a    amount
		size uint64
		want bool
	}{
		{amount{0, 0}, largest, true},
		{amount{9, largest - 1}, 1, true},
		{amount{10, 0}, 0, false},
		{amount{1, largest}, 1, false},
		{amount{1, 2 * largest}, largest, false},
	} {
		if got := test.a.leaves(limit, test.size); got != test.want {
			t.Errorf("%v leaves room for %d: %v", test.a, test.size, got)
		}
	}
	if d := limit.doubled(); d != (amount{20, 2 * largest}) {
		t.Errorf("doubled: %v", d)
	}
	if d := (amount{5, 1<<64 - 1}).doubled(); d != (amount{10, 1<<64 - 1}) {
		t.Errorf("doubled without a limit in bytes: %v", d)
	}
}
