package handoff

import (
	"runtime"

	"github.com/sluice-go/sluice/internal/engine"
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

// wait waits until w is served or stop is closed. It is called without the lock and
// returns with it.
func (e *Engine[T]) wait(stop <-chan struct{}, l *queue[T], w *waiter[T]) outcome {
	runtime.Gosched()
	e.lock.Lock()
	if !w.queued {
		return w.outcome
	}
	w.parked = true
	weight := l.waits.Count()
	e.lock.Unlock()
	woken := l.waits.Park(w.parker, stop, weight, &w.since)
	e.lock.Lock()
	if !woken && !w.queued { // served meanwhile: the token will arrive
		e.lock.Unlock()
		w.parker.Park(nil)
		e.lock.Lock()
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
		if e.config.NoHandOff {
			e.postReady()
			e.serve(w, retry)
			return
		}
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

// wakeReceiver releases the lock. If a receiver waits, which is possible only with
// NoHandOff, it wakes that to retry.
func (e *Engine[T]) wakeReceiver() {
	w := e.receivers.take()
	if w == nil {
		e.lock.Unlock()
		return
	}
	e.serve(w, retry)
}
