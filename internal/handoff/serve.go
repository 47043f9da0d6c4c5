package handoff

import (
	"runtime"

	"github.com/sluice-go/sluice/internal/engine"
)

// How a waiter waits, and what an operation does that meets one, for those who come
// by and for a Select that has looked.

// recvLocked is TryRecv for one who holds the lock. It releases it.
func (e *Engine[T]) recvLocked() (v T, err error) {
	if e.buf.Len() > 0 {
		v = e.pop()
		e.taken++
		e.admit()
		return v, nil
	}
	if w := e.senders.take(); w != nil {
		return e.takeOver(w), nil
	}
	err = engine.ErrEmpty
	if e.closed {
		err = engine.ErrClosed
	}
	e.lock.Unlock()
	return v, err
}

// receiver takes out a receiver that a value can be handed to, nil if there is
// none. The lock is held.
func (e *Engine[T]) receiver() *waiter[T] {
	if e.receivers.first == nil || e.buf.Len() > 0 {
		return nil
	}
	return e.receivers.take()
}

// handOver hands v to a receiver that was taken out of its line. It releases the
// lock.
func (e *Engine[T]) handOver(w *waiter[T], v T) {
	w.value = v
	e.sent++
	e.taken++
	e.serve(w, done)
}

// takeOver takes the value of a sender that was taken out of its line. It
// releases the lock.
func (e *Engine[T]) takeOver(w *waiter[T]) T {
	v := w.value
	e.sent++
	e.taken++
	if e.senders.first != nil {
		e.announce()
	}
	e.serve(w, done)
	return v
}

// wait waits until w is served or stop is closed, and returns with the lock
// held. It is called without.
func (e *Engine[T]) wait(stop <-chan struct{}, l *line[T], w *waiter[T]) verdict {
	runtime.Gosched()
	e.lock.Lock()
	if !w.queued {
		return w.verdict
	}
	w.parked = true
	weight := l.waits.Count()
	e.lock.Unlock()
	woken := l.waits.Park(w.parker, stop, weight, &w.since)
	e.lock.Lock()
	if !woken && !w.queued { // served meanwhile: the token is on its way
		e.lock.Unlock()
		w.parker.Park(nil)
		e.lock.Lock()
	}
	return l.leave(w)
}

// serve gives a waiter that was taken out of its line its verdict, releases the
// lock and wakes the goroutine if it is parked.
func (e *Engine[T]) serve(w *waiter[T], v verdict) {
	w.verdict = v
	parked, parker := w.parked, w.parker
	e.lock.Unlock()
	if parked {
		parker.Unpark()
	}
}

// admit takes the waiting senders that there is room for now, and releases the
// lock.
func (e *Engine[T]) admit() {
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
		if e.config.NoHandOff {
			e.announce()
			e.serve(w, again)
			return
		}
		e.push(w.value, w.size)
		w.verdict = done
	}
	if e.buf.Len() > 0 {
		e.announce()
	}
	if last == nil {
		e.lock.Unlock()
		return
	}
	e.serve(last, done)
}

// callReceiver releases the lock. Without the hand-off it also sends a waiting
// receiver to look for itself.
func (e *Engine[T]) callReceiver() {
	w := e.receivers.take()
	if w == nil {
		e.lock.Unlock()
		return
	}
	e.serve(w, again)
}
