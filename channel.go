package sluice

import (
	"context"
	"iter"

	"github.com/sluice-go/sluice/internal/callsite"
	"github.com/sluice-go/sluice/internal/engine"
)

// A Channel has the methods of every kind: it is the type for a struct field or a
// parameter that any kind fits. The methods are documented at [Bounded]. The kinds:
//
//   - [Rendezvous] has no buffer: Send returns once a receiver has the value.
//   - [Bounded] is a FIFO with a fixed capacity and an overflow policy.
//   - [Elastic] is a FIFO that grows up to its capacity, or up to a limit in bytes (MaxBytes),
//     and gives its memory back.
//   - [Aged] drops values that are too old, or receives stale ones last.
//   - [Sharded] has several queues, called lanes, so that senders on different CPUs do
//     not contend.
//   - [Priority] has levels of urgency, and a bound on how long the least urgent value waits.
//   - [Delay] has a time for each value, at which it can be received.
//
// [Select] waits for several channels. Packages batch, workers, fan, bridge, source and inspect
// build on the kinds; package hub broadcasts to subscribers that come and go; modules spill and
// jetstream provide channels on disk and on servers. docs/choosing.md says which kind to choose,
// and when the built-in chan is better.
//
// # What every kind guarantees
//
// The context of a call matters only when the call would wait. A call that can proceed
// proceeds, even under a context that is done; a call that would wait returns the context's
// error if the context is done, or becomes done during the wait. So a context does not end a
// loop of sends that find room, or of receives that find values: check ctx.Err() in the loop,
// or call Close, which makes the next send fail.
//
//   - If Send fails, its value is never delivered; if Recv fails, it has consumed nothing.
//     Canceling a waiting call loses nothing and duplicates nothing.
//   - After Close, sends fail with [ErrClosed]. Queued values can still be received; then
//     receives fail with [ErrClosed]. Close is idempotent and safe from any goroutine.
//   - A value whose send succeeded is received, or OnUndelivered of the options gets it, exactly
//     once, unless it stays in the channel to the end: see [Reason].
//   - The values of one sender arrive in the order in which it sent them; in a [Sharded],
//     those sent on one lane, or with one key; in a [Priority], those sent on one level; in an
//     [Aged] with StaleAfter, those that are not stale.
//   - No operation allocates in steady state.
//   - A channel has no goroutine of its own, and can be garbage-collected once nothing
//     refers to it, even if it was never closed or drained.
//
// # Memory model
//
// In the terminology of the Go memory model: a Send synchronizes before the Recv that
// receives its value; Close synchronizes before a Recv that returns ErrClosed because
// of it; a Recv from a Rendezvous synchronizes before its Send returns; and, under
// Block or Reject, the k-th Recv from a Bounded, an Elastic or a Priority with capacity C
// synchronizes before the completion of the (k+C)-th Send.
//
// # Limits
//
// A channel made in a testing/synctest bubble belongs to that bubble, as a built-in one
// does, and so does a case for [Select] made from it. A channel made outside a bubble must
// not be waited for inside one.
type Channel[T any] interface {
	Sender[T]
	Receiver[T]
	SendBatch(ctx context.Context, vs []T) (n int, err error)
	RecvBatch(ctx context.Context, buf []T) (n int, err error)
	TryRecvBatch(buf []T) (n int, err error)
	Values(ctx context.Context) *Values[T]
	Ready() <-chan struct{}
	Drain() iter.Seq[T]
	Len() int
	Cap() int
	Stats() Stats
}

// channel is what every kind embeds: an engine, and methods that check their arguments
// before they call it.
//
// The methods must stay small enough to be inlined: two more calls add a sixth to the
// time that a value takes through a buffer.
type channel[T any] struct {
	engine      engine.Engine[T] // nil in a zero value
	undelivered func(T, Reason)  // OnUndelivered of the options
	owner
}

// owner is how other packages of this module find the engine of a channel: see [engine.Of].
type owner = engine.Owner

// zeroValue is the panic of a channel that no constructor has made.
const zeroValue = "sluice: the channel is a zero value; make it with its constructor"

// open puts the methods before the engine that build makes from config. self is the channel of
// which c is a part.
func (c *channel[T]) open(self any, undelivered func(T, Reason), config engine.Config[T], build func(engine.Config[T]) engine.Engine[T]) {
	if config.Name != "" {
		config.Sites = callsite.New()
	}
	config.OnDrop = dropped(config.Overflow, undelivered)
	c.engine, c.undelivered = keepPromises(config, build), undelivered
	engine.Own(&c.owner, self, c.engine)
}

// Send sends v, and waits while there is no room.
//
// It returns nil if the channel accepted the value; [ErrClosed] if the channel is
// closed, or is closed during the wait; [ErrFull] under [Reject]; [ErrTooLarge] if the
// value exceeds a limit in bytes; the context's error if Send would have to wait and
// ctx is done. After an error the value is never delivered. Send does not allocate. A
// nil context panics.
//
// If there is room and ctx is done, Send succeeds, as every kind guarantees: see [Channel].
// Under Reject, [DropNewest] and [DropOldest], Send never waits, so it never returns the
// context's error.
func (c *channel[T]) Send(ctx context.Context, v T) error {
	if ctx == nil {
		panic("sluice: Send: nil context")
	}
	if c.engine == nil {
		panic(zeroValue)
	}
	return c.engine.Send(ctx, v)
}

// TrySend sends v if it can do so without waiting. Otherwise it fails with [ErrFull] or
// [ErrClosed].
func (c *channel[T]) TrySend(v T) error {
	if c.engine == nil {
		panic(zeroValue)
	}
	return c.engine.TrySend(v)
}

// SendBatch sends the values of vs in order, and waits whenever there is no room. It
// returns the number of values sent, always a prefix of vs; the error is nil only if all
// were sent, and otherwise as for Send. An empty batch returns 0, nil.
//
// A batch costs one transfer for each run of values that there is room for, not one per
// value. Values of other senders may arrive between the values of a batch: it yields to
// senders that have waited for long. SendBatch does not retain vs.
func (c *channel[T]) SendBatch(ctx context.Context, vs []T) (n int, err error) {
	if ctx == nil {
		panic("sluice: SendBatch: nil context")
	}
	if len(vs) == 0 {
		return 0, nil
	}
	return c.made().SendBatch(ctx, vs)
}

// Recv receives the next value, and waits while the channel is empty.
//
// It fails with [ErrClosed] once the channel is closed and drained, and with the context's
// error if it would have to wait and ctx is done. After an error nothing was consumed. It
// does not allocate. A nil context panics.
func (c *channel[T]) Recv(ctx context.Context) (T, error) {
	if c.engine == nil {
		panic(zeroValue)
	}
	return c.engine.Recv(ctx) // panics if ctx is nil: with that check here, Recv would not be inlined
}

// TryRecv receives the next value if there is one. Otherwise it fails with [ErrEmpty], or
// with [ErrClosed] once the channel is closed and drained.
func (c *channel[T]) TryRecv() (T, error) {
	if c.engine == nil {
		panic(zeroValue)
	}
	return c.engine.TryRecv()
}

// RecvBatch waits for a value like Recv, then receives as many as there are, up to
// len(buf), into buf, in order. n > 0 implies err == nil; an error is as for Recv. It
// never waits for the buffer to fill. An empty buf returns 0, nil.
func (c *channel[T]) RecvBatch(ctx context.Context, buf []T) (n int, err error) {
	if ctx == nil {
		panic("sluice: RecvBatch: nil context")
	}
	if len(buf) == 0 {
		return 0, nil
	}
	return c.made().RecvBatch(ctx, buf)
}

// TryRecvBatch receives as many values as there are now, up to len(buf), into buf, in
// order. If there is no value it fails with [ErrEmpty], or with [ErrClosed] once the
// channel is closed and drained. An empty buf returns 0, nil.
func (c *channel[T]) TryRecvBatch(buf []T) (n int, err error) {
	if len(buf) == 0 {
		return 0, nil
	}
	n, err = c.made().RecvBatch(engine.NoWait{}, buf)
	if err == context.Canceled {
		err = ErrEmpty
	}
	return n, err
}

// Values returns a loop over the values of the channel, which receives until the channel
// is closed and drained, or ctx is done while it waits: range over its All, then ask its Err. It
// allocates once per loop. A nil context panics.
func (c *channel[T]) Values(ctx context.Context) *Values[T] {
	if ctx == nil {
		panic("sluice: Values: nil context")
	}
	return &Values[T]{ctx: ctx, r: c.made()}
}

// Ready returns a channel for a select statement beside built-in channels:
//
//	case _, ok := <-jobs.Ready():
//		for job := range jobs.Drain() {
//			…
//		}
//		if !ok {
//			return // closed, and the loop above received what was left
//		}
//
// It becomes readable when a value can be received, and again after each receive that
// left a value; after Close it is closed. Another goroutine may receive the value first.
// Every call returns the same channel.
func (c *channel[T]) Ready() <-chan struct{} { return c.made().Ready() }

// Drain returns an iterator over the values that are queued when the loop begins. It
// never waits. Use it in the select case that reads from Ready. In the body of the
// loop, continue and return work as in the case of a built-in channel. A break does
// not: it leaves only the loop over Drain, and a following return on !ok would skip the
// values that are left. Use continue instead. Values that the loop leaves, or that are
// sent meanwhile, make Ready readable again. Once Ready is closed, Drain yields all
// that is left.
func (c *channel[T]) Drain() iter.Seq[T] {
	e := c.made()
	return func(yield func(T) bool) {
		for left := max(1, e.Len()); left > 0; left-- {
			v, err := e.TryRecv()
			if err != nil || !yield(v) {
				return
			}
		}
	}
}

// Close closes the channel: sends fail from now on, waiting ones included, and queued
// values can still be received. Close never waits, is idempotent, and may be called from
// any goroutine.
func (c *channel[T]) Close() { c.made().Close() }

// Discard closes the channel, removes the values that are queued, and returns their number.
// OnUndelivered of the options gets each of them, in the order in which they would have been
// received, in the goroutine that called Discard. A goroutine that receives at the same
// time may get some of them. Call it in place of Close where values hold resources, or
// deferred by the receiver that may end early:
//
//	defer c.Discard()
//
// Discard receives the values: they count as received in Stats, and under a promise of
// SingleReceiver no other goroutine may receive at the same time. If OnUndelivered panics, so does
// Discard, after the call for the last value: see [Reason]. Discard never waits, and is idempotent.
func (c *channel[T]) Discard() (n int) {
	e := c.made()
	e.Close()
	return c.discard(func() (T, bool) {
		v, err := e.Recv(context.Background()) // does not wait after Close
		return v, err == nil
	})
}

// discard is Discard of a channel that is closed. remove removes a value, if there is one.
func (c *channel[T]) discard(remove func() (T, bool)) (n int) {
	engine.Repeat(func() bool {
		v, ok := remove()
		if !ok {
			return false
		}
		n++
		if c.undelivered != nil {
			c.undelivered(v, Discarded)
		}
		return true
	})
	return n
}

// Len returns the number of queued values, exact at one moment during the call.
func (c *channel[T]) Len() int { return c.made().Len() }

// Cap returns the capacity: the maximum of Len.
func (c *channel[T]) Cap() int { return c.made().Cap() }

// Stats returns a consistent view of the channel's counters. It briefly blocks senders and
// receivers: call it once per second, not once per value.
func (c *channel[T]) Stats() Stats { return Stats(c.made().Stats()) }

// made returns the engine, and panics if the channel is a zero value.
func (c *channel[T]) made() engine.Engine[T] {
	if c.engine == nil {
		panic(zeroValue)
	}
	return c.engine
}
