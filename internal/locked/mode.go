package locked

// A mode is what an engine has learned about the goroutines that use it. It decides how
// they wait, and belongs to the holder of the lock.
//
// Whether a goroutine yields before it parks decides which goroutine runs next. One that
// yields is behind all that can run, and another P may take it. One that is woken from a park
// runs next on the same P. So:
//
//   - On one P, a sender and a receiver alone yield: a switch by a yield is the cheapest. In
//     a crowd they park: then the goroutine that was woken last and its partner fill and
//     empty all slots in turn, as in a built-in channel. With yields each of the crowd would
//     have its turn, and most would find room for one value. With few slots it is one or two
//     values anyway, so they yield.
//   - In parallel, a sender and a receiver alone park: if they yield, they change Ps, and
//     pay for each cache line and for the lock. In a crowd they yield, since there is much
//     to do until they run again.
//
// GOMAXPROCS does not tell whether goroutines run in parallel, since other processes may
// have the processors. That a lock of a few instructions was taken does.
type mode struct {
	crowd    uint8 // for how many waits to come there is a crowd
	parallel uint8 // for how many waits to come both sides run in parallel
}

const (
	// For how many waits an observation counts.
	crowdMemory    = 64
	parallelMemory = 255
	// parkSlots is the least number of slots with which a crowd on one P parks.
	parkSlots = 4
)

// acquire takes the lock.
func (e *Engine[T]) acquire() {
	if !e.lock.TryLock() {
		e.lock.Wait(e.crowded.Load())
		e.mode.parallel = parallelMemory
	}
}

// mayYield reports whether the goroutine of w, which was queued in l, yields before it
// parks. If not, it is as good as parked. The lock is held.
func (e *Engine[T]) mayYield(l *queue[T], w *waiter[T]) bool {
	m := &e.mode
	crowd, parallel := m.crowd > 0, m.parallel > 0
	switch {
	case *l.total > 1:
		if m.crowd = crowdMemory; !crowd {
			crowd = true
			e.crowded.Store(true)
		}
	case crowd:
		if m.crowd--; m.crowd == 0 {
			e.crowded.Store(false)
		}
	}
	if parallel {
		m.parallel--
	}
	yields := false
	switch {
	case crowd && parallel:
		yields = true
	case crowd && e.limit < parkSlots, !crowd && !parallel:
		yields = l.yields.Allow()
	}
	w.Value.parked = !yields
	return yields
}
