package sluice

import (
	"github.com/sluice-go/sluice/internal/engine"
	"github.com/sluice-go/sluice/internal/locked"
	"github.com/sluice-go/sluice/internal/registry"
	"github.com/sluice-go/sluice/internal/segqueue"
)

// An Elastic is a FIFO that grows as needed, up to its capacity or up to a limit in bytes, and
// gives memory back when the backlog is gone. It has the methods of [Channel], documented at [Bounded].
type Elastic[T any] struct{ channel[T] }

// ElasticOptions are the optional settings of an [Elastic]. Nil selects the defaults. The
// constructor copies them.
type ElasticOptions[T any] struct {
	// Name is reported by Stats, and registers the channel with package inspect. It
	// need not be unique. A channel without a name is not registered.
	Name string

	// Overflow is what a send does while the channel is full. The default is
	// Block.
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

	// Shrink is when the channel gives memory back. The default is ShrinkHalf.
	Shrink ShrinkMode

	// MaxBytes bounds the sum of the sizes of the queued values, in addition to the
	// capacity in values. 0 means no bound in bytes. Under Reject the bound is cheapest, and
	// a value may be rejected although up to 1/256 of MaxBytes is free. Slots are not
	// included: see Stats.Bytes.
	MaxBytes int64

	// Size returns the size of a value in bytes: of the value itself, and of what only it
	// refers to. Size is required with MaxBytes if T contains pointers, unless T is []byte or
	// string: the size is then the capacity of a []byte, or the length of a string,
	// plus the header. A []byte that exceeds MaxBytes only because of its spare capacity
	// counts as MaxBytes; clip slices of a larger buffer (slices.Clip). If T contains no
	// pointers, each value counts as the size of a T: MaxBytes divided by it is then a capacity
	// in values, and Cap returns the lower one. The sender calls Size once per value (a Select
	// that has to wait calls it again). Size must not return a negative number, and must not use
	// the channel.
	Size func(v T) int
}

// NewElastic returns an empty Elastic that queues at most capacity values; write
// [Unlimited] if memory is the only limit. [ElasticOptions.MaxBytes] bounds its size in
// bytes as well. A capacity below 1, and options that make no sense, panic.
func NewElastic[T any](capacity int, o *ElasticOptions[T]) *Elastic[T] {
	const function = "NewElastic"
	requireCapacity(function, capacity, 1)
	if o == nil {
		o = new(ElasticOptions[T])
	}
	requireOverflow(function, o.Overflow, DropNewest, DropOldest)
	requireShrink(function, o.Shrink)
	config := engine.Config[T]{
		Name: o.Name, Limit: capacity, Elastic: true, Overflow: engine.Overflow(o.Overflow), Shrink: engine.Shrink(o.Shrink),
		SingleSender: o.SingleSender, SingleReceiver: o.SingleReceiver,
	}
	o.boundBytes(function, &config)
	e := new(Elastic[T])
	e.open(e, o.OnUndelivered, config, func(c engine.Config[T]) engine.Engine[T] {
		switch {
		case c.Size == nil:
			return registry.Engine("Elastic", c, segqueue.New(c))
		case c.Overflow == engine.Reject: // no sender waits for room
			m := segqueue.NewMetered(c)
			registry.Engine("Elastic", c, m.Queue)
			if c.SizeIsKnown {
				return segqueue.Known(m)
			}
			return m
		default:
			// Sizes are added up under one lock, and a large value is not
			// overtaken by smaller ones: locked does both.
			return registry.Engine("Elastic", c, locked.New(c))
		}
	})
	return e
}

// boundBytes adds MaxBytes and Size to c. For values of a fixed size, MaxBytes is a capacity.
func (o *ElasticOptions[T]) boundBytes(function string, c *engine.Config[T]) {
	switch {
	case o.MaxBytes < 0:
		refuse(function, "MaxBytes must not be negative (got %d)", o.MaxBytes)
	case o.MaxBytes == 0 && o.Size != nil:
		refuse(function, "Size requires MaxBytes")
	case o.MaxBytes == 0:
		return
	}
	c.MaxBytes, c.Size = o.MaxBytes, o.Size
	if c.Size != nil {
		return
	}
	if c.Size = engine.KnownSize[T](o.MaxBytes); c.Size != nil {
		c.SizeIsKnown = true
		return
	}
	if engine.HasPointers[T]() {
		var v T
		refuse(function, "MaxBytes requires Size for values of type %T, which contains pointers", v)
	}
	size := engine.SizeOf[T]()
	slots := o.MaxBytes / int64(max(size, 1))
	if slots == 0 {
		refuse(function, "MaxBytes must be at least %d, the size of a value (got %d)", size, o.MaxBytes)
	}
	c.MaxBytes, c.Limit = 0, int(min(slots, int64(c.Limit)))
}
