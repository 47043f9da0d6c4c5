package sluice

import (
	"context"
	"iter"

	"github.com/sluice-go/sluice/internal/engine"
)

// channel is what every kind is made of: an engine, and the methods that check
// arguments before they call it.
type channel[T any] struct {
	engine engine.Engine[T]
}

// Its methods must stay small enough to be inlined: two more calls cost a value
// that passes through a buffer a sixth of its time.

// newChannel puts the methods before the engine that build makes from config.
func newChannel[T any](config engine.Config[T], build func(engine.Config[T]) engine.Engine[T]) channel[T] {
	return channel[T]{keepPromises(config, build)}
}

// Send sends v, and waits while there is no room.
//
// It returns nil once the value was accepted; [ErrClosed] if the channel is
// closed, also when that happens during the wait; the context's error if it
// would have to wait under a context that is done. After an error the value is
// never delivered. Under an overflow policy other than Block it never waits.
// It does not allocate. A nil context panics.
func (c *channel[T]) Send(ctx context.Context, v T) error {
	if ctx == nil {
		panic("sluice: Send: nil context")
	}
	return c.engine.Send(ctx, v)
}

// TrySend sends v if that is possible without waiting. It returns nil,
// [ErrFull] or [ErrClosed].
func (c *channel[T]) TrySend(v T) error { return c.engine.TrySend(v) }

// SendBatch sends the values of vs in order, and waits whenever there is no
// room, or whenever others who wait for room have done so for long: then it goes to
// the end of their line. It returns how many it sent, always a prefix of vs; the
// error is nil only if that is all of them, and otherwise as for Send. Values of
// other senders may come between those of one batch. An empty batch returns 0, nil.
//
// A batch costs one hand-over for each run of values that there is room for,
// not one for each value. vs is not kept.
func (c *channel[T]) SendBatch(ctx context.Context, vs []T) (n int, err error) {
	if ctx == nil {
		panic("sluice: SendBatch: nil context")
	}
	if len(vs) == 0 {
		return 0, nil
	}
	return c.engine.SendBatch(ctx, vs)
}

// Recv receives the next value, and waits while there is none.
//
// It fails with [ErrClosed] once the channel is closed and drained, and with
// the context's error if it would have to wait under a context that is done.
// After an error nothing was consumed. It does not allocate. A nil context
// panics.
func (c *channel[T]) Recv(ctx context.Context) (T, error) {
	if ctx == nil {
		panic("sluice: Recv: nil context")
	}
	return c.engine.Recv(ctx)
}

// TryRecv receives the next value if there is one. Otherwise it fails with
// [ErrEmpty], or with [ErrClosed] once the channel is closed and drained.
func (c *channel[T]) TryRecv() (T, error) { return c.engine.TryRecv() }

// RecvBatch waits for a value like Recv, then takes as many as there are, up to
// len(buf), into buf, in order. n > 0 implies err == nil; an error is as for
// Recv. It never waits for the buffer to fill. An empty buf returns 0, nil.
func (c *channel[T]) RecvBatch(ctx context.Context, buf []T) (n int, err error) {
	if ctx == nil {
		panic("sluice: RecvBatch: nil context")
	}
	if len(buf) == 0 {
		return 0, nil
	}
	return c.engine.RecvBatch(ctx, buf)
}

// TryRecvBatch receives as many values as there are now, up to len(buf), into buf, in
// order. If there are none it fails with [ErrEmpty], or with [ErrClosed] once the
// channel is closed and drained. An empty buf returns 0, nil.
func (c *channel[T]) TryRecvBatch(buf []T) (n int, err error) {
	if len(buf) == 0 {
		return 0, nil
	}
	n, err = c.engine.RecvBatch(engine.NoWait{}, buf)
	if err == context.Canceled {
		err = ErrEmpty
	}
	return n, err
}

// Values returns a loop over the values of the channel, which receives until the channel
// is closed and drained, or ctx is done while it waits. It panics if ctx is nil. It
// allocates once per loop, not per value.
func (c *channel[T]) Values(ctx context.Context) *Values[T] {
	if ctx == nil {
		panic("sluice: Values: nil context")
	}
	return &Values[T]{ctx: ctx, r: c.engine}
}

// Ready returns a channel for a select statement beside built-in channels:
//
//	case _, ok := <-jobs.Ready():
//		for job := range jobs.Drain() {
//			…
//		}
//		if !ok {
//			return // closed and drained
//		}
//
// It becomes readable when a value can be received, and stays readable while values are
// left; after Close it is closed. Another goroutine may receive the value first. Every
// call returns the same channel.
func (c *channel[T]) Ready() <-chan struct{} { return c.engine.Ready() }

// Drain returns an iterator over the values that are queued when the loop begins; it
// never waits. It is the body of a case that reads from [Bounded.Ready]: continue, break
// and return mean in it what they mean in the case of a built-in channel. Values that a
// loop leaves, or that are sent meanwhile, make Ready readable again. After Close, when
// Ready is closed, it yields all that is left.
func (c *channel[T]) Drain() iter.Seq[T] {
	return func(yield func(T) bool) {
		for left := max(1, c.engine.Len()); left > 0; left-- {
			v, err := c.engine.TryRecv()
			if err != nil || !yield(v) {
				return
			}
		}
	}
}

// Close closes the channel: sends fail from now on, waiting ones included, and
// what is buffered stays receivable. It never waits for a receiver, may be
// called from any goroutine, and does nothing the second time.
func (c *channel[T]) Close() { c.engine.Close() }

// Len returns how many values are queued: an exact figure of one moment.
func (c *channel[T]) Len() int { return c.engine.Len() }

// Cap returns the capacity or limit: the most values that can be queued.
func (c *channel[T]) Cap() int { return c.engine.Cap() }

// Stats returns one consistent view of the channel's counters. It briefly holds
// up senders and receivers: call it once a second, not once a value.
func (c *channel[T]) Stats() Stats { return Stats(c.engine.Stats()) }
