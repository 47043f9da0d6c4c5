package spin

import (
	"math/rand/v2"
	"sync/atomic"
)

// An estimate learns whether a way to wait for a moment pays: its credit rises with each
// success and falls with each failure, between two bounds. At the lower one it does not pay, and
// about one wait in 64 finds out whether it does again. That one is drawn by lot: counting would
// be a write for each wait.
type estimate struct{ credit atomic.Int32 }

const (
	most  = 8
	probe = 64
)

func lot() bool { return rand.Uint32()%probe == 0 }

func (e *estimate) add(change, low, high int32) {
	credit := e.credit.Load()
	if next := max(low, min(credit+change, high)); next != credit {
		e.credit.Store(next)
	}
}

// A Budget estimates whether it pays to spin before joining a wait queue, because the other side
// of the channel is running on another P. The zero value means that it does not.
//
// If it is, a short delay that does not read the other side's cache lines lets it
// proceed at full speed and leaves a run of values, or of free slots, to consume:
// both sides stay parallel and exchange cache lines once per run. If it is not, the
// delay is wasted, and may even keep this P from the other side. Two goroutines that
// exchange single values rarely spin, and lose almost nothing.
type Budget struct{ estimate }

// Allows reports whether to spin.
func (b *Budget) Allows() bool { return b.Pays() || lot() }

// Pays reports whether spins have paid.
func (b *Budget) Pays() bool { return b.credit.Load() > 0 }

// Record records whether a spin has paid.
func (b *Budget) Record(paid bool) {
	if paid {
		b.add(2, 0, most)
	} else {
		b.add(-1, 0, most)
	}
}

// Yields estimates whether it pays to yield the processor before parking. Its zero value
// says that it does.
//
// A yield that runs the other side is cheaper than a park. But a goroutine that yields is
// behind all that can run, while one that parks runs next when it is woken: in a channel
// that is mostly empty, each value would wait for the yield. So only where more than three
// of four yields pay, as in a channel that is busy all the time, do all waits yield;
// elsewhere about one in 64.
type Yields struct{ estimate }

// Allow reports whether to yield.
func (y *Yields) Allow() bool { return y.Pay() || lot() }

// Pay reports whether yields have paid.
func (y *Yields) Pay() bool { return y.credit.Load() > -most }

// Record records whether a yield has paid: the wait ended without a park.
func (y *Yields) Record(paid bool) {
	if paid {
		y.add(1, -most, 0)
	} else {
		y.add(-3, -most, 0)
	}
}
