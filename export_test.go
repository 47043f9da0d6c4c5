package sluice

import (
	"github.com/sluice-go/sluice/internal/engine"
	"github.com/sluice-go/sluice/internal/handoff"
	"github.com/sluice-go/sluice/internal/registry"
)

// NewRendezvousWithoutHandOff returns a Rendezvous in which a woken goroutine polls
// again instead of being handed a value. The engine keeps this mode for comparison.
func NewRendezvousWithoutHandOff[T any](o *RendezvousOptions[T]) *Rendezvous[T] {
	return &Rendezvous[T]{withoutHandOff("Rendezvous", o.config())}
}

// NewBoundedWithoutHandOff returns a Bounded in the same mode.
func NewBoundedWithoutHandOff[T any](capacity int, o *BoundedOptions[T]) *Bounded[T] {
	return &Bounded[T]{withoutHandOff("Bounded", o.config(capacity))}
}

func withoutHandOff[T any](kind string, config engine.Config[T]) channel[T] {
	config.NoHandOff = true
	return newChannel(config, nil, func(c engine.Config[T]) engine.Engine[T] { return registry.Engine(kind, c, handoff.New(c)) })
}
