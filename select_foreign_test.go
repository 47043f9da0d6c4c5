package sluice_test

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-go/sluice"
)

// A foreign channel is of a type that Select does not know: it has the methods of a kind
// and may do something before them.
type foreign[T any] struct {
	sluice.Channel[T]
	tries atomic.Int64
	panic any
}

func (f *foreign[T]) TryRecv() (T, error) {
	f.tries.Add(1)
	if f.panic != nil && f.tries.Load() > 2 {
		panic(f.panic)
	}
	return f.Channel.TryRecv()
}

func (f *foreign[T]) TrySend(v T) error {
	f.tries.Add(1)
	return f.Channel.TrySend(v)
}

func newForeign(capacity int) *foreign[int] {
	return &foreign[int]{Channel: sluice.NewBounded[int](capacity, nil)}
}

// TestSelectForeign: a Select waits for a foreign channel beside kinds, to receive and to
// send, and does one operation.
func TestSelectForeign(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, own := newForeign(1), sluice.NewRendezvous[string](nil)
		in, other := sluice.OnRecv(f), sluice.OnRecv(own)
		for round := range 3 {
			time.AfterFunc(time.Second, func() { _ = f.Send(t.Context(), round) })
			if chosen, err := sluice.Select(t.Context(), other, in); chosen != in || err != nil || in.Value != round {
				t.Fatalf("round %d: %v, %v, %d", round, chosen, err, in.Value)
			}
			time.AfterFunc(time.Second, func() { _ = own.Send(t.Context(), "own") })
			if chosen, err := sluice.Select(t.Context(), other, in); chosen != other || err != nil || other.Value != "own" {
				t.Fatalf("round %d: %v, %v", round, chosen, err)
			}
		}
		_ = f.Channel.TrySend(0)
		out := sluice.OnSend(f, 7)
		time.AfterFunc(10*time.Second, func() { _, _ = f.Recv(t.Context()) })
		began, before := time.Now(), f.tries.Load()
		if chosen, err := sluice.Select(t.Context(), other, out); chosen != out || err != nil {
			t.Fatal(chosen, err)
		}
		if late, tries := time.Since(began)-10*time.Second, f.tries.Load()-before; late > 100*time.Millisecond || tries > 250 {
			t.Errorf("sent %v after there was room, in %d attempts", late, tries)
		}
		if v, err := f.Channel.TryRecv(); v != 7 || err != nil {
			t.Error(v, err)
		}
	})
}

// TestSelectForeignEnds: the end of the context and of the channel end a wait, and the
// watcher of the channel ends with it: the bubble would report it.
func TestSelectForeignEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newForeign(3)
		in := sluice.OnRecv(f)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if chosen, err := sluice.Select(ctx, in); chosen != nil || err != context.DeadlineExceeded {
			t.Errorf("%v, %v", chosen, err)
		}
		time.AfterFunc(time.Second, f.Close)
		if chosen, err := sluice.Select(t.Context(), in); chosen != in || err != sluice.ErrClosed {
			t.Errorf("%v, %v", chosen, err)
		}
		if chosen, err := sluice.Select(t.Context(), sluice.OnSend(f, 1)); chosen == nil || err != sluice.ErrClosed {
			t.Errorf("%v, %v", chosen, err)
		}
	})
}

// TestSelectsShareForeign: however many Selects wait for one foreign channel, whatever
// else they are chosen for, each value is received: no token is lost to one of them.
func TestSelectsShareForeign(t *testing.T) {
	const selects, values = 5, 2000
	synctest.Test(t, func(t *testing.T) {
		f, own := newForeign(4), sluice.NewBounded[int](4, nil)
		var received atomic.Int64
		for range selects {
			go func() {
				in, other := sluice.OnRecv(f), sluice.OnRecv(own)
				for open := []sluice.Case{in, other}; len(open) > 0; {
					chosen, err := sluice.Select(t.Context(), open...)
					if err != nil {
						open = slices.DeleteFunc(open, func(c sluice.Case) bool { return c == chosen })
						continue
					}
					received.Add(1)
				}
			}()
		}
		for i := range values {
			_ = f.Send(t.Context(), i)
			_ = own.Send(t.Context(), i)
			if i%7 == 0 { // in turn all of them wait, and some
				if synctest.Wait(); received.Load() != int64(2*i+2) {
					t.Fatalf("%d of %d were received, and every Select waits", received.Load(), 2*i+2)
				}
			}
		}
		f.Close()
		own.Close()
		if synctest.Wait(); received.Load() != 2*values {
			t.Errorf("%d of %d were received", received.Load(), 2*values)
		}
	})
}

// laterDrained is a channel whose values may come back after Close: Ready is closed then,
// and TryRecv finds nothing for a while.
type laterDrained struct {
	ready chan struct{}
	left  atomic.Int64
}

func (l *laterDrained) Ready() <-chan struct{} { return l.ready }
func (l *laterDrained) TryRecv() (int, error) {
	if l.left.Load() == 0 {
		return 0, sluice.ErrEmpty
	}
	return int(l.left.Add(-1)), nil
}

func TestSelectForeignAfterClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &laterDrained{ready: make(chan struct{})}
		close(l.ready)
		in := sluice.OnRecv(l)
		for range 2 {
			time.AfterFunc(time.Minute, func() { l.left.Store(1) })
			if chosen, err := sluice.Select(t.Context(), in); chosen != in || err != nil {
				t.Error(chosen, err)
			}
		}
	})
}

// TestSelectForeignPanics: a channel of the user that panics leaves no entry of the Select
// in a wait queue.
func TestSelectForeignPanics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, own := newForeign(1), sluice.NewRendezvous[int](nil)
		f.panic = errors.New("planted")
		func() {
			defer func() {
				if recover() != f.panic {
					t.Error("not the panic of TryRecv")
				}
			}()
			_, _ = sluice.Select(t.Context(), sluice.OnRecv(own), sluice.OnRecv(f))
		}()
		if s := own.Stats(); s.ReceiversWaiting != 0 {
			t.Errorf("%d receivers wait", s.ReceiversWaiting)
		}
		if err := own.TrySend(1); err != sluice.ErrFull {
			t.Errorf("TrySend without a receiver: %v", err)
		}
	})
}
