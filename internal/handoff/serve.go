package handoff

import (
	"runtime"

	"github.com/sluice-go/sluice/internal/engine"
	"github.com/sluice-go/sluice/internal/park"
)

// How a waiter waits, and how an operation serves one: for calls, and for a Select
// after its poll.

// recvLocked is TryRecv with the lock held. It releases the lock.
func (e *Engine[T]) recvLocked() (v T, err error) {
	if e.buf.Len() > 0 {
		v = e.pop()
		e.taken++
		e.admitSenders()
		return v, nil
	}
	if w := e.senders.take(); w != nil {
		return e.collect(w), nil
	}
	err = engine.ErrEmpty
	if e.closed {
		err = engine.ErrClosed
	}
	e.lock.Unlock()
	return v, err
}

// receiver dequeues a receiver for a hand-off, or returns nil. The lock is held.
func (e *Engine[T]) receiver() *waiter[T] {
	if e.receivers.first == nil || e.buf.Len() > 0 {
		return nil
	}
	return e.receivers.take()
}

// handOff hands v off to a receiver that was dequeued. It releases the lock.
func (e *Engine[T]) handOff(w *waiter[T], v T) {
	w.value = v
	e.sent++
	e.taken++
	e.serve(w, done)
}

// collect takes the value of a sender that was dequeued. It releases the lock.
func (e *Engine[T]) collect(w *waiter[T]) T {
	v := w.value
	e.sent++
	e.taken++
	if e.senders.first != nil {
		e.postReady()
	}
	e.serve(w, done)
	return v
}

// A pause is how the goroutine of a queued waiter waits.
type pause struct {
	yields bool  // once, before it parks
	served bool  // the wait is over; the lock is held
	timed  bool  // it parks, and reads the clock
	weight int64 // see park.Tally
}

// begin decides how the goroutine of w, which was queued in l, waits. The lock is held.
func (e *Engine[T]) begin(l *queue[T], w *waiter[T]) pause {
	if e.mayYield(l, w) {
		return pause{yields: true}
	}
	return e.count(l, w)
}

// yielded is called after a yield. It takes the lock, and releases it unless w was served.
func (e *Engine[T]) yielded(l *queue[T], w *waiter[T]) (p pause) {
	e.acquire()
	if l.yields.Record(!w.queued); !w.queued {
		p.served = true
		return p
	}
	w.parked = true
	p = e.count(l, w)
	e.lock.Unlock()
	return p
}

// count counts a wait of w, which is queued and parks. Reading the clock costs a tenth of a
// wait, so from some time on it is read only if somebody may ask: in a channel with a name,
// and after a call of Stats. Any other wait begins for Stats when that sees it first. The
// lock is held.
func (e *Engine[T]) count(l *queue[T], w *waiter[T]) pause {
	l.parks++
	p := pause{weight: park.Weight(l.parks)}
	p.timed = p.weight > 0 || l.parks <= park.AlwaysTimed || e.flags.Load()&timed != 0
	w.untimed = !p.timed
	return p
}

// notice times each wait from now on, and begins those that are not timed. The lock is held.
func (e *Engine[T]) notice() {
	if e.flags.Load()&timed != 0 {
		return
	}
	e.flags.Or(timed)
	now := park.Now() // under the lock: not before a wait that it finds
	for _, l := range []*queue[T]{&e.senders, &e.receivers} {
		for w := l.first; w != nil; w = w.next {
			if w.untimed {
				w.untimed = false
				w.since.Continue(now)
			}
		}
	}
}

// wait waits until w is served or stop is closed. It is called without the lock and
// returns with it. p is the result of begin.
func (e *Engine[T]) wait(stop <-chan struct{}, l *queue[T], w *waiter[T], p pause) outcome {
	if p.yields {
		runtime.Gosched()
		if p = e.yielded(l, w); p.served {
			return w.outcome
		}
	}
	woken := false
	if p.timed {
		woken = l.waits.Park(w.parker, stop, p.weight, &w.since)
	} else {
		woken = w.parker.Park(stop)
	}
	e.acquire()
	if !woken && !w.queued { // served meanwhile: the token will arrive
		e.lock.Unlock()
		w.parker.Park(nil)
		e.acquire()
	}
	return l.leave(w)
}

// serve sets the outcome of a dequeued waiter, releases the lock and wakes the
// goroutine if it is parked.
func (e *Engine[T]) serve(w *waiter[T], v outcome) {
	w.outcome = v
	parked, parker := w.parked, w.parker
	e.lock.Unlock()
	if parked {
		parker.Unpark()
	}
}

// admitSenders queues the values of waiting senders as long as there is room, and
// releases the lock.
func (e *Engine[T]) admitSenders() {
	var last *waiter[T]
	for w := e.senders.first; w != nil && e.fits(w.size); w = e.senders.first {
		e.senders.pop()
		if !w.claim() {
			continue
		}
		if last != nil && last.parked {
			last.parker.Unpark()
		}
		last = w
		e.push(w.value, w.size)
		w.outcome = done
	}
	if e.buf.Len() > 0 {
		e.postReady()
	}
	if last == nil {
		e.lock.Unlock()
		return
	}
	e.serve(last, done)
}
