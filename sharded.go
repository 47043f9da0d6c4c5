package sluice

import (
	"context"
	"runtime"

	"github.com/sluice-go/sluice/internal/engine"
	"github.com/sluice-go/sluice/internal/registry"
	"github.com/sluice-go/sluice/internal/shard"
)

// A Sharded is a channel for many CPUs: several lanes, each a FIFO with cache lines of its
// own, so that senders on different CPUs do not contend.
//
// Order holds per lane and per key: values sent on one [Lane] arrive in that order, and
// so do values that one goroutine sends with the same key by SendKey, even while the
// number of lanes changes. Send, TrySend and SendBatch promise no order; they prefer the
// lane that the current CPU used last, and take any other one with room. Receivers take
// from all lanes in turn: one receiver drains them all, and no lane starves.
//
// [ShardedOptions.Lanes] fixes the number of lanes; by default it follows the contention. As
// long as there is one, because there are no keys, no calls of Lane and no contention, a Sharded
// costs what an [Elastic] does.
// Stats reports the number and the reason for its last change. The methods that every
// kind has are documented at [Bounded].
type Sharded[T any] struct {
	channel[T]
	lanes *shard.Engine[T]
}

// maxLanes bounds ShardedOptions.Lanes.
const maxLanes = 1 << 15

// ShardedOptions are the optional settings of a [Sharded]. Nil selects the defaults. The
// constructor copies them.
type ShardedOptions[T any] struct {
	// Name is reported by Stats, and registers the channel with package inspect. It
	// need not be unique. A channel without a name is not registered.
	Name string

	// Overflow is what a send does while every lane it may use is full. The default is
	// Block. DropOldest drops the oldest value of one lane.
	Overflow Overflow

	// OnUndelivered is called exactly once with each value that no receiver will get, and the
	// reason: see [Reason].
	OnUndelivered func(v T, why Reason)

	// SingleReceiver promises that no two goroutines receive at the same time; see
	// [BoundedOptions]. For a single sender take an [Elastic]: lanes exist for many.
	SingleReceiver bool

	// Shrink is when a lane gives memory back. The default is ShrinkHalf.
	Shrink ShrinkMode

	// Lanes fixes the number of lanes, at most 32768. With 0, the default, there is one
	// lane at first; the number grows under contention, up to the GOMAXPROCS at the time
	// of construction, and shrinks when the contention is over.
	Lanes int
}

// NewSharded returns an empty Sharded, each lane of which queues at most capacity values;
// write [Unlimited] if memory is the only limit. Cap is the sum over all lanes that may
// exist, those made by Lane included. Send, TrySend and SendBatch wait or fail only if all
// lanes are full that no call of Lane has made. A
// capacity below 1, and options that make no sense, panic.
//
// A lane takes memory as an [Elastic] does, and a few hundred bytes when empty.
func NewSharded[T any](capacity int, o *ShardedOptions[T]) *Sharded[T] {
	const function = "NewSharded"
	requireCapacity(function, capacity, 1)
	if o == nil {
		o = new(ShardedOptions[T])
	}
	requireOverflow(function, o.Overflow, DropNewest, DropOldest)
	requireShrink(function, o.Shrink)
	if o.Lanes < 0 || o.Lanes > maxLanes {
		refuse(function, "Lanes must be from 0 to %d (got %d)", maxLanes, o.Lanes)
	}
	s := new(Sharded[T])
	s.open(s, o.OnUndelivered, engine.Config[T]{
		Name: o.Name, Limit: capacity, Overflow: engine.Overflow(o.Overflow),
		SingleReceiver: o.SingleReceiver, Shrink: engine.Shrink(o.Shrink), Lanes: o.Lanes,
	}, func(c engine.Config[T]) engine.Engine[T] {
		s.lanes = shard.New(c)
		return registry.Engine("Sharded", c, s.lanes)
	})
	return s
}

// SendKey sends v, in order with what the same goroutine sent with the same key before.
// The key selects the lane, so a full lane makes SendKey wait, fail or drop even while
// other lanes have room. Otherwise it behaves like Send. To get a key from a string or a
// struct see [hash/maphash.Comparable].
func (s *Sharded[T]) SendKey(ctx context.Context, key uint64, v T) error {
	if ctx == nil {
		panic("sluice: SendKey: nil context")
	}
	s.made()
	return s.lanes.SendKey(ctx, key, v)
}

// Lane adds a lane for the exclusive use of one sender, and returns its sending end:
// the cheapest way to send, and one that keeps the order. It allocates. Each lane adds
// a little to the cost of receiving, so use one for a goroutine that sends many values,
// and close it at the end. A Lane that becomes unreachable counts as closed.
func (s *Sharded[T]) Lane() *Lane[T] {
	s.made()
	handle := s.lanes.Lane()
	l := &Lane[T]{sender: keepLanePromise(handle), handle: handle}
	engine.Own(&l.owner, l, handle)
	return l
}

// A Lane is a [BatchSender] into a [Sharded]: what it sends arrives in order. No two
// goroutines may send on it at the same time. A program built with -race or -tags
// sluicecheck panics if they do; in other builds values may be lost. Closing the Sharded
// closes all lanes.
type Lane[T any] struct {
	sender engine.Sender[T] // the handle's, or one that is checked; nil in a zero value
	handle *shard.Handle[T]
	owner
}

// Send sends v like [Bounded.Send], but on this lane: it waits, fails or drops if the lane
// is full. After Close of the lane it fails with [ErrClosed].
func (l *Lane[T]) Send(ctx context.Context, v T) error {
	if ctx == nil {
		panic("sluice: Send: nil context")
	}
	err := l.made().Send(ctx, v)
	runtime.KeepAlive(l) // or the lane may be taken away while this waits
	return err
}

// TrySend sends v if it can do so without waiting. Otherwise it fails with [ErrFull] or
// [ErrClosed].
func (l *Lane[T]) TrySend(v T) error {
	err := l.made().TrySend(v)
	runtime.KeepAlive(l)
	return err
}

// SendBatch sends the values of vs in order, and waits whenever the lane has no room. It
// returns the number of values sent, always a prefix of vs; the error is nil only if all
// were sent. vs is not retained.
func (l *Lane[T]) SendBatch(ctx context.Context, vs []T) (n int, err error) {
	if ctx == nil {
		panic("sluice: SendBatch: nil context")
	}
	if len(vs) == 0 {
		return 0, nil
	}
	n, err = l.made().SendBatch(ctx, vs)
	runtime.KeepAlive(l)
	return n, err
}

// Close closes the lane: sends on it fail, waiting ones included, and what was sent can
// still be received. The channel stays open. Close is idempotent.
func (l *Lane[T]) Close() {
	l.made()
	l.handle.Close()
}

// made returns the sender, and panics if the Lane is a zero value.
func (l *Lane[T]) made() engine.Sender[T] {
	if l.sender == nil {
		panic("sluice: the Lane is a zero value; get it from Sharded.Lane")
	}
	return l.sender
}
