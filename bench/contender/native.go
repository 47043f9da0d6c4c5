package contender

import (
	"context"
	"fmt"
)

// ends is a channel with a built-in chan at either end. With the same one at
// both ends it is the built-in chan itself; these loops also drive every
// contender that has a goroutine in between.
type ends struct {
	s chan<- uint64
	r <-chan uint64
}

// OverEnds returns a Channel that sends on s and receives from r, for
// contenders that look like built-in channels from outside. Its Close closes s.
func OverEnds(s chan<- uint64, r <-chan uint64) Channel { return ends{s, r} }

func (e ends) Send(lo, hi uint64) bool {
	return SendEach(lo, hi, func(v uint64) bool { e.s <- v; return true })
}

func (e ends) Recv(most uint64) Tally {
	return RecvEach(most, func() (uint64, bool) { v, ok := <-e.r; return v, ok })
}

func (e ends) Close() { close(e.s) }

// native is the built-in chan.
type native struct{ ends }

// Serve is the common worker pool of Go programs: goroutines that range over a
// chan.
func (n native) Serve(workers int, job func(v uint64)) {
	each(workers, func() {
		for v := range n.r {
			job(v)
		}
	})
}

// Native is the built-in chan.
func Native() Contender {
	return Contender{
		Name: "native",
		Make: func(capacity int) Channel {
			c := make(chan uint64, capacity)
			return native{ends{c, c}}
		},
	}
}

// selecting is the built-in chan as used where an operation must be cancelable:
// each send and each receive is a select with ctx.Done().
type selecting struct {
	ctx context.Context
	c   chan uint64
}

func (n selecting) Send(lo, hi uint64) bool {
	return SendEach(lo, hi, func(v uint64) bool {
		select {
		case n.c <- v:
			return true
		case <-n.ctx.Done():
			return false
		}
	})
}

func (n selecting) Recv(most uint64) Tally {
	return RecvEach(most, func() (uint64, bool) {
		select {
		case v, ok := <-n.c:
			return v, ok
		case <-n.ctx.Done():
			return 0, false
		}
	})
}

func (n selecting) Close() { close(n.c) }

// NativeSelect is the built-in chan with a select over ctx.Done() around every
// operation. ctx should be cancelable.
func NativeSelect(ctx context.Context) Contender {
	return Contender{
		Name: "native select ctx.Done",
		Make: func(capacity int) Channel { return selecting{ctx, make(chan uint64, capacity)} },
	}
}

// slices is a built-in chan of slices, the batching that needs no library. A
// slice passes to the receiver with its values, so each batch allocates a new
// one.
type slices struct {
	c    chan []uint64
	size int // of the slices that Send sends
}

func (s slices) Send(lo, hi uint64) bool {
	for lo < hi {
		batch := make([]uint64, min(uint64(s.size), hi-lo))
		lo = fill(batch, lo)
		s.c <- batch
	}
	return true
}

// Recv receives all.
func (s slices) Recv(uint64) (t Tally) {
	for batch := range s.c {
		t.AddAll(batch)
	}
	return t
}

func (s slices) InBatches(size int) Channel {
	s.size = size
	return s
}

func (s slices) Close() { close(s.c) }

// NativeSlices is a built-in chan of slices of the given size with a slot for so many
// values of the capacity, and at least one if there is a capacity.
func NativeSlices(size int) Contender {
	return Contender{
		Name:      fmt.Sprintf("native chan of slices of %d", size),
		LoopsOnly: true,
		Make:      func(capacity int) Channel { return slices{make(chan []uint64, (capacity+size-1)/size), size} },
	}
}
