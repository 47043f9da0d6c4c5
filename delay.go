package sluice

import (
	"context"
	"time"

	"github.com/sluice-go/sluice/internal/engine"
	"github.com/sluice-go/sluice/internal/locked"
	"github.com/sluice-go/sluice/internal/registry"
)

// A Delay is a queue whose values become receivable at a time: retries, timeouts, reminders.
// A receive takes the value that was due first, and waits while none is due:
//
//	retries := sluice.NewDelay[Job](1024, nil)
//	retry, err := retries.SendAfter(ctx, time.Minute, job)
//	next, err := retries.Recv(ctx) // in a minute
//	job, ok := retry.Cancel()      // unless it was received
//
// SendAt and SendAfter choose the time. Send, TrySend and SendBatch send values that are due at
// the time that [DelayOptions.DueAt] returns, or else at once. Values that are due at the same
// time arrive in the order in which they were sent. A change of the computer's clock does not
// move a value that was sent.
//
// # Close
//
// After Close, sends fail. Values that are not due yet stay, and become receivable at their
// times; a receive waits for them, and fails with [ErrClosed] after the last. CancelAll takes
// out all that are left. Ready is closed once the channel is closed and all values that it has
// are due.
//
// # State
//
// Len counts all values, due or not, and so does the capacity. TryRecv fails with [ErrEmpty] if
// none is due. A canceled value counts as received in Stats, whose OldestValue is for how long
// the next value has been due. There is no goroutine: a timer is set only while a goroutine
// waits, or after Ready was called. The methods that every kind has are documented at
// [Bounded].
type Delay[T any] struct {
	channel[T]
	timed *locked.Timed[T]
}

// DelayOptions are the optional settings of a [Delay]. Nil selects the defaults. The
// constructor copies them.
type DelayOptions[T any] struct {
	// Name is reported by Stats, and registers the channel with package inspect. It
	// need not be unique. A channel without a name is not registered.
	Name string

	// Overflow is what a send does while the channel is full: Block (the default),
	// Reject or DropNewest. DropOldest panics: the next value is the one that is due.
	Overflow Overflow

	// OnUndelivered is called exactly once with each value that no receiver will get, and the
	// reason: see [Reason].
	OnUndelivered func(v T, why Reason)

	// DueAt returns when a value that Send, TrySend or SendBatch sends is due. If it is nil,
	// it is due at once. The sender calls it before it sends, and a Select when it tries and before
	// it waits.
	DueAt func(v T) time.Time
}

// NewDelay returns an empty Delay that queues at most capacity values; write [Unlimited] if
// memory is the only limit. A capacity below 1, and options that make no sense, panic. A send,
// a receive and a cancel cost O(log n) with n values.
func NewDelay[T any](capacity int, o *DelayOptions[T]) *Delay[T] {
	const function = "NewDelay"
	requireCapacity(function, capacity, 1)
	if o == nil {
		o = new(DelayOptions[T])
	}
	requireOverflow(function, o.Overflow, DropNewest)
	dueAt := o.DueAt
	d := new(Delay[T])
	d.open(d, o.OnUndelivered, engine.Config[T]{
		Name: o.Name, Limit: capacity, Overflow: engine.Overflow(o.Overflow),
	}, func(c engine.Config[T]) engine.Engine[T] {
		d.timed = locked.NewTimed(c, dueAt)
		return registry.Engine("Delay", c, d.timed.Engine)
	})
	return d
}

// SendAt sends v, which is due at t, or at once if t has passed. It waits, and fails, like
// Send. The result cancels the value.
func (d *Delay[T]) SendAt(ctx context.Context, t time.Time, v T) (Pending[T], error) {
	if ctx == nil {
		panic("sluice: SendAt: nil context")
	}
	d.made()
	ticket, err := d.timed.SendAt(ctx, t, v)
	return Pending[T]{d.timed, ticket}, err
}

// SendAfter sends v, which is due after the given time, or at once if that is not positive.
// The time begins with the call, even if the call waits for room. Otherwise it is like SendAt.
func (d *Delay[T]) SendAfter(ctx context.Context, after time.Duration, v T) (Pending[T], error) {
	if ctx == nil {
		panic("sluice: SendAfter: nil context")
	}
	d.made()
	ticket, err := d.timed.SendAfter(ctx, after, v)
	return Pending[T]{d.timed, ticket}, err
}

// CancelAll removes and returns all values, due or not, in the order in which they would have
// been received. After Close it ends the channel: receivers get [ErrClosed].
func (d *Delay[T]) CancelAll() []T {
	d.made()
	return d.timed.CancelAll()
}

// Discard closes the channel, and removes all values, due or not: see [Bounded.Discard].
func (d *Delay[T]) Discard() (n int) {
	d.made().Close()
	return d.discard(func() (T, bool) { return d.timed.Engine.Evict(1) })
}

// A Pending is a value in a [Delay]. Its zero value stands for no value.
type Pending[T any] struct {
	timed  *locked.Timed[T]
	ticket locked.Ticket
}

// Cancel removes the value from the channel and returns it. ok is false if that is too late:
// the value was received, canceled or dropped before, or was never sent.
func (p Pending[T]) Cancel() (v T, ok bool) {
	if p.timed == nil {
		return v, false
	}
	return p.timed.Cancel(p.ticket)
}
