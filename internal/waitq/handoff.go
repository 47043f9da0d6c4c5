package waitq

import (
	"math"

	"github.com/sluice-go/sluice/internal/park"
)

// Waiters that accept a hand-off: see Wait.

// joinToAccept is join for a goroutine that HandOff may serve, and that parks at once:
// its wait begins here, and is counted here, because the lock is held.
func (q *Queue) joinToAccept() *waiter {
	if w := q.sit(); w != nil {
		return w
	}
	now := park.Now()
	q.acquire()
	w := q.unused()
	w.Value.accepts = true
	w.Since.Continue(now)
	w.Value.weight = q.count()
	q.list.Push(w)
	q.release()
	return w
}

// count counts one wait and returns its weight. A wait that did not park is refunded to the
// next one, so that the count never falls. The caller holds the lock.
func (q *Queue) count() int64 {
	if q.refunds > 0 {
		q.refunds--
		return 0
	}
	return q.tally.CountBeside(q.HandOffs())
}

// withdraw removes w from the queue without ending its wait, and reports whether it
// was queued. If not, w was woken or handed a value, and withdraw has taken the token.
// parked is whether w has parked since it was queued; otherwise it did not wait.
func (q *Queue) withdraw(w *waiter, parked bool) bool {
	q.acquire()
	queued := w.queued
	if queued {
		q.list.Remove(w)
		if !parked && q.refunds < math.MaxUint16 {
			q.refunds++
		}
	}
	q.release()
	if !queued {
		w.Parker.Park(nil)
	}
	return queued
}

// comeBack queues a waiter that has withdrawn: at the front if it was woken before, since
// it keeps its position. But a waiter that refuses stays the first: it starves, and a waiter
// in front of it would be woken for its value.
func (q *Queue) comeBack(w *waiter, front bool) {
	q.acquire()
	w.Value.weight = q.count()
	first := q.list.first
	switch {
	case !front:
		q.list.Push(w)
	case first != nil && !first.Value.accepts && first.Select == nil:
		q.list.Remove(first)
		q.list.PushFront(w)
		q.list.PushFront(first)
	default:
		q.list.PushFront(w)
	}
	q.release()
}

// leaveWithdrawn is leave for a waiter that has withdrawn and holds no wake-up.
func (q *Queue) leaveWithdrawn(w *waiter) {
	q.acquire()
	q.recycle(w)
	q.release()
}

// HandOff dequeues the first waiter, which the caller serves: it transfers a value, and
// then calls Unpark. It fails if a wake-up is in flight, or if the first waiter does not
// accept a hand-off. The waiter holds the queue's wake-up, as after Wake: so at most one
// hand-off is in progress, until its waiter leaves.
func (q *Queue) HandOff() (to park.Parker, ok bool) {
	if to, ok = q.HandOffSeat(); ok {
		return to, true
	}
	q.acquire()
	w := q.list.first
	if w == nil || q.inFlight || !w.Value.accepts {
		q.release()
		return to, false
	}
	q.list.Remove(w)
	w.Value.handed = true
	q.inFlight = true
	to = w.Parker
	q.tally.Uncount() // it is counted as a hand-off
	q.signal.Store(q.signal.Load() + handOff)
	q.release()
	return to, true
}

// HandOffs returns the number of hand-offs so far.
func (q *Queue) HandOffs() uint64 { return q.signal.Load() / handOff }
