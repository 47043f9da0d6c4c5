package contender

import (
	"context"
	"fmt"
)

// OverEnds returns a channel with a built-in chan at either end, of which Close
// closes s. With the same one at both ends it is the built-in chan itself; these
// loops also drive every contender that has a goroutine in between.
//
//go:noinline
func OverEnds(s chan<- uint64, r <-chan uint64) Channel {
	return Channel{
		Send: func(lo, hi uint64) bool {
			return SendEach(lo, hi, func(v uint64) bool { s <- v; return true })
		},
		Recv: func(most uint64) Tally {
			return RecvEach(most, func() (uint64, bool) { v, ok := <-r; return v, ok })
		},
		Close: func() { close(s) },
	}
}

// Native is the built-in chan. Its worker pool is the common one of Go programs:
// goroutines that range over a chan.
func Native() Contender {
	return Contender{
		Name: "native",
		Make: func(capacity int) Channel {
			c := make(chan uint64, capacity)
			k := OverEnds(c, c)
			k.itself = c
			k.Serve = func(workers int, job func(v uint64)) {
				each(workers, func() {
					for v := range c {
						job(v)
					}
				})
			}
			return k
		},
	}
}

// NativeSelect is the built-in chan as used where an operation must be cancelable:
// each send and each receive is a select with ctx.Done(). ctx should be cancelable.
//
//go:noinline
func NativeSelect(ctx context.Context) Contender {
	return Contender{
		Name: "native select ctx.Done",
		Make: func(capacity int) Channel {
			c := make(chan uint64, capacity)
			return Channel{
				Send: func(lo, hi uint64) bool {
					return SendEach(lo, hi, func(v uint64) bool {
						select {
						case c <- v:
							return true
						case <-ctx.Done():
							return false
						}
					})
				},
				Recv: func(most uint64) Tally {
					return RecvEach(most, func() (uint64, bool) {
						select {
						case v, ok := <-c:
							return v, ok
						case <-ctx.Done():
							return 0, false
						}
					})
				},
				Close: func() { close(c) },
			}
		},
	}
}

// overSlices returns a built-in chan of slices, the batching that needs no library,
// which sends slices of the given size. A slice passes to the receiver with its values,
// so each batch allocates a new one. Recv receives all.
//
//go:noinline
func overSlices(c chan []uint64, size int) Channel {
	return Channel{
		Send: func(lo, hi uint64) bool {
			for lo < hi {
				batch := make([]uint64, min(uint64(size), hi-lo))
				lo = fill(batch, lo)
				c <- batch
			}
			return true
		},
		Recv: func(uint64) (t Tally) {
			for batch := range c {
				t.AddAll(batch)
			}
			return t
		},
		Close:     func() { close(c) },
		InBatches: func(size int) Channel { return overSlices(c, size) },
		itself:    c,
	}
}

// NativeSlices is a built-in chan of slices of the given size with a slot for so many
// values of the capacity, and at least one if there is a capacity.
func NativeSlices(size int) Contender {
	return Contender{
		Name:      fmt.Sprintf("native chan of slices of %d", size),
		LoopsOnly: true,
		Make:      func(capacity int) Channel { return overSlices(make(chan []uint64, (capacity+size-1)/size), size) },
	}
}
