package spin

import (
	"math/rand/v2"
	"sync/atomic"
)

// A Budget is an adaptive spin budget. It learns whether it pays to spin before
// joining a wait queue, because the other side of the channel is running on
// another P.
//
// If it is, a short delay that does not read the other side's cache lines lets it
// proceed at full speed and leaves a run of values, or of free slots, to consume:
// both sides stay parallel and exchange cache lines once per run. If it is not, the
// delay is wasted, and may even keep this P from the other side. Each success
// raises the credit by 2, each failure lowers it by 1, and without credit about one
// wait in 64 spins. Two goroutines that exchange single values therefore lose
// almost nothing.
type Budget struct{ credit atomic.Int32 }

const (
	maxCredit = 8
	probe     = 64
)

// Allows reports whether to spin. Without credit it draws lots: counting would be a
// write for each wait.
func (b *Budget) Allows() bool {
	return b.credit.Load() > 0 || rand.Uint32()%probe == 0
}

// Pays reports whether spins have paid.
func (b *Budget) Pays() bool { return b.credit.Load() > 0 }

// Record records whether a spin has paid.
func (b *Budget) Record(paid bool) {
	credit := b.credit.Load()
	switch {
	case paid && credit < maxCredit:
		b.credit.Store(credit + 2)
	case !paid && credit > 0:
		b.credit.Store(credit - 1)
	}
}

// Delay passes time without a memory access: n dependent multiplications, about a
// nanosecond each.
//
//go:noinline
func Delay(n int) uint64 {
	x := uint64(n)
	for range n {
		x = x*6364136223846793005 + 1
	}
	return x
}
