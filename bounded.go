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
// value, for 1 to 1, 8 to 1, 1 to 10 and 8 to 8, at GOMAXPROCS=2: capacity 8
// 0.79 0.52 0.45 0.81 and 0.91 0.44 1.17 1.56, at GOMAXPROCS=1 0.93 0.63 0.59
// 0.77 and 0.85 0.42 0.41 0.79; capacity 16 0.90 0.55 0.51 0.68 and 0.90 0.90
// 0.79 1.10, with one P alike (2026-11-21, AMD EPYC Zen 5 VM with 2 cores, Go
// 1.26.8).
const chainCapacity = 16

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
			return named("Bounded", c, handoff.New(c))
		}
		if capacity > ringBytes/max(1, sizeOf[T]()) {
			c.Elastic = true
		}
		return named("Bounded", c, chain.New(c))
	})}
}

// sizeOf is the size of a T in a slot, in bytes.
func sizeOf[T any]() int {
	var zero T
	return int(unsafe.Sizeof(zero))
}
