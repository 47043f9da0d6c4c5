package sluice

import (
	"fmt"
	"time"

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

	// OnUndelivered is called exactly once with each value that no receiver will get, and the
	// reason: see [Reason]. It takes the place of OnDrop: setting both panics.
	OnUndelivered func(v T, why Reason)

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

	// OnUndelivered is called exactly once with each value that no receiver will get, and the
	// reason: see [Reason]. It takes the place of OnDrop: setting both panics.
	OnUndelivered func(v T, why Reason)

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
	// discards, by the goroutine whose send discarded it, before that send returns, and
	// with each value that is older than MaxAge, by the goroutine whose call dropped it. It
	// may use the channel. If it panics, so does the call; a send may have sent its value by
	// then.
	OnDrop func(v T)

	// OnUndelivered is called exactly once with each value that no receiver will get, and the
	// reason: see [Reason]. It takes the place of OnDrop: setting both panics.
	OnUndelivered func(v T, why Reason)

	// MaxAge, if not 0, is the age beyond which a value is not received any more. The age
	// begins when the channel accepts the value. Each send and each receive first drops the
	// values that are too old: a receive returns none of them, and a send finds their
	// room. When the oldest value becomes too old, the sender that has waited longest gets its
	// room, unless another call comes at that moment.
	// Between calls nothing is dropped, so Len counts such values until the next call.
	//
	// With MaxAge or StaleAfter a value has a time stamp, senders and receivers share one
	// lock, and each call reads the clock: a value costs two to eight times as much as without,
	// about as much as with LimitBytes. MaxAge and StaleAfter cannot be combined with LimitBytes,
	// and SingleSender and SingleReceiver have no effect beside them.
	MaxAge time.Duration

	// StaleAfter, if not 0, is the age from which a value is stale. Stale values are received
	// only if there is no other, the newest first; the others are received first, in the order
	// in which they were sent. After an outage, receivers get what is new, and then
	// the backlog from its newest value to its oldest. As long as there are always values that
	// are not stale, stale ones wait: MaxAge limits for how long. DropOldest drops the oldest
	// value.
	StaleAfter time.Duration

	// SingleSender and SingleReceiver promise that no two goroutines send (Send,
	// TrySend, SendBatch), or receive, at the same time. Close is exempt. A promise
	// makes the channel cheaper. A program built with -race or -tags sluicecheck panics
	// when it breaks one; in any other build a broken promise loses or duplicates values.
	SingleSender   bool
	SingleReceiver bool

	// Shrink is when the channel gives memory back. The default is ShrinkHalf. With MaxAge or
	// StaleAfter, ShrinkHalf gives back what exceeds four times the queue.
	Shrink ShrinkMode

	// LimitBytes bounds the sum of the sizes of the queued values, in addition to the
	// limit in values. 0 means no limit in bytes. Under Reject the limit is cheapest, and
	// a value may be rejected although up to 1/256 of LimitBytes is free. Slots are not
	// included: see Stats.Bytes.
	LimitBytes int64

	// Size returns the size of a value in bytes: of the value itself, and of what only it
	// refers to. Size is required with LimitBytes if T contains pointers, unless T is []byte or
	// string: the size of a []byte is then its capacity, and that of a string its length,
	// plus the header. A []byte that exceeds the limit only because of its spare capacity
	// counts as LimitBytes. If T contains no pointers, each value counts
	// as the size of a T: LimitBytes divided by it is then a limit in values, and Cap returns the
	// lower one. The sender calls Size
	// once per value (a Select that has to wait calls it again). Size must not return a
	// negative number, and must not use the channel.
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

	// OnUndelivered is called exactly once with each value that no receiver will get, and the
	// reason: see [Reason]. It takes the place of OnDrop: setting both panics.
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

// PriorityOptions are the optional settings of a [Priority]. Nil selects the defaults. The
// constructor copies them.
type PriorityOptions[T any] struct {
	// Name is reported by Stats, and registers the channel with package inspect. It
	// need not be unique. A channel without a name is not registered.
	Name string

	// Overflow is what a send does while the channel is at its limit: Block (the default),
	// Reject, DropNewest or DropLeastUrgent. DropOldest panics: the value that would be
	// received next is an urgent one.
	Overflow Overflow

	// OnDrop is called exactly once with each value that DropNewest or DropLeastUrgent
	// discards, by the goroutine whose send discarded it, before that send returns. It
	// may use the channel. If it panics, so does the send.
	OnDrop func(v T)

	// OnUndelivered is called exactly once with each value that no receiver will get, and the
	// reason: see [Reason]. It takes the place of OnDrop: setting both panics.
	OnUndelivered func(v T, why Reason)

	// LevelOf returns the level on which Send, TrySend and SendBatch of the Priority send v,
	// from 0, the most urgent. If it is nil, they send on the last level. The sender calls it
	// before it sends, and a Select each time that it tries; any other result panics. The
	// methods of a Level do not call it.
	LevelOf func(v T) int

	// MaxPassed is how often a level that has values may be passed over before it is due.
	// With 0 it is 16. The smaller it is, the sooner less urgent values are received, and the
	// more urgent ones they delay. With [Unlimited], less urgent values may wait forever.
	MaxPassed int
}

// DelayOptions are the optional settings of a [Delay]. Nil selects the defaults. The
// constructor copies them.
type DelayOptions[T any] struct {
	// Name is reported by Stats, and registers the channel with package inspect. It
	// need not be unique. A channel without a name is not registered.
	Name string

	// Overflow is what a send does while the channel is at its limit: Block (the default),
	// Reject or DropNewest. DropOldest panics: the next value is the one that is due.
	Overflow Overflow

	// OnDrop is called exactly once with each value that DropNewest discards, by the
	// goroutine whose send discarded it, before that send returns. It may use the
	// channel. If it panics, so does the send.
	OnDrop func(v T)

	// OnUndelivered is called exactly once with each value that no receiver will get, and the
	// reason: see [Reason]. It takes the place of OnDrop: setting both panics.
	OnUndelivered func(v T, why Reason)

	// DueAt returns when a value that Send, TrySend or SendBatch sends is due. If it is nil,
	// it is due at once. The sender calls it before it sends, and a Select each time that it
	// tries.
	DueAt func(v T) time.Time
}

// Overflow is what a send does when there is no room for its value: [Block], [Reject],
// [DropNewest], [DropOldest], [DropLeastUrgent] or [Evict].
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
	// DropLeastUrgent discards the value that would be received last: the newest one of the
	// least urgent level, which may be the one being sent. The send succeeds. Only a
	// [Priority] has it.
	DropLeastUrgent
	// Evict ends the subscription that has no room. The send succeeds. Only a subscription of
	// package hub has it.
	Evict
)

var overflowNames = [...]string{"Block", "Reject", "DropNewest", "DropOldest", "DropLeastUrgent", "Evict"}

// String returns the name of the policy.
func (o Overflow) String() string {
	if int(o) < len(overflowNames) {
		return overflowNames[o]
	}
	return fmt.Sprintf("Overflow(%d)", uint8(o))
}

// ShrinkMode is when an [Elastic], or a lane of a [Sharded], gives memory back that it
// does not need now. A [Bounded] keeps its slots.
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
	const function = "NewRendezvous"
	requireOverflow(function, o.Overflow, false)
	requireDrops(function, o.Overflow, o.OnDrop != nil)
	c := engine.Config[T]{Name: o.Name, SingleSender: o.SingleSender, SingleReceiver: o.SingleReceiver}
	return withPolicy(function, c, o.Overflow, o.OnDrop, o.OnUndelivered)
}

func (o *BoundedOptions[T]) config(capacity int) engine.Config[T] {
	if o == nil {
		return engine.Config[T]{Limit: capacity}
	}
	const function = "NewBounded"
	requireOverflow(function, o.Overflow, capacity > 0)
	requireDrops(function, o.Overflow, o.OnDrop != nil)
	c := engine.Config[T]{Name: o.Name, Limit: capacity, SingleSender: o.SingleSender, SingleReceiver: o.SingleReceiver}
	return withPolicy(function, c, o.Overflow, o.OnDrop, o.OnUndelivered)
}

func (o *ShardedOptions[T]) config(limit int) engine.Config[T] {
	if o == nil {
		return engine.Config[T]{Limit: limit}
	}
	const function = "NewSharded"
	requireOverflow(function, o.Overflow, true)
	requireDrops(function, o.Overflow, o.OnDrop != nil)
	requireShrink(function, o.Shrink)
	if o.Lanes < 0 || o.Lanes > maxLanes {
		refuse(function, "Lanes must be from 0 to %d (got %d)", maxLanes, o.Lanes)
	}
	c := engine.Config[T]{
		Name: o.Name, Limit: limit, SingleReceiver: o.SingleReceiver, Shrink: engine.Shrink(o.Shrink), Lanes: o.Lanes,
	}
	return withPolicy(function, c, o.Overflow, o.OnDrop, o.OnUndelivered)
}

func (o *DelayOptions[T]) config(limit int) engine.Config[T] {
	if o == nil {
		return engine.Config[T]{Limit: limit}
	}
	const function = "NewDelay"
	if o.Overflow == DropOldest {
		refuse(function, "DropOldest would discard the value that is due; use DropNewest or Reject")
	}
	requireOverflow(function, o.Overflow, true)
	requireDrops(function, o.Overflow, o.OnDrop != nil)
	return withPolicy(function, engine.Config[T]{Name: o.Name, Limit: limit}, o.Overflow, o.OnDrop, o.OnUndelivered)
}

func (o *DelayOptions[T]) dueAt() func(T) time.Time {
	if o == nil {
		return nil
	}
	return o.DueAt
}

// refuse panics on behalf of a constructor that was given what makes no sense.
func refuse(function, format string, args ...any) {
	panic("sluice: " + function + ": " + fmt.Sprintf(format, args...))
}

// requireOverflow panics if the policy is unknown, or if it needs a buffer and the channel has
// no buffer.
func requireOverflow(function string, o Overflow, buffer bool) {
	switch {
	case int(o) >= len(overflowNames):
		refuse(function, "unknown policy %v (want Block, Reject, DropNewest or DropOldest)", o)
	case o == DropLeastUrgent:
		refuse(function, "DropLeastUrgent requires levels: only a Priority has it")
	case o == Evict:
		refuse(function, "Evict requires a subscription: only package hub has it")
	case o == DropOldest && !buffer:
		refuse(function, "DropOldest requires a buffer to drop from")
	}
}

// requireDrops panics if OnDrop would never be called.
func requireDrops(function string, o Overflow, onDrop bool) {
	if onDrop && o != DropNewest && o != DropOldest {
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
