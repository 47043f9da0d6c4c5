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
	parker     park.Parker
	since      park.Since // see start

	// Only for an entry of a Select: see enter.
	choice *selection.State
	index  int  // of the case
	holds  bool // the queue's wake-up
}

// The values of Queue.signal.
const (
	empty  uint32 = iota // no goroutine waits
	wanted               // a goroutine waits, and no wake-up is in flight
	waking               // a wake-up is in flight
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
//   - A waiter of a Select that cannot be notified, because another queue was
//     faster, is skipped and stays queued: its goroutine is awake, and polls this
//     channel again before it parks, or leaves.
//
// The lock is held for a few instructions, and never while a goroutine waits.
type Queue struct {
	signal atomic.Uint32
	lock   spin.Lock

	first, last *waiter
	n           int

	free     *waiter // reused, so that joining does not allocate
	frees    int32
	inFlight bool

	waits park.Tally
}

// maxFree bounds the number of unused waiters that a queue keeps.
const maxFree = 64

// Waiting reports whether a goroutine waits for a Wake. It costs one load.
func (q *Queue) Waiting() bool { return q.signal.Load() == wanted }

// Idle reports whether no goroutine waits, and none was woken and has yet to leave.
func (q *Queue) Idle() bool { return q.signal.Load() == empty }

// join appends the calling goroutine.
func (q *Queue) join() *waiter {
	q.lock.Lock()
	w := q.free
	if w != nil {
		q.free, w.next = w.next, nil
		q.frees--
	} else { // allocate without the lock
		q.lock.Unlock()
		w = &waiter{parker: park.NewParker()}
		q.lock.Lock()
	}
	q.append(w)
	q.lock.Unlock()
	return w
}

// rejoin returns a waiter to the front after a spurious wake-up, and ends that
// wake-up.
func (q *Queue) rejoin(w *waiter) {
	q.lock.Lock()
	q.inFlight = false
	q.prepend(w)
	q.lock.Unlock()
}

// requeue is rejoin at the end, for a waiter that got a part of what it waits for.
// It waits for the rest from now on.
func (q *Queue) requeue(w *waiter) {
	q.lock.Lock()
	q.inFlight = false
	w.since.Reset()
	q.append(w)
	q.lock.Unlock()
}

// park waits until w is woken, and returns false if done is closed first. In both
// cases the caller must rejoin or leave with w.
func (q *Queue) park(w *waiter, done <-chan struct{}) bool {
	return q.waits.Park(w.parker, done, q.waits.Count(), &w.since)
}

// leave removes w and ends its wake-up if it has one. woken reports whether park
// has returned true since w last joined. The caller must not use w afterwards.
func (q *Queue) leave(w *waiter, woken bool) {
	q.lock.Lock()
	if w.queued {
		q.remove(w)
	} else {
		if !woken { // the token is there, or will be in a moment
			q.lock.Unlock()
			w.parker.Park(nil)
			q.lock.Lock()
		}
		q.inFlight = false
	}
	q.update()
	w.since.Reset()
	if q.frees < maxFree {
		w.next, q.free = q.free, w
		q.frees++
	}
	q.lock.Unlock()
}

// Wake wakes the first waiter, unless a wake-up is in flight.
func (q *Queue) Wake() {
	q.lock.Lock()
	if q.inFlight {
		q.lock.Unlock()
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
		q.lock.Unlock()
		return
	}
	q.remove(w)
	q.inFlight = true
	q.update()
	parker := w.parker
	q.lock.Unlock()
	if unpark {
		parker.Unpark()
	}
}

// WakeAll wakes every waiter, because the channel was closed.
func (q *Queue) WakeAll() {
	// The parked goroutines are woken after the lock is released, because each of
	// them takes it at once: see ADR 0003.
	var woken *waiter
	q.lock.Lock()
	for q.first != nil {
		w := q.first
		q.remove(w)
		if w.choice == nil {
			w.next, woken = woken, w
		} else if _, unpark := w.choice.Notify(w.index); unpark {
			w.parker.Unpark()
		}
	}
	q.update()
	q.lock.Unlock()
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
	q.lock.Lock()
	switch {
	case w.holds:
		w.holds = false
		q.inFlight = false
		q.prepend(w)
	case !w.queued:
		w.choice, w.index, w.parker = state, index, state.Parker()
		q.append(w)
	}
	q.lock.Unlock()
}

// exit removes w, and ends the wake-up if w holds it. As after leave, the caller
// must then check whether another waiter could proceed.
func (q *Queue) exit(w *waiter) {
	q.lock.Lock()
	if w.queued {
		q.remove(w)
	}
	if w.holds {
		w.holds = false
		q.inFlight = false
	}
	w.choice = nil
	q.update()
	q.lock.Unlock()
}

// Tally returns the queue's wait statistics.
func (q *Queue) Tally() *park.Tally { return &q.waits }

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
	Spent   time.Duration   // parked in total, finished waits only: an estimate
	Oldest  time.Duration   // how long the first goroutine has waited
	Ages    []time.Duration // how long each has waited, the first one first
}

// Snapshot describes the queue at the time now. It appends to ages until that is
// full, and does not grow it.
func (q *Queue) Snapshot(now time.Duration, ages []time.Duration) Snapshot {
	q.lock.Lock()
	defer q.lock.Unlock()
	s := Snapshot{Waiting: q.n, Waits: q.waits.Waits(), Spent: q.waits.Spent(), Ages: ages}
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
	q.update()
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
	q.update()
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

// update restores the invariant of signal. The caller holds the lock.
func (q *Queue) update() {
	signal := empty
	switch {
	case q.inFlight:
		signal = waking
	case q.n > 0:
		signal = wanted
	}
	if q.signal.Load() != signal {
		q.signal.Swap(signal)
	}
}
