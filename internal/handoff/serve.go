package handoff

import "github.com/sluice-go/sluice/internal/engine"

// What an operation does that meets a waiter of the other side, for those who come
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
