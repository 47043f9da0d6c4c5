package sluice

import (
	"github.com/sluice-go/sluice/internal/engine"
	"github.com/sluice-go/sluice/internal/handoff"
)

// A Rendezvous is a channel without a buffer: a Send returns when a receiver
// has taken its value. Waiting senders, and waiting receivers, are served in
// the order in which they came.
type Rendezvous[T any] struct{ channel[T] }

// NewRendezvous returns a Rendezvous. It panics on options that make no sense
// without a buffer: the overflow policy DropOldest, Shrink, LimitBytes, Size.
func NewRendezvous[T any](o *Options[T]) *Rendezvous[T] {
	config := o.config("NewRendezvous", 0)
	return &Rendezvous[T]{newChannel(config, func(c engine.Config[T]) engine.Engine[T] {
		return named("Rendezvous", c, handoff.New(c))
	})}
}
