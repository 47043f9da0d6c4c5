// Package waitq provides the wait queues of channels: FIFO queues of goroutines
// that wait until an operation may succeed, and the protocol by which exactly one
// of them is woken at a time.
package waitq

import (
	"sync/atomic"
	"time"

	"github.com/sluice-go/sluice/internal/park"
	"github.com/sluice-go/sluice/internal/spin"
)

// A waiter is one goroutine in a Queue, or an entry of a Select.
type waiter = Node[entry]

// entry is what a Queue needs to know of an entry of a Select.
type entry struct {
	holds bool // it has the queue's wake-up
}

// The bits of Queue.signal. The number of hand-offs is above them.
const (
	wanted uint64 = 1 << iota // goroutines are in the list, and no wake-up is in flight
	waking                    // a wake-up is in flight
	held                      // a goroutine holds the lock

	// Of the lone waiter: see lone.go.
	alone
	handed
	woken
	timed

	handOff = 1 << 8 // one of them

	empty uint64 = 0 // no goroutine waits
)

// A Queue holds the goroutines of one side of a channel that wait until their
// operation may succeed. Its zero value is empty.
//
// A goroutine waits by a Wait, or by an Entry in each of several queues, or alone: see
// lone.go. A goroutine that has changed the channel checks Waiting, and calls Wake if that
// is true. Invariants:
//
//   - At most one wake-up is in flight: from Wake, which removes the first waiter, until
//     that waiter leaves or rejoins. Meanwhile Waiting is false, and no other goroutine is
//     woken: the woken one sees all that is added until it polls. To avoid a thundering
//     herd, a queue never wakes one goroutine for each value.
//   - wanted is set iff the list is not empty && !inFlight; waking iff inFlight; both are
//     published by release. wanted is raised by a read-modify-write, so that the poll that
//     follows cannot be ordered before it.
//   - A goroutine that held the wake-up checks, after it has left, whether another waiter
//     could proceed, and calls Wake if so. So no wake-up is lost with a goroutine that was
//     canceled, or that took one of several values.
//   - After a spurious wake-up a waiter rejoins at the front: it keeps its position.
//   - A waiter of a Select that cannot be notified, because another queue was faster, is
//     skipped and stays queued: its goroutine is awake, and polls this channel again before
//     it parks, or leaves.
//
// The lock is held for a few instructions, and never while a goroutine waits. It is a bit of
// the signal, so that a change of the queue publishes the signal by the one
// read-modify-write that releases the lock.
type Queue struct {
	signal   atomic.Uint64
	list     List[entry]
	inFlight bool
	lone     atomic.Pointer[loneWaiter] // nil until the first one
	tally    park.Tally                 // without waits that ended with a hand-off
}

// acquire takes the lock.
func (q *Queue) acquire() {
	signal := q.signal.Load()
	if signal&held != 0 || !q.signal.CompareAndSwap(signal, signal|held) {
		q.acquireTaken()
	}
}

func (q *Queue) acquireTaken() {
	var pace spin.Backoff
	for {
		if signal := q.signal.Load(); signal&held == 0 && q.signal.CompareAndSwap(signal, signal|held) {
			return
		}
		pace.Pause()
	}
}

// release publishes wanted and waking, and releases the lock, by a read-modify-write. It
// adds, because the other bits may change meanwhile.
func (q *Queue) release() {
	state := empty
	switch {
	case q.inFlight:
		state = waking
	case q.list.first != nil:
		state = wanted
	}
	q.signal.Add(state - q.signal.Load()&(wanted|waking|held))
}

// Waiting reports whether a goroutine waits for a Wake. It costs one load.
func (q *Queue) Waiting() bool { return q.signal.Load()&(wanted|alone) != 0 }

// Idle reports whether no goroutine waits, and none was woken or served and has yet to leave.
func (q *Queue) Idle() bool {
	return q.signal.Load()&(wanted|waking|alone|handed|woken) == 0
}

// unused returns a waiter in no queue. The caller holds the lock, which is released while a
// waiter is allocated.
func (q *Queue) unused() *waiter {
	if q.list.free == nil {
		q.release()
		w := newNode[entry]() // not Get: a waiter may be unused by now, and the lock is not held
		q.acquire()
		return w
	}
	return q.list.Get()
}

// Wake wakes the lone waiter, or else the first in the list, unless a wake-up is in flight.
func (q *Queue) Wake() {
	q.acquire()
	if q.inFlight {
		q.release()
		return
	}
	if q.claim(woken) {
		q.inFlight = true
		q.release()
		q.lone.Load().parker.Unpark()
		return
	}
	w, unpark := q.list.first, true
	for w != nil && w.Select != nil {
		if w.Value.holds, unpark = w.Select.Notify(int(w.Index)); w.Value.holds {
			break
		}
		w, unpark = w.next, true
	}
	if w == nil {
		q.release()
		return
	}
	q.list.Remove(w)
	q.inFlight = true
	parker := w.Parker
	q.release()
	if unpark {
		parker.Unpark()
	}
}

// WakeAll wakes every waiter, because the channel was closed.
func (q *Queue) WakeAll() {
	// The parked goroutines are woken after the lock is released, because each of
	// them takes it at once.
	var due Served[entry]
	q.acquire()
	wakes := q.claim(woken)
	for q.list.first != nil {
		w := q.list.first
		q.list.Remove(w)
		if w.Select == nil {
			due.Add(w)
		} else if _, unpark := w.Select.Notify(int(w.Index)); unpark {
			w.Parker.Unpark()
		}
	}
	q.release()
	if wakes {
		q.lone.Load().parker.Unpark()
	}
	due.Unpark()
}

// Tally returns the queue's wait statistics.
func (q *Queue) Tally() *park.Tally { return &q.tally }

// A Snapshot describes a Queue at one moment.
type Snapshot struct {
	Waiting int             // goroutines in the queue
	Waits   uint64          // so far, with those of lone waiters that have begun
	Handed  uint64          // hand-offs so far
	Spent   time.Duration   // parked in total, finished waits only: an estimate
	Oldest  time.Duration   // how long the first goroutine has waited
	Ages    []time.Duration // how long each has waited, the first one first
}

// Snapshot describes the queue at the time now. It appends to ages until that is full, and
// does not grow it.
func (q *Queue) Snapshot(now time.Duration, ages []time.Duration) Snapshot {
	q.acquire()
	defer q.release()
	signal := q.signal.Or(timed)
	s := Snapshot{
		Waiting: q.list.Len(),
		Waits:   q.tally.Waits() + signal/handOff,
		Handed:  signal / handOff,
		Spent:   q.tally.Spent(),
		Oldest:  q.list.Oldest(now),
	}
	if signal&(alone|woken) != 0 {
		s.Waits++
	}
	if signal&alone != 0 {
		s.Waiting++
		s.Oldest = q.loneAge(signal|timed, now)
		if len(ages) < cap(ages) {
			ages = append(ages, s.Oldest)
		}
	}
	s.Ages = q.list.Ages(ages, now)
	return s
}

// HandOffs returns the number of hand-offs so far.
func (q *Queue) HandOffs() uint64 { return q.signal.Load() / handOff }
