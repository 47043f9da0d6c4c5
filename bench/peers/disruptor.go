package peers

import (
	"math/bits"
	"runtime"

	"github.com/smarty/go-disruptor"

	"github.com/sluice-go/sluice/bench/contender"
)

// ring is github.com/smarty/go-disruptor with one handler. The values are in a ring
// buffer of the user, and the disruptor hands out ranges of it.
type ring struct {
	disruptor.Disruptor
	values []uint64
	mask   int64
	take   func(lo, hi int64) // set by Recv or Each
	size   int                // of the batches that Send sends
}

// Handle is called by Listen.
func (r *ring) Handle(lo, hi int64) { r.take(lo, hi) }

// newRing returns a disruptor with the given way to wait, or its default one.
func newRing(capacity int, wait disruptor.WaitStrategy) *ring {
	capacity = 1 << bits.Len(uint(capacity-1)) // a disruptor requires a power of two
	r := &ring{values: make([]uint64, capacity), mask: int64(capacity) - 1}
	o := disruptor.Options
	size, handler := o.BufferCapacity(uint32(capacity)), o.NewHandlerGroup(r)
	d, err := disruptor.New(size, handler)
	if wait != nil {
		d, err = disruptor.New(size, handler, o.WaitStrategy(wait))
	}
	if err != nil {
		panic(err) // of a capacity that is not positive
	}
	r.Disruptor = d
	return r
}

func (r *ring) Send(lo, hi uint64) bool {
	if r.size == 0 {
		return contender.SendEach(lo, hi, func(v uint64) bool {
			at := r.Reserve(1)
			r.values[at&r.mask] = v
			r.Commit(at, at)
			return true
		})
	}
	for lo < hi {
		n := min(int64(r.size), int64(hi-lo))
		last := r.Reserve(uint32(n))
		for at := last - n + 1; at <= last; at++ {
			r.values[at&r.mask] = lo
			lo++
		}
		r.Commit(last-n+1, last)
	}
	return true
}

func (r *ring) InBatches(size int) contender.Channel {
	r.size = size
	return r
}

// Recv receives all, in ranges of the size in which they are there: a queue with a
// handler cannot stop before.
func (r *ring) Recv(uint64) (t contender.Tally) {
	r.take = func(lo, hi int64) {
		for at := lo; at <= hi; at++ {
			t.Add(r.values[at&r.mask])
		}
	}
	r.Listen()
	return t
}

// Each passes on each value as it comes.
func (r *ring) Each(take func(uint64)) {
	r.take = func(lo, hi int64) {
		for at := lo; at <= hi; at++ {
			take(r.values[at&r.mask])
		}
	}
	r.Listen()
}

func (r *ring) Close() { _ = r.Disruptor.Close() }

// Disruptor is the disruptor for one sender and one receiver.
func Disruptor() contender.Contender {
	return handled("go-disruptor", nil)
}

func handled(name string, wait disruptor.WaitStrategy) contender.Contender {
	return contender.Contender{
		Name: name, Note: "one sender, one receiver", Bound: contender.Buffered, OneSender: true, OneReceiver: true, LoopsOnly: true,
		Make: func(capacity int) contender.Channel { return newRing(capacity, wait) },
	}
}

// spinning yields between polls instead of sleeping.
type spinning struct{}

func (spinning) Gate(int64)    { runtime.Gosched() }
func (spinning) Idle(int64)    { runtime.Gosched() }
func (spinning) Reserve(int64) { runtime.Gosched() }

// DisruptorSpinning is the disruptor with a wait strategy that polls: the fastest,
// where a processor may be kept busy.
func DisruptorSpinning() contender.Contender {
	return handled("go-disruptor, polling", spinning{})
}
