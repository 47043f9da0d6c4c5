package spin

import (
	"math/rand/v2"
	"sync/atomic"
)

// Yields learns whether it pays to yield the processor before parking. Its zero value
// allows it.
//
// A yield that runs the other side is cheaper than a park. But a goroutine that yields is
// behind all that can run, while one that parks runs next when it is woken: in a channel
// that is mostly empty, each value would wait for the yield. So only where more than three
// of four yields pay, as in a channel that is busy all the time, do all waits yield;
// elsewhere about one in 64.
type Yields struct{ debt atomic.Int32 }

const (
	maxDebt    = 8
	failedDebt = 3
)

// Allow reports whether to yield.
func (y *Yields) Allow() bool {
	return y.debt.Load() < maxDebt || rand.Uint32()%probe == 0
}

// Pay reports whether yields have paid.
func (y *Yields) Pay() bool { return y.debt.Load() < maxDebt }

// Record records whether a yield has paid: the wait ended without a park.
func (y *Yields) Record(paid bool) {
	debt := y.debt.Load()
	switch {
	case paid && debt > 0:
		y.debt.Store(debt - 1)
	case !paid && debt < maxDebt:
		y.debt.Store(min(maxDebt, debt+failedDebt))
	}
}
