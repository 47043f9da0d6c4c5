// Package waitq provides the wait queues of channels: FIFO queues of goroutines
// that wait until an operation may succeed, and the protocol by which exactly one
// of them is woken at a time.
package waitq

import (
	"sync/atomic"
	"time"

	"github.com/sluice-go/sluice/internal/park"
	"github.com/sluice-go/sluice/internal/selection"
	"github.com/sluice-go/sluice/internal/spin"
)

// A waiter is one goroutine in a Queue, or an entry of a Select: see enter.
type waiter = Node[waiting]

// waiting is what a Queue needs to know of a waiter.
type waiting struct {
	weight  int64 // of its wait, if it accepts: see park.Tally
	accepts bool  // a hand-off
	handed  bool  // it was served by a hand-off
	lent    bool  // of the seat: to a goroutine that has yet to leave with the lock
	holds   bool  // an entry: it has the queue's wake-up
}

// The state bits of Queue.signal. The number of hand-offs is above them.
const (
	empty  uint64 = 0 // no goroutine waits
	wanted uint64 = 1 // a goroutine waits, and no wake-up is in flight
	waking uint64 = 2 // a wake-up is in flight

	held   uint64 = 4  // or'ed: a goroutine holds the lock
	vacant uint64 = 8  // or'ed to empty: the seat is free
	seated uint64 = 16 // or'ed to wanted and waking: by or for the goroutine in the seat

	states = held<<3 - 1

	timed   uint64 = 32     // or'ed: each wait of a goroutine that accepts a hand-off is timed
	shut    uint64 = 64     // or'ed, by WakeAll: nobody sits any more
	handOff uint64 = 1 << 8 // one of them
)

// A Queue holds the goroutines of one side of a channel that wait until their
// operation may succeed. Its zero value is empty.
//
// A goroutine waits by a Wait, or, if it is in several queues at once, by an Entry
// in each. A goroutine that has changed the channel checks Waiting, and calls Wake
// if that is true. Invariants:
//
//   - At most one wake-up is in flight: from Wake, which removes the first waiter,
//     until that waiter leaves or rejoins. Meanwhile Waiting is false, and no other
//     goroutine is woken: the woken one sees all that is added until it polls. To
//     avoid a thundering herd, a queue never wakes one goroutine for each value.
//   - signal == wanted iff n > 0 && !inFlight. It is raised by a read-modify-write,
//     so that the poll that follows cannot be ordered before it.
//   - A goroutine that held the wake-up checks, after it has left, whether another
//     waiter could proceed, and calls Wake if so. So no wake-up is lost with a
//     goroutine that was canceled, or that took one of several values.
//   - After a spurious wake-up a waiter rejoins at the front: it keeps its position.
//   - A waiter that accepts a hand-off is served by HandOff, or woken by Wake, or it
//     removes itself; the lock decides which. A hand-off is a wake-up in flight, too.
//   - A waiter of a Select that cannot be notified, because another queue was
//     faster, is skipped and stays queued: its goroutine is awake, and polls this
//     channel again before it parks, or leaves.
//
// The lock is held for a few instructions, and never while a goroutine waits. It is a bit
// of the signal, so that a change of the queue publishes the signal by the one
// read-modify-write that releases the lock.
type Queue struct {
	signal   atomic.Uint64
	list     List[waiting]
	inFlight bool
	refunds  uint16  // waits that were counted and then did not park
	seat     *waiter // see seat.go

	tally park.Tally // without waits in the seat that ended with a hand-off
}

// acquire takes the lock.
func (q *Queue) acquire() {
	signal := q.signal.Load()
	if signal&held != 0 || !q.signal.CompareAndSwap(signal, signal|held) {
		signal = q.acquireTaken()
	}
	if signal&seated != 0 {
		q.unseat(signal)
	}
}

func (q *Queue) acquireTaken() uint64 {
	var pace spin.Backoff
	for {
		if signal := q.signal.Load(); signal&held == 0 && q.signal.CompareAndSwap(signal, signal|held) {
			return signal
		}
		pace.Pause()
	}
}

// release publishes the signal and releases the lock, by a read-modify-write.
func (q *Queue) release() {
	signal, state := q.signal.Load(), empty
	switch {
	case q.inFlight:
		state = waking
	case q.list.first != nil:
		state = wanted
	case q.seat != nil && !q.seat.Value.lent && signal&shut == 0:
		state = vacant
	}
	q.signal.Swap(signal&^states | state)
}

// Waiting reports whether a goroutine waits for a Wake. It costs one load.
func (q *Queue) Waiting() bool { return q.signal.Load()&wanted != 0 }

// Idle reports whether no goroutine waits, and none was woken and has yet to leave.
func (q *Queue) Idle() bool { return q.signal.Load()&(wanted|waking) == 0 }

// join appends the calling goroutine.
func (q *Queue) join() *waiter {
	q.acquire()
	w := q.unused()
	if w.Value.accepts {
		w.Value.accepts = false
		w.Since.Reset()
	}
	q.list.Push(w)
	q.release()
	return w
}

// unused returns a waiter in no queue. The caller holds the lock, which is released
// while a waiter is allocated.
func (q *Queue) unused() *waiter {
	if q.list.free == nil {
		q.release()
		w := newNode[waiting]() // not Get: a waiter may be unused by now, and the lock is not held
		q.acquire()
		return w
	}
	return q.list.Get()
}

// rejoin returns a waiter to the front after a spurious wake-up, and ends that
// wake-up.
func (q *Queue) rejoin(w *waiter) {
	q.acquire()
	q.inFlight = false
	if w.Value.accepts {
		w.Value.weight = q.count()
	}
	q.list.PushFront(w)
	q.release()
}

// requeue is rejoin at the end, for a waiter that got a part of what it waits for.
// It waits for the rest from now on.
func (q *Queue) requeue(w *waiter) {
	q.acquire()
	q.inFlight = false
	w.Since.Reset()
	q.list.Push(w)
	q.release()
}

// park waits until w is woken, and returns false if done is closed first. In both
// cases the caller must rejoin or leave with w.
func (q *Queue) park(w *waiter, done <-chan struct{}) bool {
	if w.Value.accepts {
		return q.tally.ParkSince(w.Parker, done, w.Value.weight, &w.Since)
	}
	return q.tally.Park(w.Parker, done, q.tally.Count(), &w.Since)
}

// leave removes w and ends its wake-up if it has one. woken reports whether park
// has returned true since w last joined. The caller must not use w afterwards.
func (q *Queue) leave(w *waiter, woken bool) {
	q.acquire()
	if w.queued {
		q.list.Remove(w)
	} else {
		if !woken { // the token is there, or will be in a moment
			q.release()
			w.Parker.Park(nil)
			q.acquire()
		}
		q.inFlight = false
	}
	q.recycle(w)
	q.release()
}

// recycle keeps w for another goroutine. The caller holds the lock.
func (q *Queue) recycle(w *waiter) {
	if !w.Value.accepts { // the next one that accepts begins anew
		w.Since.Reset()
	}
	w.Value.handed = false
	if q.seat == nil && w.Value.accepts {
		q.seat = w
	}
	if w == q.seat {
		w.Since.Reset()
		w.Value.weight = 0
		w.Value.lent, w.Value.accepts = false, true
		return
	}
	q.list.Put(w)
}

// Wake wakes the first waiter, unless a wake-up is in flight.
func (q *Queue) Wake() {
	q.acquire()
	if q.inFlight {
		q.release()
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
	// them takes it at once: see ADR 0003.
	var woken *waiter
	q.acquire()
	q.signal.Or(shut)
	for q.list.first != nil {
		w := q.list.first
		q.list.Remove(w)
		if w.Select == nil {
			w.next, woken = woken, w
		} else if _, unpark := w.Select.Notify(int(w.Index)); unpark {
			w.Parker.Unpark()
		}
	}
	q.release()
	for woken != nil {
		w := woken
		woken, w.next = w.next, nil // after Unpark w belongs to its goroutine
		w.Parker.Unpark()
	}
}

// enter queues w as case index of a Select whose state is polling: at the end the
// first time, at the front if w holds the wake-up. A queued w keeps its position.
// w belongs to the caller, which must pass the same State until exit.
func (q *Queue) enter(w *waiter, state *selection.State, index int) {
	q.acquire()
	switch {
	case w.Value.holds:
		w.Value.holds = false
		q.inFlight = false
		q.list.PushFront(w)
	case !w.queued:
		w.Select, w.Index, w.Parker = state, int32(index), state.Parker()
		q.list.Push(w)
	}
	q.release()
}

// exit removes w, and ends the wake-up if w holds it. As after leave, the caller
// must then check whether another waiter could proceed.
func (q *Queue) exit(w *waiter) {
	q.acquire()
	if w.queued {
		q.list.Remove(w)
	}
	if w.Value.holds {
		w.Value.holds = false
		q.inFlight = false
	}
	w.Select = nil
	q.release()
}

// Tally returns the queue's wait statistics.
func (q *Queue) Tally() *park.Tally { return &q.tally }

// A Snapshot describes a Queue at one moment.
type Snapshot struct {
	Waiting int             // goroutines in the queue
	Waits   uint64          // parks so far
	Handed  uint64          // hand-offs so far
	Spent   time.Duration   // parked in total, finished waits only: an estimate
	Oldest  time.Duration   // how long the first goroutine has waited
	Ages    []time.Duration // how long each has waited, the first one first
}

// Snapshot describes the queue at the time now. It appends to ages until that is
// full, and does not grow it.
func (q *Queue) Snapshot(now time.Duration, ages []time.Duration) Snapshot {
	q.acquire()
	defer q.release()
	q.signal.Or(timed)
	s := Snapshot{Waiting: q.list.Len(), Waits: q.tally.Waits() + q.HandOffs(), Handed: q.HandOffs(), Spent: q.tally.Spent()}
	for w := q.list.first; w != nil; w = w.next {
		noticed(w, now)
	}
	s.Oldest = q.list.Oldest(now)
	s.Ages = q.list.Ages(ages, now)
	return s
}
