package sluice

import (
	"context"
	"iter"

	"github.com/sluice-go/sluice/internal/engine"
)

// Errors of the operations, besides the context's error, which is returned unchanged.
// Compare with [errors.Is].
var (
	// ErrClosed: the channel is closed; for a receive, closed and drained.
	ErrClosed = engine.ErrClosed
	// ErrFull: there is no room, and the call does not wait. TrySend returns it, and any
	// send under the [Reject] policy.
	ErrFull = engine.ErrFull
	// ErrEmpty: there is no value, and the call does not wait. TryRecv and TryRecvBatch
	// return it.
	ErrEmpty = engine.ErrEmpty
	// ErrTooLarge: there is never room: a value exceeds the MaxBytes of a channel or of a
	// batch, or a call of Acquire wants more permits than its semaphore has.
	ErrTooLarge = engine.ErrTooLarge
)

// A Sender is the sending end of a channel. Code that only sends should ask for no more.
type Sender[T any] interface {
	// Send sends v, and waits while there is no room.
	Send(ctx context.Context, v T) error
	// TrySend sends v if it can do so without waiting.
	TrySend(v T) error
	// Close stops further sends. Queued values can still be received.
	Close()
}

// A Receiver is the receiving end of a channel.
type Receiver[T any] interface {
	// Recv receives the next value, and waits while the channel is empty. Once the
	// channel is closed and drained it fails with ErrClosed.
	Recv(ctx context.Context) (T, error)
	// TryRecv receives the next value if there is one.
	TryRecv() (T, error)
}

// A BatchSender is a Sender that also sends many values at once, as every kind does.
type BatchSender[T any] interface {
	Sender[T]
	// SendBatch sends vs in order and returns the number of values sent, a prefix; the
	// error is nil only if all were sent.
	SendBatch(ctx context.Context, vs []T) (n int, err error)
}

// A BatchReceiver is a Receiver that also receives many values at once, as every kind
// does.
type BatchReceiver[T any] interface {
	Receiver[T]
	// RecvBatch waits for a value, then receives as many as there are, up to len(buf).
	// n > 0 implies err == nil.
	RecvBatch(ctx context.Context, buf []T) (n int, err error)
}

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
// jetstream provide channels on disk and on servers. docs/choosing.md shows which kind to choose,
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

// Unlimited is the capacity of a channel that may grow until memory is exhausted. The
// constructors require a capacity, so unlimited growth is always a deliberate choice.
const Unlimited = int(^uint(0) >> 1)
