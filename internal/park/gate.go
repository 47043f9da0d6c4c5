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
//   - Who wants to sleep enters, sets the bit of the lock while it is taken, and
//     sleeps. Who releases the lock takes the bit away, and opens if it was set.
//   - One Open lets one goroutine pass: one that sleeps, or the next one to come.
//     Several may do as one, if nobody has passed in between. Who gets the lock
//     after it has slept sets the bit again while the gate is occupied. So as
//     long as somebody sleeps, either the bit is set, or a goroutine that was let
//     pass is on its way to the lock.
//
// It is a sync.Mutex that is locked while nobody may pass, and not a channel, which
// would belong to the testing/synctest bubble of whoever made it: a channel of this
// library that was made outside may be tried, if not waited on, inside. The zero
// value lets the first one pass at once.
type Gate struct {
	asleep atomic.Int32 // between Enter and Leave
	shut   atomic.Bool  // pass is locked: set after it, taken away before
	pass   sync.Mutex
}

// Enter announces that the caller is about to sleep.
func (g *Gate) Enter() { g.asleep.Add(1) }

// Sleep waits for an Open. An Open between its two steps is lost, which does not
// matter: the caller is on its way to the lock.
func (g *Gate) Sleep() {
	g.pass.Lock()
	g.shut.Store(true)
}

// Leave ends what Enter began.
func (g *Gate) Leave() { g.asleep.Add(-1) }

// Occupied reports whether somebody is between Enter and Leave.
func (g *Gate) Occupied() bool { return g.asleep.Load() > 0 }

// Open lets one goroutine pass.
func (g *Gate) Open() {
	if g.shut.CompareAndSwap(true, false) {
		g.pass.Unlock()
	}
}
