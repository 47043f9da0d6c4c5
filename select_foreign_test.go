package sluice_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-go/sluice"
)

// A foreign channel has a type that Select does not know. It counts the attempts, and
// TryRecv may panic.
type foreign[T any] struct {
	sluice.Channel[T]
	attempts atomic.Int64
	panic    any // after two attempts
}

func (f *foreign[T]) TryRecv() (T, error) {
	f.attempts.Add(1)
	if f.panic != nil && f.attempts.Load() > 2 {
		panic(f.panic)
	}
	return f.Channel.TryRecv()
}

func (f *foreign[T]) TrySend(v T) error {
	f.attempts.Add(1)
	return f.Channel.TrySend(v)
}

func newForeign(capacity int) *foreign[int] {
	return &foreign[int]{Channel: sluice.NewBounded[int](capacity, nil)}
}

// TestSelectForeign: a Select waits for a foreign channel and for kinds at once, to
// receive and to send, and performs one operation.
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
		began, before := time.Now(), f.attempts.Load()
		if chosen, err := sluice.Select(t.Context(), other, out); chosen != out || err != nil {
			t.Fatal(chosen, err)
		}
		if late, attempts := time.Since(began)-10*time.Second, f.attempts.Load()-before; late > 100*time.Millisecond || attempts > 250 {
			t.Errorf("sent %v after there was room, in %d attempts", late, attempts)
		}
		if v, err := f.Channel.TryRecv(); v != 7 || err != nil {
			t.Error(v, err)
		}
	})
}

// TestSelectForeignEnds: the context and Close end a wait, and the goroutine that
// watches the channel ends too: otherwise the bubble would report a deadlock.
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

// TestSelectsShareForeign: several Selects wait for one foreign channel and one kind,
// and receive every value: no Select loses a notification that another one needs.
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
			if i%7 == 0 { // at times all Selects wait, at other times only some
				if synctest.Wait(); received.Load() != int64(2*i+2) {
					t.Fatalf("received %d of %d, but every Select waits", received.Load(), 2*i+2)
				}
			}
		}
		f.Close()
		own.Close()
		if synctest.Wait(); received.Load() != 2*values {
			t.Errorf("received %d of %d", received.Load(), 2*values)
		}
	})
}

// redelivering is a closed channel to which values may return later, as a message queue
// redelivers them: Ready is closed, but TryRecv fails with ErrEmpty for a while.
type redelivering struct {
	ready chan struct{}
	left  atomic.Int64
}

func (l *redelivering) Ready() <-chan struct{} { return l.ready }
func (l *redelivering) TryRecv() (int, error) {
	if l.left.Load() == 0 {
		return 0, sluice.ErrEmpty
	}
	return int(l.left.Add(-1)), nil
}

func TestSelectForeignAfterClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &redelivering{ready: make(chan struct{})}
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

// TestSelectForeignPanics: if a foreign channel panics, the Select leaves all wait
// queues.
func TestSelectForeignPanics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, own := newForeign(1), sluice.NewRendezvous[int](nil)
		f.panic = errors.New("planted")
		func() {
			defer func() {
				if recover() != f.panic {
					t.Error("Select did not panic as TryRecv did")
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

// named is a channel that adds its name to each error.
type named struct{ sluice.Channel[int] }

func (n named) TryRecv() (int, error) {
	v, err := n.Channel.TryRecv()
	if err != nil {
		err = fmt.Errorf("orders: %w", err)
	}
	return v, err
}

func (n named) TrySend(v int) error {
	if err := n.Channel.TrySend(v); err != nil {
		return fmt.Errorf("orders: %w", err)
	}
	return nil
}

// TestSelectForeignWrapsErrors: an error that wraps ErrEmpty or ErrFull means that the
// channel may be ready later; any other error ends the Select.
func TestSelectForeignWrapsErrors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := named{sluice.NewBounded[int](1, nil)}
		in, out := sluice.OnRecv(c), sluice.OnSend(c, 8)
		time.AfterFunc(time.Second, func() { _ = c.Send(t.Context(), 7) })
		if chosen, err := sluice.Select(t.Context(), in); chosen != in || err != nil || in.Value != 7 {
			t.Errorf("%v, %v, %d", chosen, err, in.Value)
		}
		_ = c.Send(t.Context(), 7)
		time.AfterFunc(time.Second, func() { _, _ = c.Recv(t.Context()) })
		if chosen, err := sluice.Select(t.Context(), out); chosen != out || err != nil {
			t.Errorf("%v, %v", chosen, err)
		}
		c.Close()
		_, _ = c.Recv(t.Context())
		for _, end := range []sluice.Case{in, out} {
			if chosen, err := sluice.Select(t.Context(), end); chosen != end || !errors.Is(err, sluice.ErrClosed) {
				t.Errorf("after Close: %v, %v", chosen, err)
			}
		}
	})
}

// TestSelectLaneUnderReject: a Select waits for room in a lane, whatever the policy.
func TestSelectLaneUnderReject(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := sluice.NewSharded(1, &sluice.ShardedOptions[int]{Overflow: sluice.Reject})
		lane := s.Lane()
		for lane.TrySend(1) == nil {
		}
		out := sluice.OnSend(lane, 2)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if chosen, err := sluice.Select(ctx, out); chosen != nil || err != context.DeadlineExceeded {
			t.Errorf("a full lane: %v, %v", chosen, err)
		}
		time.AfterFunc(time.Second, func() { _, _ = s.Recv(t.Context()) })
		if chosen, err := sluice.Select(t.Context(), out); chosen != out || err != nil {
			t.Errorf("a lane that gets room: %v, %v", chosen, err)
		}
	})
}
