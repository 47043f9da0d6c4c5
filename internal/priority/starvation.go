package priority

import "time"

// Starvation. A goroutine starves after maxLosses spurious wake-ups: each time another
// goroutine was faster. Its request is then in the engine, which turns the fast paths off.
// The next goroutine of its side that takes the lock and finds room, or a value, first
// completes that request (it rescues it) and then attempts its own operation. Its own result,
// "full" or "empty", is therefore still true.
//
//   - At most one sender and one receiver starve. A sender of another level that has lost as
//     often starves after it.
//   - A goroutine that starves is the first in its queue or holds that queue's wake-up. Who
//     rescues it wakes the queue, so it learns of that.
//   - A rescued operation has happened, even if its context has ended or the channel was
//     closed meanwhile.
//   - A batch that made progress does not starve: it rejoins at the end.
//   - A Select does not starve: it loses to others without a bound, but rescues them.

// maxLosses is the number of spurious wake-ups after which a goroutine starves, as in
// package segqueue.
const maxLosses = 16

// A request is the operation of a goroutine that starves. It belongs to the holder of the
// lock until done is set, and then to that goroutine.
type request[T any] struct {
	level  int           // to send on
	at     time.Duration // when the value to send is due
	value  T             // to send, or received
	ticket Ticket        // of the value sent
	done   bool
}

// recordLoss records that a call could not proceed. v is the value to send; a receive has
// none. The lock is held.
func (e *Engine[T]) recordLoss(t *turn[T], place **request[T], v []T) {
	if !t.wait.Woken() || t.wait.Progressed() || t.request != nil {
		return
	}
	if t.losses++; t.losses < maxLosses || *place != nil {
		return
	}
	t.request = &request[T]{level: t.level, at: t.at}
	if len(v) > 0 {
		t.request.value = v[0]
	}
	*place = t.request
	e.refresh()
}

// forget withdraws the request of a call that ends. The lock is held.
func (e *Engine[T]) forget(t *turn[T], place **request[T]) {
	if t.request != nil && *place == t.request {
		*place = nil
		e.refresh()
	}
	t.request = nil
}

// rescueSender sends the value of the sender that starves, if there is one other than the
// caller, and room. It returns the level whose queue is to be woken, or -1.
func (e *Engine[T]) rescueSender(t *turn[T]) int {
	r := e.starvingSender
	if r == nil || r == t.request || e.n >= e.limit || e.isShut(r.level) {
		return -1
	}
	r.ticket = e.put(r.level, r.at, r.value)
	var zero T
	r.value, r.done = zero, true
	e.starvingSender = nil
	e.refresh()
	return r.level
}

// rescueReceiver receives on behalf of the receiver that starves, in the same way.
func (e *Engine[T]) rescueReceiver(t *turn[T]) bool {
	r := e.starvingReceiver
	if r == nil || r == t.request || !e.able() || e.expired() {
		return false
	}
	r.value, r.done = e.take(), true
	e.starvingReceiver = nil
	e.refresh()
	return true
}
