package sluice

import (
	"github.com/sluice-go/sluice/internal/engine"
	"github.com/sluice-go/sluice/internal/handoff"
	"github.com/sluice-go/sluice/internal/registry"
)

// A Rendezvous is a channel without a buffer: Send returns once a receiver has the
// value, which is handed from goroutine to goroutine. Waiting senders are served in the
// order in which they came, and so are waiting receivers.
//
// It has the methods of [Channel], documented at [Bounded]; Len and Cap are 0.
type Rendezvous[T any] struct{ channel[T] }

// NewRendezvous returns a Rendezvous. Options that make no sense panic.
func NewRendezvous[T any](o *RendezvousOptions[T]) *Rendezvous[T] {
	return &Rendezvous[T]{newChannel(o.config(), o.undelivered(), func(c engine.Config[T]) engine.Engine[T] {
		return registry.Engine("Rendezvous", c, handoff.New(c))
	})}
}

func (r *Rendezvous[T]) engineOf() (self, engine any) {
	if r == nil {
		return r, nil
	}
	return r, r.engine
}
