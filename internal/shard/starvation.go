package shard

import (
	"sync/atomic"

	"github.com/sluice-go/sluice/internal/spin"
)

// Starvation. A sender that waits for room in any lane, or a receiver, starves after
// maxLosses spurious wake-ups: each time another goroutine was faster. It then publishes a
// set in which its request is starving and which has no lanes for the fast path of its
// side. Each goroutine of that side that finds such a set first completes the request (it
// rescues it), and fails or waits as if there were no room, or no value, while it cannot.
// Its own result, "full" or "empty", is therefore still true.
//
//   - At most one goroutine of a side starves: it is the first in its queue or holds the
//     wake-up, so no other one is woken.
//   - A batch that made progress does not starve: it rejoins at the end.
//   - value and done belong to the holder of the request's lock until done is set, and do
//     not change afterwards. The lock is held while a goroutine sends the value, or receives
//     it, so that happens once.
//   - The request is removed from the set when it is done. The starving goroutine removes it
//     itself if it gives up.
//   - The rescuer wakes no goroutine: the receive that made room, or the send that added the
//     value, wakes the first waiter, which is the starving one.
//   - A rescued request has happened: the result of the starving goroutine is success, even
//     if its context has ended or the channel was closed meanwhile. A value that was received
//     for it counts as received from then on.
//
// Two groups may still overtake it: goroutines that had loaded the set before, once each; and
// senders of a key that already wait in the queue of their lane. A Select does not starve: it
// loses to others without a bound, but rescues them.

// maxLosses is the number of spurious wake-ups after which a goroutine starves, as in
// package segqueue.
const maxLosses = 16

// A request is the operation of a starving goroutine.
type request[T any] struct {
	receives bool // otherwise it sends
	lock     spin.Lock
	value    T    // to send, or received
	done     bool // sent or received, or withdrawn
}

// starvingOf returns the place for a request of that side in a set.
func (s *set[T]) starvingOf(receives bool) **request[T] {
	if receives {
		return &s.starvingReceiver
	}
	return &s.starvingSender
}

// A sending is the progress of one send.
type sending[T any] struct {
	turn
	starvation[T]
	hint *atomic.Uint32
	home int // the lane to try first
}

// A receiving is the progress of one receive.
type receiving[T any] struct {
	turn
	starvation[T]
	cursor *atomic.Uint32
}

// A starvation counts what a call has lost.
type starvation[T any] struct {
	losses  int         // spurious wake-ups
	request *request[T] // nil unless it starves
}

// place sends a prefix of vs if lanes have room for at least the given number of values,
// and returns its length.
func (e *Engine[T]) place(s *set[T], t *sending[T], vs []T, least int) (n int) {
	if r := s.starvingSender; r != nil && r != t.request && !e.rescue(r) {
		return 0
	}
	if done, starves := e.ask(&t.turn, &t.starvation); starves {
		return 0
	} else if done {
		n = 1
	}
	m, last := e.spread(s, t.home, vs[n:], least)
	if m > 0 && last != t.home && last < s.active {
		t.hint.Store(uint32(last)) // that lane has more room
	}
	if n += m; n > 0 {
		t.wait.Progress()
		t.losses = 0
	}
	return n
}

// take receives values into buf and returns their number, like place.
func (e *Engine[T]) take(s *set[T], t *receiving[T], buf []T) (n int) {
	if s.starvingReceiver == nil && t.request == nil {
		return e.sweep(s, t.cursor, buf)
	}
	if r := s.starvingReceiver; r != nil && r != t.request && !e.rescue(r) {
		return 0
	}
	own := t.request
	if done, starves := e.ask(&t.turn, &t.starvation); starves {
		return 0
	} else if done {
		buf[0], n = own.value, 1
	}
	if n == len(buf) {
		return n
	}
	return n + e.sweep(s, t.cursor, buf[n:])
}

// ask asks for the request of the call, if it has one: whether it is done, or else whether
// the call still starves. A call that was canceled does not, and attempts its operation by
// itself for the last time.
func (e *Engine[T]) ask(t *turn, f *starvation[T]) (done, starves bool) {
	switch {
	case f.request == nil:
		return false, false
	case t.wait.Canceled():
		done = e.withdraw(f.request)
	default:
		done = e.rescue(f.request)
		starves = !done
	}
	if !starves {
		f.request = nil
	}
	return done, starves
}

// leave withdraws the request of a call whose channel was closed. It was not completed: the
// call has seen that no value, or no room, will come.
func (e *Engine[T]) leave(f *starvation[T]) {
	if f.request != nil {
		e.withdraw(f.request)
	}
}

// recordLoss records that a call could not proceed. v is the value to send, nil for a
// receiver.
func (e *Engine[T]) recordLoss(t *turn, f *starvation[T], v *T) {
	if !t.wait.Woken() || t.wait.Progressed() || f.request != nil {
		return
	}
	if f.losses++; f.losses < maxLosses {
		return
	}
	r := &request[T]{receives: v == nil}
	if v != nil {
		r.value = *v
	}
	for {
		s := e.set.Load()
		if s.closed || *s.starvingOf(r.receives) != nil {
			return
		}
		next := s.with(nil)
		*next.starvingOf(r.receives) = r
		if e.exchange(s, next) {
			f.request = r
			return
		}
	}
}

// rescue completes r, unless that is done, if a lane has room or a value. It reports
// whether the request is done.
func (e *Engine[T]) rescue(r *request[T]) bool {
	r.lock.Lock()
	defer r.lock.Unlock()
	if r.done {
		return true
	}
	var n int
	vs := [1]T{r.value}
	if s := e.set.Load(); r.receives {
		n = e.sweep(s, &e.receiving[hintIndex()], vs[:])
	} else {
		n, _ = e.spread(s, 0, vs[:], 1)
		clear(vs[:])
	}
	if n == 0 {
		return false
	}
	e.finish(r, vs[0])
	return true
}

// withdraw ends the request of a goroutine that gives up, and reports whether it has been
// completed.
func (e *Engine[T]) withdraw(r *request[T]) (done bool) {
	r.lock.Lock()
	defer r.lock.Unlock()
	if r.done {
		return true
	}
	var zero T
	e.finish(r, zero)
	return false
}

// finish marks r as done, with the value that was received, and turns the fast path on. The
// caller holds the lock of r.
func (e *Engine[T]) finish(r *request[T], v T) {
	r.value, r.done = v, true
	for {
		s := e.set.Load()
		if *s.starvingOf(r.receives) != r {
			return
		}
		next := s.with(nil)
		*next.starvingOf(r.receives) = nil
		if e.exchange(s, next) {
			return
		}
	}
}
