package sluice

import (
	"unsafe"

	"github.com/sluice-go/sluice/internal/chain"
	"github.com/sluice-go/sluice/internal/engine"
	"github.com/sluice-go/sluice/internal/handoff"
)

// A Bounded is a FIFO with a fixed number of slots.
type Bounded[T any] struct{ channel[T] }

// chainCapacity is the smallest capacity that gets the chain engine. Below it a
// run of values between two waits is short, and what counts is how cheap a wait
// is: there handoff wins. Built-in chan divided by handoff and by chain, ns a
// value, one to one, GOMAXPROCS 1 and 2: capacity 8 1.01 and 0.97 against 0.86
// and 0.82; 16 1.01 and 0.96 against 1.00 and 0.77; from 32 chain reaches 1.11
// and 0.92, and 128 1.2 and 1.9 (2026-11-21, AMD EPYC Zen 5 VM with 2 cores, Go
// 1.26.8).
const chainCapacity = 32

// ringBytes is the size of the largest ring that is allocated at once. A larger
// Bounded takes its memory as it fills, like an Elastic of that limit.
const ringBytes = 1 << 20

// NewBounded returns a Bounded with exactly the given capacity, in values. It
// panics if capacity is below 1, or on options that belong to Elastic. Up to
// 1 MiB of slots are allocated here; above that, memory is taken as values are
// queued, and given back.
func NewBounded[T any](capacity int, o *Options[T]) *Bounded[T] {
	requirePositive("NewBounded", "capacity", capacity)
	config := o.config("NewBounded", capacity)
	return &Bounded[T]{newChannel(config, func(c engine.Config[T]) engine.Engine[T] {
		if capacity < chainCapacity {
			return handoff.New(c)
		}
		if capacity > ringBytes/max(1, sizeOf[T]()) {
			c.Elastic = true
		}
		return chain.New(c)
	})}
}

// sizeOf is the size of a T in a slot, in bytes.
func sizeOf[T any]() int {
	var zero T
	return int(unsafe.Sizeof(zero))
}
