package sluice

import (
	"context"

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

// Unlimited is the capacity of a channel that may grow until memory is exhausted. The
// constructors require a capacity, so unlimited growth is always a deliberate choice.
const Unlimited = int(^uint(0) >> 1)
