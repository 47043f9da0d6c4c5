package park

import (
	"sync"
	"sync/atomic"
)

// A Gate is where goroutines sleep that have found a lock taken for too long.
// Locks are held for a few instructions; so its holder does not run, and will not
// as long as those who wait keep the processors busy. The lock's owner keeps a bit
// in the lock that says whether somebody sleeps:
//
//   - Who wants to sleep is counted first, then sets the bit of the lock while it is
//     taken, and sleeps. Who releases the lock takes the bit away, and opens if it
//     was set.
//   - One Open lets one goroutine pass: one that sleeps, or the next one to come.
//     Several may do as one, if nobody has passed in between. Who has passed sets
//     the bit when it takes the lock, if others were counted when it passed. So as
//     long as somebody sleeps, either the bit is set, or a goroutine that was let
//     pass is on its way to the lock.
//
// It is a sync.Mutex that is locked while nobody may pass, and not a channel, which
// would belong to the testing/synctest bubble of whoever made it: a channel of this
// library that was made outside may be tried, if not waited on, inside. The zero
// value lets the first one pass at once.
type Gate struct {
	asleep atomic.Int32 // and those who are about to
	shut   atomic.Bool  // pass is locked: set after it, taken away before
	pass   sync.Mutex
}

// Sleep waits for an Open. Before that it calls mark, which sees to it that the bit
// is set while the lock is taken; if it is not taken any more, mark fails, and the
// caller does not sleep. others says that the caller must set the bit when it takes
// the lock, as somebody else sleeps, or is about to.
//
// An Open between the two steps of passing is lost, which does not matter: the
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

// Occupied reports whether somebody sleeps, or is about to.
func (g *Gate) Occupied() bool { return g.asleep.Load() > 0 }

// Open lets one goroutine pass.
func (g *Gate) Open() {
	if g.shut.CompareAndSwap(true, false) {
		g.pass.Unlock()
	}
}
