package batch_test

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/batch"
)

// After a panic or Goexit of the channel, a Sender works and has lost no value.
func TestSenderPanicBelow(t *testing.T) {
	for _, linger := range lingers {
		for name, act := range map[string]func(){"panic": func() { panic("below") }, "Goexit": runtime.Goexit} {
			r := newRecorder()
			b := batch.NewSender(r, 3, withLinger(linger))
			refused := 0
			for i, call := range []func() error{
				func() error { return b.Send(t.Context(), -1) },
				func() error { return b.TrySend(-1) },
				func() error { return b.Flush(t.Context()) },
				func() error { return b.Close(t.Context()) },
			} {
				if b.Len() == 0 {
					mustAccept(t, b, 0, 1)
				}
				r.act = act
				ended := make(chan struct{})
				go func() {
					defer close(ended)
					defer func() {
						if b.Len() == 2 {
							refused++
						}
						_ = recover()
					}()
					_ = call()
					t.Errorf("%s: call %d returned", name, i)
				}()
				<-ended
				r.act = nil
			}
			if refused != 4 {
				t.Errorf("%s: the values were still there after %d of 4 calls", name, refused)
			}
			if err := b.Flush(t.Context()); err != nil || !slices.Equal(r.all(), sequence(2)) {
				t.Errorf("%s: Flush: %v, sent %v", name, err, r.all())
			}
		}
	}
}

// A call during a flush by another call panics: the flush would wait for it, or a second
// goroutine has called.
func TestSenderCalledInFlush(t *testing.T) {
	for _, linger := range lingers {
		r := newRecorder()
		b := batch.NewSender(r, 3, withLinger(linger))
		r.act = func() {
			for method, call := range map[string]func(){
				"Sender.Send":       func() { _ = b.Send(t.Context(), -1) },
				"Sender.TrySend":    func() { _ = b.TrySend(-1) },
				"Sender.Flush":      func() { _ = b.Flush(t.Context()) },
				"Sender.Close":      func() { _ = b.Close(t.Context()) },
				"Sender.TakeUnsent": func() { b.TakeUnsent() },
				"Sender.SendSlice":  func() { _, _ = b.SendSlice(t.Context(), []int{-1}) },
			} {
				mustPanic(t, method, []string{"one goroutine"}, call)
			}
		}
		mustAccept(t, b, sequence(9)...)
		if !slices.Equal(r.all(), sequence(9)) {
			t.Errorf("sent %v", r.all())
		}
	}
}

// A channel that breaks the contract of SendBatch is found.
func TestSenderBrokenContract(t *testing.T) {
	for _, wrong := range []int{-1, 1, 4} {
		b := batch.NewSender[int](liar{newRecorder(), wrong}, 3, nil)
		mustAccept(t, b, 0, 1)
		mustPanic(t, "Sender", []string{"SendBatch of 3", fmt.Sprint(wrong)}, func() { _ = b.Send(t.Context(), 2) })
		if rest := b.TakeUnsent(); !slices.Equal(rest, sequence(2)) {
			t.Errorf("TakeUnsent is %v", rest)
		}
	}
}

// liar returns n values and no error, whatever it is given.
type liar struct {
	*recorder
	n int
}

func (l liar) SendBatch(context.Context, []int) (int, error) { return l.n, nil }

func TestSenderBadInput(t *testing.T) {
	c := sluice.NewBounded[int](2, nil)
	mustPanic(t, "NewSender", []string{"nil sender"}, func() { batch.NewSender[int](nil, 1, nil) })
	mustPanic(t, "NewSender", []string{"*sluice.Sharded[int]"}, func() { batch.NewSender(new(sluice.Sharded[int]), 1, nil) })
	for _, n := range []int{0, -1, math.MinInt} {
		mustPanic(t, "NewSender", []string{"max", fmt.Sprint(n)}, func() { batch.NewSender(c, n, nil) })
	}
	mustPanic(t, "NewSender", []string{"Linger", "-1s"}, func() { batch.NewSender(c, 1, withLinger(-time.Second)) })
	b := batch.NewSender(c, 2, nil)
	mustAccept(t, b, 0)
	var none context.Context
	mustPanic(t, "Sender.Send", []string{"nil context"}, func() { _ = b.Send(none, 1) })
	mustPanic(t, "Sender.Flush", []string{"nil context"}, func() { _ = b.Flush(none) })
	mustPanic(t, "Sender.Close", []string{"nil context"}, func() { _ = b.Close(none) })
	mustAccept(t, b, 1)
	if c.Len() != 2 || b.Len() != 0 {
		t.Errorf("%d sent, %d held", c.Len(), b.Len())
	}
}

// A size beyond all memory allocates no memory in advance.
func TestSenderHuge(t *testing.T) {
	const n = 150_000 // more than is allocated at once
	for _, linger := range lingers {
		for _, size := range []int{math.MaxInt, n, 140_000} {
			r := newRecorder()
			b := batch.NewSender(r, size, withLinger(linger))
			mustAccept(t, b, sequence(n)...)
			if len(r.all()) != n/size*size {
				t.Errorf("size %d: %d values were sent before Close", size, len(r.all()))
			}
			if err := b.Close(t.Context()); err != nil || !slices.Equal(r.all(), sequence(n)) {
				t.Errorf("size %d: Close: %v, %d values sent", size, err, len(r.all()))
			}
		}
	}
}

// TestSenderAllocatesNothing: neither a Send nor a flush allocates, with and without a
// linger.
func TestSenderAllocatesNothing(t *testing.T) {
	for _, linger := range lingers {
		for _, capacity := range []int{1, 64} {
			c := sluice.NewBounded[int](capacity, &sluice.BoundedOptions[int]{Overflow: sluice.DropOldest})
			b := batch.NewSender(c, 4, withLinger(linger))
			allocated := testing.AllocsPerRun(200, func() {
				mustAccept(t, b, 1, 2, 3, 4, 5)
				_ = b.TrySend(6)
				_ = b.Flush(t.Context())
			})
			if allocated != 0 {
				t.Errorf("linger %v, capacity %d: %v allocations", linger, capacity, allocated)
			}
		}
	}
}

// With a size that is never reached, no value is overwritten or refused.
func TestSenderSizeWithoutEnd(t *testing.T) {
	for _, linger := range []time.Duration{0, time.Hour} {
		r := newRecorder()
		b := batch.NewSender[int](r, math.MaxInt, withLinger(linger))
		for i := range 8 {
			if err := b.Send(t.Context(), i); err != nil {
				t.Fatal(err)
			}
		}
		r.room, r.err = 3, sluice.ErrFull
		if err := b.Flush(t.Context()); err != sluice.ErrFull {
			t.Errorf("Flush: %v", err)
		}
		r.room = math.MaxInt
		const more = 300_000 // more than the slots allocated at first
		for i := 8; i < more; i++ {
			if err := b.Send(t.Context(), i); err != nil {
				t.Fatal(err)
			}
		}
		for i, v := range append(r.all(), b.TakeUnsent()...) {
			if i != v {
				t.Fatalf("linger %v: value %d is %d", linger, i, v)
			}
		}
	}
}
