package waitq

import (
	"time"

	"github.com/sluice-go/sluice/internal/park"
)

// The lone waiter. In a channel that is mostly empty one goroutine waits at a time, and each
// value is handed off to it. It waits, is claimed, and leaves by one read-modify-write of the
// signal each, without the lock:
//
//	free  --WaitAlone-----------> alone
//	alone --Claim: by a sender--> handed --LeaveAlone--> free
//	alone --Wake, WakeAll-------> woken  --Resume------> free, and its goroutine holds a wake-up
//	alone --Withdraw------------> woken, by itself ----> free
//
//   - free, alone, handed and woken are the bits of that name in the signal, at most one of
//     which is set.
//   - A goroutine waits alone only if no other one waits or was woken and has yet to leave.
//     Others join the list meanwhile: it is before all of them. When it has been served it
//     joins the list, too, as long as they wait.
//   - alone implies that no wake-up is in flight: it begins without one, and Wake claims the
//     lone waiter before all others. As a waiter from the list it holds the wake-up then.
//   - Who changes alone owns what follows. A sender that claims the lone waiter transfers a
//     value, and then calls Unpark; the waiter takes its token and the value, and leaves. So
//     at most one hand-off is in progress.
//   - The loneWaiter belongs to its goroutine from alone to free. Wake, WakeAll and Claim only
//     use its parker, once. Snapshot may write since: see loneAge.
//   - A wait that ends with a hand-off is counted in the signal, by the claim itself; any other
//     one when it leaves, under the lock. Until then the bits alone and woken count as one.
//
// Reading the clock costs a tenth of such a wait. So a wait is timed only if somebody may ask:
// after Time, which a channel with a name calls, or after a Snapshot; and the first
// park.AlwaysTimed ones. Any other wait begins, for Snapshot, when that sees it first.

// A loneWaiter is the parker of all that wait alone, one after the other.
type loneWaiter struct {
	parker park.Parker
	since  park.Since
	weight int64 // of the wait: see park.Tally; 0 unless since is set
}

// WaitAlone makes the caller the lone waiter, unless others wait. If it is, it looks whether it
// can proceed, and then calls Withdraw, or parks.
func (q *Queue) WaitAlone() bool {
	lone := q.lone.Load()
	if lone == nil {
		q.lone.CompareAndSwap(nil, &loneWaiter{parker: park.NewParker()})
		lone = q.lone.Load()
	}
	signal := q.signal.Load()
	if signal&(wanted|waking|held|alone|handed|woken) != 0 || !q.signal.CompareAndSwap(signal, signal|alone) {
		return false
	}
	n := signal/handOff + q.tally.Waits()
	lone.weight = park.Weight(n + 1)
	if n < park.AlwaysTimed || signal&timed != 0 || lone.weight != 0 {
		now := park.Now()
		lone.since.Continue(now)
		q.tally.Sample(now)
	}
	return true
}

// LoneParker returns what the lone waiter parks with.
func (q *Queue) LoneParker() park.Parker { return q.lone.Load().parker }

// ParkAloneUntil waits for the token until done is closed. It reports false if that ended the wait.
func (q *Queue) ParkAloneUntil(done <-chan struct{}) (hasToken bool) {
	lone := q.lone.Load()
	if lone.parker.Park(done) {
		return true
	}
	if !q.claim(woken) {
		return lone.parker.Park(nil) // the token is on its way
	}
	q.acquire()
	q.leaveWoken()
	q.release()
	return false
}

// Claim ends the wait of the lone waiter by a hand-off: the caller transfers a value, and then
// calls Unpark. It fails if no goroutine waits alone.
func (q *Queue) Claim() (to park.Parker, ok bool) {
	if q.claim(handed + handOff) {
		return q.lone.Load().parker, true
	}
	return to, false
}

// Alone reports whether a goroutine waits alone: whether a Claim may succeed.
func (q *Queue) Alone() bool { return q.signal.Load()&alone != 0 }

// claim replaces alone by the given bits, and reports whether it did.
func (q *Queue) claim(as uint64) bool {
	for {
		signal := q.signal.Load()
		if signal&alone == 0 {
			return false
		}
		if q.signal.CompareAndSwap(signal, signal-alone+as) {
			return true
		}
	}
}

// Withdraw ends the wait of the lone waiter, which has not parked. It fails if the waiter was
// claimed: then the token is there, or will be in a moment.
func (q *Queue) Withdraw() bool {
	if !q.claim(woken) {
		return false
	}
	q.lone.Load().weight = 0
	q.acquire()
	q.leaveWoken()
	q.release()
	return true
}

// Handed reports whether the goroutine, which has its token, was handed a value. If so, it takes
// the value and calls LeaveAlone. Otherwise it was woken, and calls Resume.
func (q *Queue) Handed() bool { return q.signal.Load()&handed != 0 }

// LeaveAlone ends the wait of the lone waiter after it was claimed.
func (q *Queue) LeaveAlone() {
	if lone := q.lone.Load(); lone.since.At() != 0 {
		q.measured(lone)
	}
	q.signal.And(^(handed | woken))
}

// leaveWoken ends the wait of the lone waiter after it was woken. The caller holds the lock.
func (q *Queue) leaveWoken() {
	q.tally.Count()
	q.LeaveAlone()
}

// measured ends the measurement of a wait that is timed.
func (q *Queue) measured(lone *loneWaiter) {
	if lone.weight != 0 {
		q.tally.Spend((park.Now() - lone.since.At()) * time.Duration(lone.weight))
		lone.weight = 0
	}
	lone.since.Reset()
}

// Resume returns the wait of a lone waiter that was woken: it continues as one that was woken
// in the list, and has been there since it began to wait.
func (q *Queue) Resume(done <-chan struct{}) Wait {
	began := q.lone.Load().since.At()
	q.acquire()
	q.leaveWoken()
	w := q.unused()
	q.release()
	w.Since.Continue(began)
	return Wait{queue: q, waiter: w, done: done, state: holding}
}

// loneAge returns how long the lone waiter has waited at the time now. The wait begins now if it
// is not timed. The caller holds the lock and has read signal.
func (q *Queue) loneAge(signal uint64, now time.Duration) time.Duration {
	since := &q.lone.Load().since
	age := since.Age(now)
	if since.At() == 0 {
		since.Continue(now)
		if q.signal.Load() != signal { // it may have ended before, and since is for the next one
			since.Reset()
		}
	}
	return age
}

// Time makes the queue time each wait. It is called before the first one.
func (q *Queue) Time() { q.signal.Or(timed) }
