package sluice

import (
	"time"

	"github.com/sluice-go/sluice/internal/engine"
	"github.com/sluice-go/sluice/internal/locked"
	"github.com/sluice-go/sluice/internal/registry"
)

// An Aged is a queue whose values have an age, which begins when the channel accepts them. It
// drops those that are too old ([AgedOptions.MaxAge]), or receives those that are stale after
// the others ([AgedOptions.StaleAfter]):
//
//	quotes := sluice.NewAged[Quote](4096, &sluice.AgedOptions[Quote]{MaxAge: time.Second})
//
// A value has a time stamp, senders and receivers share one lock, and each call reads the clock: a
// value costs two to eight times as much as in an [Elastic]. Stats.OldestValue is exact. The
// methods that every kind has are documented at [Bounded].
type Aged[T any] struct{ channel[T] }

// AgedOptions are the settings of an [Aged]. MaxAge or StaleAfter is required. The constructor
// copies them.
type AgedOptions[T any] struct {
	// Name is reported by Stats, and registers the channel with package inspect. It
	// need not be unique. A channel without a name is not registered.
	Name string

	// Overflow is what a send does while the channel is full. The default is Block. DropOldest
	// drops the oldest value, also among those that are stale.
	Overflow Overflow

	// OnUndelivered is called exactly once with each value that no receiver will get, and the
	// reason: see [Reason].
	OnUndelivered func(v T, why Reason)

	// MaxAge, if not 0, is the age beyond which a value is not received any more. Each send and
	// each receive first drops the values that are too old: a receive returns none of them, and
	// a send finds their room. When the oldest value becomes too old, the sender that has waited
	// longest gets its room, unless another call comes at that moment. Between calls nothing is
	// dropped, so Len counts such values until the next call.
	MaxAge time.Duration

	// StaleAfter, if not 0, is the age from which a value is stale. Stale values are received
	// only if there is no other, the newest first; the others are received first, in the order
	// in which they were sent. After an outage, receivers get what is new, and then the backlog
	// from its newest value to its oldest. As long as there are always values that are not
	// stale, stale ones wait: MaxAge limits for how long.
	StaleAfter time.Duration

	// Shrink is when the channel gives memory back. ShrinkHalf, the default, gives back what
	// exceeds four times the queue.
	Shrink ShrinkMode
}

// NewAged returns an empty Aged that queues at most capacity values; write [Unlimited] if memory
// is the only limit. A capacity below 1, options without MaxAge and StaleAfter, and options that
// make no sense, panic.
func NewAged[T any](capacity int, o *AgedOptions[T]) *Aged[T] {
	const function = "NewAged"
	requireCapacity(function, capacity, 1)
	if o == nil {
		o = new(AgedOptions[T])
	}
	requireOverflow(function, o.Overflow, DropNewest, DropOldest)
	requireShrink(function, o.Shrink)
	switch {
	case o.MaxAge < 0:
		refuse(function, "MaxAge must not be negative (got %v)", o.MaxAge)
	case o.StaleAfter < 0:
		refuse(function, "StaleAfter must not be negative (got %v)", o.StaleAfter)
	case o.MaxAge == 0 && o.StaleAfter == 0:
		refuse(function, "MaxAge or StaleAfter is required; without an age use NewElastic")
	case o.MaxAge > 0 && o.StaleAfter >= o.MaxAge:
		refuse(function, "StaleAfter must be less than MaxAge (got %v and %v): older values are dropped", o.StaleAfter, o.MaxAge)
	}
	ages := locked.Ages[T]{MaxAge: o.MaxAge, StaleAfter: o.StaleAfter}
	if hook := o.OnUndelivered; hook != nil {
		ages.OnExpire = func(v T) { hook(v, TooOld) }
	}
	a := new(Aged[T])
	a.open(a, o.OnUndelivered, engine.Config[T]{
		Name: o.Name, Limit: capacity, Elastic: true, Overflow: engine.Overflow(o.Overflow), Shrink: engine.Shrink(o.Shrink),
	}, func(c engine.Config[T]) engine.Engine[T] {
		return registry.Engine("Aged", c, locked.NewAged(c, ages))
	})
	return a
}
