package hub

import (
	"context"
	"iter"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/internal/broadcast"
	"github.com/sluice-go/sluice/internal/engine"
)

// A Subscription is a receiving end of a [Hub]. It is a [sluice.BatchReceiver] and a case for
// [sluice.OnRecv], and it has the other receiving methods of [sluice.Channel]. Several
// goroutines may receive from it: each value goes to one of them.
type Subscription[T any] struct {
	engine *broadcast.Subscription[T]
	owner
}

// made returns the engine, and panics if Subscribe has not made s.
func (s *Subscription[T]) made() *broadcast.Subscription[T] {
	if s.engine == nil {
		panic("hub: the Subscription is a zero value; make it with Subscribe")
	}
	return s.engine
}

// Recv receives the next value, and waits while the queue is empty.
//
// It fails with [ErrEvicted] after an eviction; with [sluice.ErrClosed] after Close, or once
// the Hub is closed and the queue is drained; and with the context's error if it would have to
// wait and ctx is done. After an error nothing was consumed. It does not allocate. A nil
// context panics.
func (s *Subscription[T]) Recv(ctx context.Context) (T, error) { return s.made().Recv(ctx) }

// TryRecv receives the next value if there is one. Otherwise it fails with
// [sluice.ErrEmpty], or as Recv does.
func (s *Subscription[T]) TryRecv() (T, error) { return s.made().TryRecv() }

// RecvBatch waits for a value like Recv, then receives as many as there are, up to len(buf),
// into buf, in order. n > 0 implies err == nil; an error is as for Recv. An empty buf returns
// 0, nil.
func (s *Subscription[T]) RecvBatch(ctx context.Context, buf []T) (n int, err error) {
	if ctx == nil {
		panic("hub: RecvBatch: nil context")
	}
	e := s.made()
	if len(buf) == 0 {
		return 0, nil
	}
	return e.RecvBatch(ctx, buf)
}

// TryRecvBatch receives as many values as there are now, up to len(buf), into buf, in order.
// If there is no value it fails as TryRecv does. An empty buf returns 0, nil.
func (s *Subscription[T]) TryRecvBatch(buf []T) (n int, err error) {
	e := s.made()
	if len(buf) == 0 {
		return 0, nil
	}
	return e.RecvBatch(engine.NoWait{}, buf)
}

// Values returns a loop over the values: see [sluice.Values]. Its Err reports an eviction.
func (s *Subscription[T]) Values(ctx context.Context) *sluice.Values[T] {
	s.made()
	if ctx == nil {
		panic("hub: Values: nil context")
	}
	return sluice.NewValues(ctx, s)
}

// Ready returns a channel for a select statement beside built-in channels, as
// [sluice.Bounded.Ready] does: it becomes readable when a value can be received, and again
// after each receive that left a value. It is closed after an eviction and after Close of the
// subscription or the Hub. Each Send takes a little longer for each subscription with a call
// of Ready; [sluice.OnRecv] costs nothing.
func (s *Subscription[T]) Ready() <-chan struct{} { return s.made().Ready() }

// Drain returns an iterator over the values that are queued when the loop begins. It never
// waits. See [sluice.Bounded.Drain].
func (s *Subscription[T]) Drain() iter.Seq[T] {
	e := s.made()
	return func(yield func(T) bool) {
		for left := max(1, e.Len()); left > 0; left-- {
			v, err := e.TryRecv()
			if err != nil || !yield(v) {
				return
			}
		}
	}
}

// Close ends the subscription, and discards what is queued, which OnUndelivered gets. Receives
// fail with [sluice.ErrClosed] from now on, waiting ones included. Close never waits, is
// idempotent, and may be called from any goroutine.
func (s *Subscription[T]) Close() { s.made().Close() }

// Len returns the number of queued values, exact at one moment during the call.
func (s *Subscription[T]) Len() int { return s.made().Len() }

// Cap returns the capacity of the queue.
func (s *Subscription[T]) Cap() int { return s.made().Cap() }

// Stats returns the account of the subscription, consistent at one moment: Sent is the
// number of values sent since it subscribed and replayed to it, that its Filter wants, and Sent - Received - Dropped
// == Len under each policy. Dropped includes what an eviction or Close discarded. SendWaits
// counts the times that a sender parked because this subscription had no room, and
// SendersWaiting the senders that wait for it now. It briefly blocks senders: call it once per second, not once per value.
func (s *Subscription[T]) Stats() sluice.Stats { return sluice.Stats(s.made().Stats()) }

var _ sluice.BatchReceiver[int] = (*Subscription[int])(nil)
