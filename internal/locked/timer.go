package locked

import (
	"math"
	"time"
	"weak"

	"github.com/sluice-go/sluice/internal/park"
)

// A timer is what makes the operation of a waiter possible if nothing but time has to pass: a
// value of a schedule becomes due, or one of a backlog too old. It belongs to the holder of the
// engine's lock.
//
// At each release of the lock it is set, for the time that alarm returns, if a waiter needs that;
// otherwise it is stopped. Until it fires that time changes only with the queues or the store, so it
// is never set too late; it may fire late, when no P is free. So there is no goroutine, and no timer,
// while nobody waits.
type timer struct {
	// alarm returns when the operation of one of those who wait becomes possible: of receivers, or
	// of senders. ok is false if time alone does not bring that.
	alarm func(receivers, senders bool) (at time.Duration, ok bool)
	of    *time.Timer   // nil until it was set
	at    time.Duration // for which it is set, or never
}

// never is the time of no event.
const never time.Duration = math.MaxInt64

// setTimer sets or stops the timer. The lock is held.
func (e *Engine[T]) setTimer() {
	t := e.timer
	at, ok := t.alarm(e.takers > 0 || e.ready.InUse(), e.offers > 0)
	if !ok || at == never {
		if t.at != never {
			t.at = never
			t.of.Stop()
		}
		return
	}
	if t.at == at {
		return
	}
	t.at = at
	now := park.Now()
	wait := at - now
	if wait < 0 && at > now { // the difference is too large
		wait = never
	}
	if t.of != nil {
		t.of.Reset(wait)
		return
	}
	ref := weak.Make(e) // the timer does not keep the channel
	t.of = time.AfterFunc(wait, func() {
		if e := ref.Value(); e != nil {
			e.fire()
		}
	})
}

// fire runs when the timer has expired. One that is late or early finds nothing to do, and is set
// again.
func (e *Engine[T]) fire() {
	e.acquire()
	e.timer.at = never
	e.catchUp()
	e.unlock()
}

// catchUp serves those whose operation has become possible by time alone. A call whose context ends
// does so before it gives up, since the timer may be late.
func (e *Engine[T]) catchUp() {
	if e.backlog != nil {
		e.swapExpired()
	}
	e.settle()
}
