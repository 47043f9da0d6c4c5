package spin

import (
	"sync"
	"sync/atomic"
)

// A Gate is where goroutines sleep that have found a lock taken for too long. A
// lock is held for a few instructions, so in that case its holder is not running,
// and will not run while the waiting goroutines keep the processors busy. The
// lock keeps a sleepers bit. Invariants:
//
//   - A goroutine increments asleep, then sets the sleepers bit while the lock is
//     taken, then sleeps. Unlock clears the bit, and calls Open if it was set.
//   - One Open admits one goroutine: a sleeping one, or the next to arrive.
//     Several calls may merge into one if no goroutine was admitted in between.
//   - An admitted goroutine sets the bit together with the lock if asleep > 0 at
//     the time it was admitted. So asleep > 0 implies that the bit is set or
//     that an admitted goroutine is on its way to the lock.
//
// The Gate is a sync.Mutex, locked while no goroutine may pass. It cannot be a
// channel: a channel belongs to the testing/synctest bubble in which it was made,
// but a sluice channel made outside of a bubble may be tried inside. The zero
// value admits the first goroutine at once.
type Gate struct {
	asleep atomic.Int32 // goroutines that sleep or are about to
	shut   atomic.Bool  // implies that pass is locked
	pass   sync.Mutex
}

// Sleep waits for an Open. It first calls mark, which ensures that the sleepers
// bit is set while the lock is taken; if the lock is free, mark returns false and
// Sleep returns at once. others reports whether the caller must set the bit when it
// takes the lock, because other goroutines sleep or are about to.
//
// An Open between the Lock and the Store below is lost. That is harmless: the
// caller is on its way to the lock.
func (g *Gate) Sleep(mark func() bool) (slept, others bool) {
	g.asleep.Add(1)
	if slept = mark(); slept {
		g.pass.Lock()
		g.shut.Store(true)
	}
	g.asleep.Add(-1)
	return slept, g.Occupied()
}

// Occupied reports whether a goroutine sleeps or is about to.
func (g *Gate) Occupied() bool { return g.asleep.Load() > 0 }

// Open admits one goroutine.
func (g *Gate) Open() {
	if g.shut.CompareAndSwap(true, false) {
		g.pass.Unlock()
	}
}
