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

// A waiter is one goroutine in a Queue.
type waiter struct {
	next, prev *waiter
	queued     bool
	accepts    bool // a hand-off
	handed     bool // it was served by a hand-off
	lent       bool // of the seat: to a goroutine that has yet to leave with the lock
	parker     park.Parker
	since      park.Since // see start
	weight     int64      // of its wait, if it accepts: see park.Tally

	// Only for an entry of a Select: see enter.
	choice *selection.State
	index  int  // of the case
	holds  bool // the queue's wake-up
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
	n        int32
	frees    uint8
	inFlight bool
	refunds  uint16 // waits that were counted and then did not park

	first, last *waiter
	free        *waiter // reused, so that joining does not allocate
	seat        *waiter // see seat.go

	tally park.Tally // without waits in the seat that ended with a hand-off
}

// maxFree bounds the number of unused waiters that a queue keeps.
const maxFree = 64

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
	case q.first != nil:
		state = wanted
	case q.seat != nil && !q.seat.lent && signal&shut == 0:
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
	if w.accepts {
		w.accepts = false
		w.since.Reset()
	}
	q.append(w)
	q.release()
	return w
}

// unused returns a waiter in no queue. The caller holds the lock, which is released
// while a waiter is allocated.
func (q *Queue) unused() *waiter {
	w := q.free
	if w == nil {
		q.release()
		w = &waiter{parker: park.NewParker()}
		q.acquire()
		return w
	}
	q.free, w.next = w.next, nil
	q.frees--
	return w
}

// rejoin returns a waiter to the front after a spurious wake-up, and ends that
// wake-up.
func (q *Queue) rejoin(w *waiter) {
	q.acquire()
	q.inFlight = false
	if w.accepts {
		w.weight = q.count()
	}
	q.prepend(w)
	q.release()
}

// requeue is rejoin at the end, for a waiter that got a part of what it waits for.
// It waits for the rest from now on.
func (q *Queue) requeue(w *waiter) {
	q.acquire()
	q.inFlight = false
	w.since.Reset()
	q.append(w)
	q.release()
}

// refuses reports that a goroutine among those that accept a hand-off does not: see
// Wait.Refuse.
func (w *waiter) refuses() bool { return !w.accepts && w.choice == nil }

// park waits until w is woken, and returns false if done is closed first. In both
// cases the caller must rejoin or leave with w.
func (q *Queue) park(w *waiter, done <-chan struct{}) bool {
	if w.accepts {
		return q.tally.ParkSince(w.parker, done, w.weight, &w.since)
	}
	return q.tally.Park(w.parker, done, q.tally.Count(), &w.since)
}

// leave removes w and ends its wake-up if it has one. woken reports whether park
// has returned true since w last joined. The caller must not use w afterwards.
func (q *Queue) leave(w *waiter, woken bool) {
	q.acquire()
	if w.queued {
		q.remove(w)
	} else {
		if !woken { // the token is there, or will be in a moment
			q.release()
			w.parker.Park(nil)
			q.acquire()
		}
		q.inFlight = false
	}
	q.recycle(w)
	q.release()
}

// recycle keeps w for another goroutine. The caller holds the lock.
func (q *Queue) recycle(w *waiter) {
	if !w.accepts { // the next one that accepts begins anew
		w.since.Reset()
	}
	w.handed = false
	if q.seat == nil && w.accepts {
		q.seat = w
	}
	if w == q.seat {
		w.since.Reset()
		w.weight = 0
		w.lent, w.accepts = false, true
		return
	}
	if q.frees < maxFree {
		w.next, q.free = q.free, w
		q.frees++
	}
}

// Wake wakes the first waiter, unless a wake-up is in flight.
func (q *Queue) Wake() {
	q.acquire()
	if q.inFlight {
		q.release()
		return
	}
	w, unpark := q.first, true
	for w != nil && w.choice != nil {
		if w.holds, unpark = w.choice.Notify(w.index); w.holds {
			break
		}
		w, unpark = w.next, true
	}
	if w == nil {
		q.release()
		return
	}
	q.remove(w)
	q.inFlight = true
	parker := w.parker
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
	for q.first != nil {
		w := q.first
		q.remove(w)
		if w.choice == nil {
			w.next, woken = woken, w
		} else if _, unpark := w.choice.Notify(w.index); unpark {
			w.parker.Unpark()
		}
	}
	q.release()
	for woken != nil {
		w := woken
		woken, w.next = w.next, nil // after Unpark w belongs to its goroutine
		w.parker.Unpark()
	}
}

// enter queues w as case index of a Select whose state is polling: at the end the
// first time, at the front if w holds the wake-up. A queued w keeps its position.
// w belongs to the caller, which must pass the same State until exit.
func (q *Queue) enter(w *waiter, state *selection.State, index int) {
	q.acquire()
	switch {
	case w.holds:
		w.holds = false
		q.inFlight = false
		q.prepend(w)
	case !w.queued:
		w.choice, w.index, w.parker = state, index, state.Parker()
		q.append(w)
	}
	q.release()
}

// exit removes w, and ends the wake-up if w holds it. As after leave, the caller
// must then check whether another waiter could proceed.
func (q *Queue) exit(w *waiter) {
	q.acquire()
	if w.queued {
		q.remove(w)
	}
	if w.holds {
		w.holds = false
		q.inFlight = false
	}
	w.choice = nil
	q.release()
}

// Tally returns the queue's wait statistics.
func (q *Queue) Tally() *park.Tally { return &q.tally }

// start returns when the goroutine of w began to wait.
func (w *waiter) start() *park.Since {
	if w.choice != nil {
		return w.choice.Since()
	}
	return &w.since
}

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
	s := Snapshot{Waiting: int(q.n), Waits: q.tally.Waits() + q.HandOffs(), Handed: q.HandOffs(), Spent: q.tally.Spent(), Ages: ages}
	for w := q.first; w != nil; w = w.next {
		w.noticed(now)
	}
	if q.first != nil {
		s.Oldest = q.first.start().Age(now)
	}
	for w := q.first; w != nil && len(s.Ages) < cap(ages); w = w.next {
		s.Ages = append(s.Ages, w.start().Age(now))
	}
	return s
}

func (q *Queue) prepend(w *waiter) {
	w.queued = true
	w.next = q.first
	if q.first == nil {
		q.last = w
	} else {
		q.first.prev = w
	}
	q.first = w
	q.n++
}

func (q *Queue) append(w *waiter) {
	w.queued = true
	w.prev = q.last
	if q.last == nil {
		q.first = w
	} else {
		q.last.next = w
	}
	q.last = w
	q.n++
}

func (q *Queue) remove(w *waiter) {
	w.queued = false
	if w.prev == nil {
		q.first = w.next
	} else {
		w.prev.next = w.next
	}
	if w.next == nil {
		q.last = w.prev
	} else {
		w.next.prev = w.prev
	}
	w.next, w.prev = nil, nil
	q.n--
}
