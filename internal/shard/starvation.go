package shard

import "github.com/sluice-go/sluice/internal/spin"

// Starvation. A sender that waits for room in any lane, or a receiver, starves after
// maxLosses spurious wake-ups: each time another goroutine was faster. It then publishes a
// set in which its request is starving and which has no lanes for the fast path of its
// side. Each goroutine of that side that finds such a set first completes the request (it
// rescues it), and fails or waits as if there were no room, or no value, while it cannot.
// Its own result, "full" or "empty", is therefore still true.
//
//   - At most one goroutine of a side starves: it is the first in its queue or holds the
//     wake-up, so no other one is woken, and none can wait alone.
//   - A batch that made progress does not starve: it rejoins at the end.
//   - The fields of a request belong to the holder of its lock, until done is set, and do
//     not change afterwards. The lock is held while a goroutine sends the value, or receives
//     it, so that happens once.
//   - The starving goroutine alone removes its request from the set: it finds it done, or
//     gives up and marks it as done.
//   - The rescuer wakes no goroutine: the receive that made room, or the send that added the
//     value, wakes the first waiter, which is the starving one.
//   - A rescued request has happened: the result of the starving goroutine is success, even
//     if its context has ended or the channel was closed meanwhile. A value that was received
//     for it counts as received from then on.
//
// Two groups may still overtake it: goroutines that had loaded the set before, once each; and
// senders of a key that already wait in the queue of their lane. A Select does not starve: it
// loses to others without a bound, but rescues them. Inside a lane, segqueue's own protocol
// does the same.

// maxLosses is the number of spurious wake-ups after which a goroutine starves, as in
// package segqueue.
const maxLosses = 16

// A request is the operation of a starving goroutine.
type request[T any] struct {
	lock spin.Lock
	one  [1]T // to send, or received
	done bool // sent or received, or given up
}

// recordLoss records that a call could not proceed. v is the value to send.
func (e *Engine[T]) recordLoss(t *turn[T], side int, v T) {
	if !t.wait.Woken() || t.wait.Progressed() || t.request != nil {
		return
	}
	if t.losses++; t.losses < maxLosses {
		return
	}
	r := &request[T]{one: [1]T{v}}
	for s := e.set.Load(); !s.closed && s.starving[side] == nil; s = e.set.Load() {
		next := s.with()
		next.starving[side] = r
		if e.exchange(s, next) {
			t.request = r
			return
		}
	}
}

// rescue completes r, unless that is done, if a lane has room or a value. It reports
// whether the request is done.
func (e *Engine[T]) rescue(r *request[T], side int) bool {
	r.lock.Lock()
	defer r.lock.Unlock()
	if r.done {
		return true
	}
	n := 0
	if s := e.set.Load(); side == receives {
		n = e.sweep(s, &e.receiving[hintIndex()], r.one[:])
	} else {
		n, _ = e.spread(s, 0, r.one[:], 1, true)
	}
	r.done = n == 1
	return r.done
}

// endStarvation ends the request of the call, if it has one, and reports whether it was
// completed. It turns the fast path on.
func (e *Engine[T]) endStarvation(t *turn[T], side int) (completed bool) {
	r := t.request
	if r == nil {
		return false
	}
	r.lock.Lock()
	completed, r.done = r.done, true
	r.lock.Unlock()
	for {
		s := e.set.Load()
		next := s.with()
		next.starving[side] = nil
		if e.exchange(s, next) {
			t.request = nil
			return completed
		}
	}
}
