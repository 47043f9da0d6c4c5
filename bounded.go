package sluice

import (
	"github.com/sluice-go/sluice/internal/chain"
	"github.com/sluice-go/sluice/internal/handoff"
)

// A Bounded is a FIFO with a fixed number of slots.
type Bounded[T any] struct{ channel[T] }

// chainCapacity is the smallest capacity that gets the chain engine.
const chainCapacity = 8

// NewBounded returns a Bounded with exactly the given capacity, in values. It
// panics if capacity is below 1, or on options that belong to Elastic.
func NewBounded[T any](capacity int, o *Options[T]) *Bounded[T] {
	requirePositive("NewBounded", "capacity", capacity)
	config := o.config("NewBounded", capacity)
	if capacity < chainCapacity {
		return &Bounded[T]{channel[T]{handoff.New(config)}}
	}
	return &Bounded[T]{channel[T]{chain.New(config)}}
}
