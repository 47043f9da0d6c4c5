package sluice

import (
	"github.com/sluice-go/sluice/internal/engine"
	"github.com/sluice-go/sluice/internal/locked"
	"github.com/sluice-go/sluice/internal/registry"
	"github.com/sluice-go/sluice/internal/segqueue"
)

// A Bounded is a FIFO with a fixed number of slots. A limit in bytes needs an [Elastic].
//
// The methods that every kind has, in short:
//
//   - Send waits for room, Recv for a value, both under a context. TrySend and TryRecv
//     do not wait: they fail with ErrFull and ErrEmpty.
//   - SendBatch and RecvBatch move many values for the price of one; TryRecvBatch does
//     not wait.
//   - Close stops further sends, from any goroutine, any number of times. Queued values can
//     still be received; then receives fail with ErrClosed. Discard also removes them.
//   - Values loops over the values and reports why the loop ended. Ready and Drain are
//     for a select statement with built-in channels.
//   - Len, Cap and Stats report the state.
//
// If Send fails, its value is never delivered; if Recv fails, it has consumed nothing.
type Bounded[T any] struct{ channel[T] }

// chainCapacity is the smallest capacity that gets the segqueue engine. Below it a wait
// is cheaper in the locked engine, and waits are what counts there:
// docs/adr/0001-two-engines.md has the figures.
const chainCapacity = 16

// ringBytes is the size of the largest ring that is allocated at once. A larger
// Bounded takes its memory as it fills, like an Elastic of that capacity, but keeps it: the
// caller chose how much that is.
const ringBytes = 1 << 20

// BoundedOptions are the optional settings of a [Bounded]. Nil selects the defaults. The
// constructor copies them.
type BoundedOptions[T any] struct {
	// Name is reported by Stats, and registers the channel with package inspect. It
	// need not be unique. A channel without a name is not registered.
	Name string

	// Overflow is what a send does while the channel is full. The default is Block.
	Overflow Overflow

	// OnUndelivered is called exactly once with each value that no receiver will get, and the
	// reason: see [Reason].
	OnUndelivered func(v T, why Reason)

	// SingleSender and SingleReceiver promise that no two goroutines send (Send,
	// TrySend, SendBatch), or receive, at the same time. Close is exempt. A promise
	// makes the channel cheaper. A program built with -race or -tags sluicecheck panics
	// when it breaks one; in any other build a broken promise loses or duplicates values.
	SingleSender   bool
	SingleReceiver bool
}

// NewBounded returns a Bounded of exactly the given capacity, in values, as in
// NewBounded[Job](128, nil). With capacity 0
// it behaves like a [Rendezvous], so that a size from a configuration may be 0, as with
// make(chan T, n). A negative capacity, and options that make no sense, panic.
//
// Up to 1 MiB of slots are allocated here. A larger channel takes memory as values are
// queued, and keeps it for later values: it holds what its longest queue has needed, at
// most the slots of its capacity and 16 KiB, and a steady flow does not allocate. To have the
// memory back when the queue is short, use an [Elastic]. Slices that senders pass by reference
// can double it: see SendSlice of package batch.
func NewBounded[T any](capacity int, o *BoundedOptions[T]) *Bounded[T] {
	const function = "NewBounded"
	requireCapacity(function, capacity, 0)
	if o == nil {
		o = new(BoundedOptions[T])
	}
	if capacity == 0 {
		requireOverflow(function, o.Overflow, DropNewest)
	} else {
		requireOverflow(function, o.Overflow, DropNewest, DropOldest)
	}
	b := new(Bounded[T])
	b.open(b, o.OnUndelivered, engine.Config[T]{
		Name: o.Name, Limit: capacity, Overflow: engine.Overflow(o.Overflow),
		SingleSender: o.SingleSender, SingleReceiver: o.SingleReceiver,
	}, func(c engine.Config[T]) engine.Engine[T] {
		if capacity < chainCapacity {
			return registry.Engine("Bounded", c, locked.New(c))
		}
		if capacity > ringBytes/max(1, engine.SizeOf[T]()) {
			c.Elastic, c.Shrink = true, engine.NoShrink
		}
		return registry.Engine("Bounded", c, segqueue.New(c))
	})
	return b
}
