package sluice

import (
	"github.com/sluice-go/sluice/internal/engine"
	"github.com/sluice-go/sluice/internal/locked"
	"github.com/sluice-go/sluice/internal/registry"
)

// A Rendezvous is a channel without a buffer: Send returns once a receiver has the
// value, which is handed from goroutine to goroutine. Waiting senders are served in the
// order in which they came, and so are waiting receivers.
//
// It has the methods of [Channel], documented at [Bounded]; Len and Cap are 0.
type Rendezvous[T any] struct{ channel[T] }

// RendezvousOptions are the optional settings of a [Rendezvous]. Nil selects the
// defaults. The constructor copies them.
type RendezvousOptions[T any] struct {
	// Name is reported by Stats, and registers the channel with package inspect. It
	// need not be unique. A channel without a name is not registered.
	Name string

	// Overflow is what a send does while no receiver waits: Block (the default), Reject
	// or DropNewest. DropOldest panics: there is no buffer to drop from.
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

// NewRendezvous returns a Rendezvous. Options that make no sense panic.
func NewRendezvous[T any](o *RendezvousOptions[T]) *Rendezvous[T] {
	if o == nil {
		o = new(RendezvousOptions[T])
	}
	requireOverflow("NewRendezvous", o.Overflow, DropNewest)
	r := new(Rendezvous[T])
	r.open(r, o.OnUndelivered, engine.Config[T]{
		Name: o.Name, Overflow: engine.Overflow(o.Overflow),
		SingleSender: o.SingleSender, SingleReceiver: o.SingleReceiver,
	}, func(c engine.Config[T]) engine.Engine[T] {
		return registry.Engine("Rendezvous", c, locked.New(c))
	})
	return r
}
