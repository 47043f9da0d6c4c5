package contender

import "context"

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
	for v := lo; v < hi; v++ {
		e.s <- v
	}
	return true
}

func (e ends) Recv(most uint64) (t Tally) {
	for t.Count < most {
		v, ok := <-e.r
		if !ok {
			break
		}
		t.Add(v)
	}
	return t
}

func (e ends) Close() { close(e.s) }

// Native is the built-in chan.
func Native() Contender {
	return Contender{
		Name: "native",
		Make: func(capacity int) Channel {
			c := make(chan uint64, capacity)
			return ends{c, c}
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
	for v := lo; v < hi; v++ {
		select {
		case n.c <- v:
		case <-n.ctx.Done():
			return false
		}
	}
	return true
}

func (n selecting) Recv(most uint64) (t Tally) {
	for t.Count < most {
		select {
		case v, ok := <-n.c:
			if !ok {
				return t
			}
			t.Add(v)
		case <-n.ctx.Done():
			return t
		}
	}
	return t
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

// slicesPerCapacity is the number of values that one slot of a channel of
// slices counts for.
const slicesPerCapacity = 64

// slices is a built-in chan of slices, the batching that needs no library. A
// slice passes to the receiver with its values, so each batch allocates a new
// one.
type slices struct{ c chan []uint64 }

func (s slices) Send(lo, hi uint64) bool {
	s.SendBatches(lo, hi, 1)
	return true
}

func (s slices) SendBatches(lo, hi uint64, size int) {
	for lo < hi {
		batch := make([]uint64, min(uint64(size), hi-lo))
		lo = fill(batch, lo)
		s.c <- batch
	}
}

// Recv receives values that Send sent, if it does not receive all.
func (s slices) Recv(most uint64) (t Tally) {
	for batch := range s.c {
		if t.AddAll(batch); t.Count >= most {
			break
		}
	}
	return t
}

// RecvBatches takes batches of the size in which they were sent; it ignores its
// argument.
func (s slices) RecvBatches(int) Tally { return s.Recv(All) }

func (s slices) Close() { close(s.c) }

// NativeSlices is a built-in chan of slices with a slot per 64 values of the
// capacity, and at least one if there is a capacity.
func NativeSlices() Contender {
	return Contender{
		Name:      "native chan of slices",
		Note:      "allocates each batch; one slot per 64 values of the capacity",
		BatchOnly: true,
		Make: func(capacity int) Channel {
			slots := (capacity + slicesPerCapacity - 1) / slicesPerCapacity
			return slices{make(chan []uint64, slots)}
		},
	}
}
