package sluice

import (
	"fmt"

	"github.com/sluice-go/sluice/internal/engine"
)

// RendezvousOptions are the optional settings of a [Rendezvous]. Nil selects the
// defaults. The constructor copies them.
type RendezvousOptions[T any] struct {
	// Name is reported by Stats, and registers the channel with package inspect. It
	// need not be unique. A channel without a name is not registered.
	Name string

	// Overflow is what a send does while no receiver waits: Block (the default), Reject
	// or DropNewest. DropOldest panics: there is no buffer to drop from.
	Overflow Overflow

	// OnDrop is called exactly once with each value that DropNewest discards, by the
	// goroutine whose send discarded it, before that send returns. It may use the
	// channel. If it panics, so does the send.
	OnDrop func(v T)

	// SingleSender and SingleReceiver promise that no two goroutines send (Send,
	// TrySend, SendBatch), or receive, at the same time. Close is exempt. A promise
	// makes the channel cheaper. A program built with -race or -tags sluicecheck panics
	// when it breaks one; in any other build a broken promise loses or duplicates values.
	SingleSender   bool
	SingleReceiver bool
}

// BoundedOptions are the optional settings of a [Bounded]. Nil selects the defaults. The
// constructor copies them.
type BoundedOptions[T any] struct {
	// Name is reported by Stats, and registers the channel with package inspect. It
	// need not be unique. A channel without a name is not registered.
	Name string

	// Overflow is what a send does while the channel is full. The default is Block.
	Overflow Overflow

	// OnDrop is called exactly once with each value that DropNewest or DropOldest
	// discards, by the goroutine whose send discarded it, before that send returns. It
	// may use the channel. If it panics, so does the send.
	OnDrop func(v T)

	// SingleSender and SingleReceiver promise that no two goroutines send (Send,
	// TrySend, SendBatch), or receive, at the same time. Close is exempt. A promise
	// makes the channel cheaper. A program built with -race or -tags sluicecheck panics
	// when it breaks one; in any other build a broken promise loses or duplicates values.
	SingleSender   bool
	SingleReceiver bool
}

// ElasticOptions are the optional settings of an [Elastic]. Nil selects the defaults. The
// constructor copies them.
type ElasticOptions[T any] struct {
	// Name is reported by Stats, and registers the channel with package inspect. It
	// need not be unique. A channel without a name is not registered.
	Name string

	// Overflow is what a send does while the channel is at its limit. The default is
	// Block.
	Overflow Overflow

	// OnDrop is called exactly once with each value that DropNewest or DropOldest
	// discards, by the goroutine whose send discarded it, before that send returns. It
	// may use the channel. If it panics, so does the send.
	OnDrop func(v T)

	// SingleSender and SingleReceiver promise that no two goroutines send (Send,
	// TrySend, SendBatch), or receive, at the same time. Close is exempt. A promise
	// makes the channel cheaper. A program built with -race or -tags sluicecheck panics
	// when it breaks one; in any other build a broken promise loses or duplicates values.
	SingleSender   bool
	SingleReceiver bool

	// Shrink is when the channel gives memory back. The default is ShrinkHalf.
	Shrink ShrinkMode

	// LimitBytes bounds the sum of the sizes of the queued values, in addition to the
	// limit in values. 0 means no limit in bytes. Under Reject the limit is cheapest, and
	// a value may be rejected although up to 1/256 of LimitBytes is free.
	LimitBytes int64

	// Size returns the size of a value in bytes. It is required with LimitBytes, unless
	// T is []byte or string: the size of a []byte is then its capacity, and that of a
	// string its length, plus the header. A []byte that exceeds the limit only because
	// of its spare capacity counts as LimitBytes. The sender calls Size once per value
	// (a Select that has to wait calls it again). Size must not return a negative
	// number, and must not use the channel.
	Size func(v T) int
}

// ShardedOptions are the optional settings of a [Sharded]. Nil selects the defaults. The
// constructor copies them.
type ShardedOptions[T any] struct {
	// Name is reported by Stats, and registers the channel with package inspect. It
	// need not be unique. A channel without a name is not registered.
	Name string

	// Overflow is what a send does while every lane it may use is full. The default is
	// Block. DropOldest drops the oldest value of one lane.
	Overflow Overflow

	// OnDrop is called exactly once with each value that DropNewest or DropOldest
	// discards, by the goroutine whose send discarded it, before that send returns. It
	// may use the channel. If it panics, so does the send.
	OnDrop func(v T)

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

// Overflow is what a send does when there is no room for its value.
type Overflow uint8

const (
	// Block waits for room. TrySend fails with ErrFull.
	Block Overflow = iota
	// Reject fails with ErrFull immediately.
	Reject
	// DropNewest discards the value being sent. The send succeeds.
	DropNewest
	// DropOldest discards the value that would have been received next, and queues the new
	// value. The send succeeds. With capacity 1 the channel holds the latest value.
	DropOldest
)

var overflowNames = [...]string{"Block", "Reject", "DropNewest", "DropOldest"}

// String returns the name of the policy.
func (o Overflow) String() string {
	if int(o) < len(overflowNames) {
		return overflowNames[o]
	}
	return fmt.Sprintf("Overflow(%d)", uint8(o))
}

// ShrinkMode is when an [Elastic], or a lane of a [Sharded], gives memory back that it
// does not need now.
type ShrinkMode uint8

const (
	// ShrinkHalf keeps at most as much spare memory as the queued values occupy, except
	// for the first few KiB: at least half of the memory held is in use. A queue that
	// swings between empty and more than a few KiB allocates again each time; NoShrink
	// avoids it.
	ShrinkHalf ShrinkMode = iota
	// ShrinkEmpty keeps all memory until the channel is empty.
	ShrinkEmpty
	// NoShrink keeps all memory as long as the channel lives.
	NoShrink
)

var shrinkNames = [...]string{"ShrinkHalf", "ShrinkEmpty", "NoShrink"}

// String returns the name of the mode.
func (m ShrinkMode) String() string {
	if int(m) < len(shrinkNames) {
		return shrinkNames[m]
	}
	return fmt.Sprintf("ShrinkMode(%d)", uint8(m))
}

// config checks the options and returns what the engine reads. The types make most
// combinations that make no sense impossible; what depends on a value panics here.
func (o *RendezvousOptions[T]) config() engine.Config[T] {
	if o == nil {
		return engine.Config[T]{}
	}
	requireOverflow("NewRendezvous", o.Overflow, o.OnDrop != nil, false)
	return engine.Config[T]{
		Name: o.Name, Overflow: engine.Overflow(o.Overflow), OnDrop: o.OnDrop,
		SingleSender: o.SingleSender, SingleReceiver: o.SingleReceiver,
	}
}

func (o *BoundedOptions[T]) config(capacity int) engine.Config[T] {
	if o == nil {
		return engine.Config[T]{Limit: capacity}
	}
	requireOverflow("NewBounded", o.Overflow, o.OnDrop != nil, capacity > 0)
	return engine.Config[T]{
		Name: o.Name, Limit: capacity, Overflow: engine.Overflow(o.Overflow), OnDrop: o.OnDrop,
		SingleSender: o.SingleSender, SingleReceiver: o.SingleReceiver,
	}
}

func (o *ElasticOptions[T]) config(limit int) engine.Config[T] {
	if o == nil {
		return engine.Config[T]{Limit: limit, Elastic: true}
	}
	const function = "NewElastic"
	requireOverflow(function, o.Overflow, o.OnDrop != nil, true)
	requireShrink(function, o.Shrink)
	size := o.Size
	if o.LimitBytes > 0 && size == nil {
		size = engine.KnownSize[T](o.LimitBytes)
	}
	switch {
	case o.LimitBytes < 0:
		refuse(function, "LimitBytes must not be negative (got %d)", o.LimitBytes)
	case o.LimitBytes > 0 && size == nil:
		var v T
		refuse(function, "LimitBytes requires Size for values of type %T", v)
	case o.LimitBytes == 0 && o.Size != nil:
		refuse(function, "Size requires LimitBytes")
	}
	return engine.Config[T]{
		Name: o.Name, Limit: limit, Elastic: true, Overflow: engine.Overflow(o.Overflow), OnDrop: o.OnDrop,
		SingleSender: o.SingleSender, SingleReceiver: o.SingleReceiver, Shrink: engine.Shrink(o.Shrink),
		LimitBytes: o.LimitBytes, Size: size, SizeIsKnown: o.LimitBytes > 0 && o.Size == nil,
	}
}

func (o *ShardedOptions[T]) config(limit int) engine.Config[T] {
	if o == nil {
		return engine.Config[T]{Limit: limit}
	}
	const function = "NewSharded"
	requireOverflow(function, o.Overflow, o.OnDrop != nil, true)
	requireShrink(function, o.Shrink)
	if o.Lanes < 0 || o.Lanes > maxLanes {
		refuse(function, "Lanes must be from 0 to %d (got %d)", maxLanes, o.Lanes)
	}
	return engine.Config[T]{
		Name: o.Name, Limit: limit, Overflow: engine.Overflow(o.Overflow), OnDrop: o.OnDrop,
		SingleReceiver: o.SingleReceiver, Shrink: engine.Shrink(o.Shrink), Lanes: o.Lanes,
	}
}

// refuse panics on behalf of a constructor that was given what makes no sense.
func refuse(function, format string, args ...any) {
	panic("sluice: " + function + ": " + fmt.Sprintf(format, args...))
}

// requireOverflow panics if the policy is unknown, if it needs a buffer and the channel has
// no buffer, or if OnDrop would never be called.
func requireOverflow(function string, o Overflow, onDrop, buffer bool) {
	switch {
	case int(o) >= len(overflowNames):
		refuse(function, "unknown policy %v (want Block, Reject, DropNewest or DropOldest)", o)
	case o == DropOldest && !buffer:
		refuse(function, "DropOldest requires a buffer to drop from")
	case onDrop && o != DropNewest && o != DropOldest:
		refuse(function, "OnDrop requires DropNewest or DropOldest (got %v, which drops nothing)", o)
	}
}

func requireShrink(function string, m ShrinkMode) {
	if int(m) >= len(shrinkNames) {
		refuse(function, "unknown mode %v (want ShrinkHalf, ShrinkEmpty or NoShrink)", m)
	}
}

// requireLimit panics, in the name of function, if value is below least.
func requireLimit(function, what string, value, least int) {
	if value < least {
		refuse(function, "%s must be at least %d (got %d)", what, least, value)
	}
}
