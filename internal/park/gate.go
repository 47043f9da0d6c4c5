package park

import "sync/atomic"

// A Gate is where goroutines sleep that have found a lock taken for too long.
// Locks are held for a few instructions; so its holder does not run, and will not
// as long as those who wait keep the processors busy. The lock's owner keeps a bit
// in the lock that says whether somebody sleeps:
//
//   - Who wants to sleep enters, sets the bit of the lock while it is taken, and
//     sleeps. Who releases the lock takes the bit away, and opens if it was set.
//   - One Open lets one goroutine pass: one that sleeps, or the next one to come.
//     Who gets the lock after it has slept sets the bit again while the gate is
//     occupied. So as long as somebody sleeps, either the bit is set, or a
//     goroutine that was let pass is on its way to the lock.
//
// The zero value is ready to use. It allocates when it is used first.
type Gate struct {
	asleep atomic.Int32 // between Enter and Leave
	token  atomic.Pointer[chan struct{}]
}

// Enter announces that the caller is about to sleep.
func (g *Gate) Enter() {
	g.asleep.Add(1)
	if g.token.Load() == nil {
		token := make(chan struct{}, 1)
		g.token.CompareAndSwap(nil, &token)
	}
}

// Sleep waits for an Open.
func (g *Gate) Sleep() { <-*g.token.Load() }

// Leave ends what Enter began.
func (g *Gate) Leave() { g.asleep.Add(-1) }

// Occupied reports whether somebody is between Enter and Leave.
func (g *Gate) Occupied() bool { return g.asleep.Load() > 0 }

// Open lets one goroutine pass. Somebody must have entered before.
func (g *Gate) Open() {
	select {
	case *g.token.Load() <- struct{}{}:
	default:
	}
}
