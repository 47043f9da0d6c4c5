package sluice

import (
	"context"
	"iter"

	"github.com/sluice-go/sluice/internal/engine"
)

// What an operation can fail with, besides the error of its context, which is
// returned as it is. Compare with [errors.Is].
var (
	// ErrClosed: the channel is closed; for a receive, closed and drained.
	ErrClosed = engine.ErrClosed
	// ErrFull: there is no room now, and the call does not wait for it. Only
	// TrySend, and any send under the [Reject] policy, return it.
	ErrFull = engine.ErrFull
	// ErrEmpty: there is nothing to receive now. Only TryRecv returns it.
	ErrEmpty = engine.ErrEmpty
	// ErrTooLarge: the value alone is larger than [Options.LimitBytes], so it
	// could not be sent even into an empty channel.
	ErrTooLarge = engine.ErrTooLarge
)

// A Sender is the end of a channel that values go into. Every kind of this
// package is one; code that only sends should ask for no more.
type Sender[T any] interface {
	// Send sends v, and waits for room if there is none.
	Send(ctx context.Context, v T) error
	// TrySend sends v if that is possible without waiting.
	TrySend(v T) error
	// Close ends the sending. See [Receiver] for what is still buffered.
	Close()
}

// A Receiver is the end of a channel that values come out of.
type Receiver[T any] interface {
	// Recv receives the next value, and waits if there is none. Once the
	// channel is closed and drained it fails with ErrClosed.
	Recv(ctx context.Context) (T, error)
	// TryRecv receives the next value if there is one.
	TryRecv() (T, error)
}

// A BatchSender is a Sender that also takes many values at once, as every kind
// of this package does.
type BatchSender[T any] interface {
	Sender[T]
	// SendBatch sends vs in order and returns how many it sent, a prefix; the
	// error is nil only if that is all of them.
	SendBatch(ctx context.Context, vs []T) (n int, err error)
}

// A BatchReceiver is a Receiver that also hands out many values at once.
type BatchReceiver[T any] interface {
	Receiver[T]
	// RecvBatch waits for a value, then takes as many as there are, up to
	// len(buf). n > 0 implies err == nil.
	RecvBatch(ctx context.Context, buf []T) (n int, err error)
}

// A Channel is all that the kinds of this package have in common: the type for a struct
// field or a parameter that any kind fits. A type of your own that implements it keeps
// what the methods of [Bounded] promise, and fails with no other errors.
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

// Unlimited is the limit of an [Elastic] that may grow until memory ends. It is
// a word so that the choice stands in the code of whoever makes it.
const Unlimited = int(^uint(0) >> 1)
