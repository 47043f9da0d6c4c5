package waitq

import (
	"time"

	"github.com/sluice-go/sluice/internal/park"
)

// The seat. In a channel that is mostly empty one goroutine waits at a time, and each value
// is handed off to it. The seat is a waiter that such a goroutine takes, is claimed in, and
// leaves by one read-modify-write of the signal each, without the lock:
//
//	vacant --sit--> wanted|seated --HandOffSeat--> waking|seated --rise--> vacant
//	                              --StandUp------> vacant
//
//   - Only a goroutine that accepts a hand-off sits, and only while no goroutine is queued
//     and no wake-up is in flight.
//   - Whoever takes the lock ends this: unseat makes the goroutine in the seat an ordinary
//     waiter, the first of the queue, or the holder of the wake-up. Its seat is lent until
//     it leaves, and is not vacant meanwhile. So only these three steps know of the seat, and
//     they fail once another goroutine has taken the lock in between.
//   - No goroutine sits after WakeAll. A goroutine that it has woken ends the wake-up in flight when it
//     leaves, although it holds none. If that is a hand-off, the next one must not begin: a
//     sender that has seen the channel open could claim the goroutine in the seat.
//   - q.seat is set once, under the lock, before the seat becomes vacant. Its fields belong
//     to the goroutine that sits, as with any waiter; from HandOffSeat until Unpark, handed
//     belongs to the caller of HandOffSeat.
//   - since may be read as soon as the goroutine is unseated. It is reset before the seat is
//     vacant, so it never shows an earlier wait.
//   - A wait in the seat is counted by the hand-off that ends it, which is a part of the same
//     word, or by unseat.

// Time. Reading the clock costs a tenth of a wait. So it is read for each wait only if
// somebody may ask: after Time, which a channel with a name calls, or after a Snapshot; and for
// the first park.AlwaysTimed hand-offs. Any other wait begins for Snapshot when that sees it first.

// sit takes the seat, if that is vacant.
func (q *Queue) sit() *waiter {
	signal := q.signal.Load()
	if signal&states != vacant || !q.signal.CompareAndSwap(signal, signal^(vacant|wanted|seated)) {
		return nil
	}
	w, n := q.seat, signal/handOff
	w.Value.weight = park.Weight(n + 1)
	if n < park.AlwaysTimed || signal&timed != 0 || w.Value.weight != 0 {
		w.Since.Continue(park.Now())
	}
	return w
}

// A goroutine that takes the seat without a Wait parks with Parker itself, so that no function of
// this package is between its park and its caller. Then it calls Arrived.

// TakeSeat takes the seat, if that is vacant.
func (q *Queue) TakeSeat() bool { return !q.tally.Watched() && q.sit() != nil }

// VacantSeat returns the signal with which TakeVacantSeat takes the seat. ok is false if that is
// not vacant, or if the wait would be timed or measured: see TakeSeat.
func (q *Queue) VacantSeat() (signal uint64, ok bool) {
	const last = (park.Sampled - 1) * handOff
	signal = q.signal.Load()
	return signal, signal&(states|timed) == vacant && signal >= park.AlwaysTimed*handOff && signal&last != last
}

// TakeVacantSeat is TakeSeat with a signal from VacantSeat.
func (q *Queue) TakeVacantSeat(signal uint64) bool {
	return q.signal.CompareAndSwap(signal, signal^(vacant|wanted|seated))
}

// StandUp leaves the seat before a hand-off. It fails if that has begun, or if another goroutine
// has taken the lock: then the caller continues with Seated.
func (q *Queue) StandUp() bool {
	signal := q.signal.Load()
	if signal&states != wanted|seated {
		return false
	}
	q.seat.Value.weight = 0
	q.seat.Since.Reset()
	return q.signal.CompareAndSwap(signal, signal^(wanted|seated|vacant))
}

// Parker returns what the goroutine in the seat parks with. It is always the same one.
func (q *Queue) Parker() park.Parker { return q.seat.Parker }

// Arrived is called by a goroutine that took the seat, when its park has ended. If it was served
// there, it takes its value and calls LeaveSeat next. Otherwise it continues with Seated.
func (q *Queue) Arrived() (served bool) {
	if q.seat.Value.weight != 0 {
		q.measured()
	}
	return q.signal.Load()&states == waking|seated
}

// measured adds the time of a measured wait in the seat, which has ended.
func (q *Queue) measured() {
	w := q.seat
	q.tally.Spend((park.Now() - w.Since.At()) * time.Duration(w.Value.weight))
	w.Value.weight = 0
}

// LeaveSeat leaves the seat after a hand-off. If it succeeds, no other goroutine waits. It fails
// if another goroutine has taken the lock: then the caller continues with Seated.
func (q *Queue) LeaveSeat() bool { return q.rise(q.seat) }

// Seated returns the wait of the goroutine that took the seat, whether it is still there or not:
// it is queued, and Arrive follows if the goroutine has the token.
func (q *Queue) Seated(done <-chan struct{}) Wait {
	return Wait{queue: q, waiter: q.seat, done: done, state: queued}
}

// noticed records that w waits at the time now, if its wait is not timed. The caller holds
// the lock.
func noticed(w *waiter, now time.Duration) {
	if w.Value.accepts && w.Since.At() == 0 {
		w.Since.Continue(now)
	}
}

// Time makes the queue time each wait. It is called before the first one.
func (q *Queue) Time() { q.signal.Or(timed) }

// HandOffSeat is HandOff for a goroutine in the seat. It fails if there is none.
func (q *Queue) HandOffSeat() (to park.Parker, ok bool) {
	signal := q.signal.Load()
	if signal&states != wanted|seated || !q.signal.CompareAndSwap(signal, (signal^(wanted|waking))+handOff) {
		return to, false
	}
	q.seat.Value.handed = true
	return q.seat.Parker, true
}

// rise leaves the seat after a hand-off. It fails if w is not in the seat, or if another
// goroutine has taken the lock: then the caller leaves with the lock, too. If rise succeeds,
// no other goroutine waits.
func (q *Queue) rise(w *waiter) bool {
	signal := q.signal.Load()
	if signal&states != waking|seated || w != q.seat {
		return false
	}
	w.Value.handed = false
	w.Value.weight = 0
	w.Since.Reset()
	return q.signal.CompareAndSwap(signal, signal^(waking|seated|vacant))
}

// unseat makes the goroutine in the seat an ordinary one. The caller holds the lock, and
// got signal.
func (q *Queue) unseat(signal uint64) {
	q.seat.Value.lent = true
	if signal&waking != 0 {
		q.inFlight = true
		return
	}
	_ = q.count()
	q.list.Push(q.seat)
}
