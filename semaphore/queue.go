package semaphore

import (
	"cmp"
	"context"

	"github.com/sluice-go/sluice/internal/engine"
	"github.com/sluice-go/sluice/internal/park"
	"github.com/sluice-go/sluice/internal/spin"
)

// A waiter is one goroutine that waits for n permits.
//
//	queued --serve: enough is free, FIFO-------> granted   not queued; the permits are its own
//	queued --serve: enough is free, barging----> awake     queued: it competes for the permits
//	awake  --it finds too little, or takes them> queued, or left
//	queued --Resize to fewer permits-----------> refused   not queued
//	queued --Close-----------------------------> ended     not queued
//	awake  --it finds that Close was called----> left
//	queued, awake --ctx is done----------------> left
//
// granted, awake, refused and ended come with a token, which the goroutine takes before the waiter
// is used again.
type waiter struct {
	next, prev *waiter
	parker     park.Parker
	n          int64
	losses     int // releases that did not serve it while it was the first
	state      waiterState
}

type waiterState uint8

const (
	queued waiterState = iota
	awake
	granted
	refused
	ended
)

// result is what Acquire returns if its waiter was granted, refused or ended.
func (s waiterState) result() error {
	switch s {
	case refused:
		return engine.ErrTooLarge
	case ended:
		return engine.ErrClosed
	}
	return nil
}

// maxLosses is how often the first waiter loses before the semaphore is strict.
const maxLosses = 16

// maxSpare is the number of unused waiters that are kept.
const maxSpare = 64

// A queue holds those that wait, in the order of their calls. Its lock guards all fields,
// the states of waiters, and the bits of Semaphore.state.
//
//   - strict is set if and only if the first waiter must not be passed: always without
//     barging, otherwise once it has maxLosses. Then nobody else takes permits. After Close
//     it stays set, and there is no first waiter, or only one that is awake.
//   - waiting is set if and only if there is a first waiter and it is not awake.
//   - No wake-up is lost: serve sets the bits by a read-modify-write and then looks at the
//     number of free permits that this operation returned. A Release adds its permits by a
//     read-modify-write of the same word. Either serve sees the permits, or the Release sees
//     the bit and calls serve.
//   - An awake waiter leaves, or calls serve when it has found too little. So permits that are
//     released meanwhile need no second wake-up.
type queue struct {
	lock        spin.Lock
	made        bool // fixed; false in a zero value
	barging     bool
	closed      bool
	n           int
	first, last *waiter
	spare       *waiter
	spares      int
}

// wait is Acquire without free permits.
func (s *Semaphore) wait(ctx context.Context, n int64) error {
	// ctx may be a user's type: nothing of it is called while something is held or queued.
	done, err := ctx.Done(), ctx.Err()
	q := &s.queue
	q.lock.Lock()
	if q.closed {
		q.lock.Unlock()
		return engine.ErrClosed
	}
	if n > s.capacity.Load() {
		q.lock.Unlock()
		return engine.ErrTooLarge
	}
	if err != nil {
		q.lock.Unlock()
		return err
	}
	w := q.join(n)
	due := s.serve(wakeList{})
	q.lock.Unlock()
	due.wake()
	for {
		woken := w.parker.Park(done)
		if !woken {
			return s.cancel(ctx, w)
		}
		q.lock.Lock()
		if state := w.state; state != awake {
			q.putBack(w)
			q.lock.Unlock()
			return state.result()
		}
		w.state = queued
		closed := q.closed
		took, tooLarge := !closed && s.take(n, 0), n > s.capacity.Load()
		if took || tooLarge || closed {
			q.remove(w)
			q.putBack(w)
		} else {
			w.losses++
		}
		due := s.serve(wakeList{})
		q.lock.Unlock()
		due.wake()
		switch {
		case took:
			return nil
		case closed:
			return engine.ErrClosed
		case tooLarge:
			return engine.ErrTooLarge
		}
	}
}

// cancel ends the wait of w because ctx is done. It may be too late for that.
func (s *Semaphore) cancel(ctx context.Context, w *waiter) error {
	q := &s.queue
	q.lock.Lock()
	state := w.state
	var due wakeList
	if state == queued || state == awake {
		q.remove(w)
		due = s.serve(due)
	}
	q.lock.Unlock()
	due.wake()
	if state != queued {
		w.parker.Park(nil) // the token is on its way
	}
	q.lock.Lock()
	q.putBack(w)
	q.lock.Unlock()
	if state != queued && state != awake {
		return state.result()
	}
	return cmp.Or(ctx.Err(), context.Canceled)
}

// released serves waiters after a Release.
func (s *Semaphore) released() {
	q := &s.queue
	q.lock.Lock()
	if w := q.first; w != nil && w.state == queued && s.state.Load()>>freeShift < w.n {
		w.losses++
	}
	due := s.serve(wakeList{})
	q.lock.Unlock()
	due.wake()
}

// serve grants permits to waiters, or makes the first one awake, and sets the bits. The
// caller holds the lock and wakes due after it has released it.
func (s *Semaphore) serve(due wakeList) wakeList {
	q := &s.queue
	for {
		free := s.mark()
		w := q.first
		if w == nil || w.state == awake || free < w.n {
			return due
		}
		if !q.strict() {
			w.state = awake
			due.awake = w
			continue // waiting is off from now on
		}
		if s.take(w.n, 0) { // the first waiter is not held up by strict
			q.remove(w)
			w.state = granted
			due.add(w)
		}
	}
}

// mark sets the bits of the state and returns the number of free permits.
func (s *Semaphore) mark() (free int64) {
	q := &s.queue
	var bits int64
	if q.strict() {
		bits |= strict
	}
	if q.first != nil && q.first.state != awake {
		bits |= waiting
	}
	for {
		state := s.state.Load()
		if state&(waiting|strict) == bits && bits == 0 {
			return state >> freeShift // nobody waits, so that nobody can be missed
		}
		if s.state.CompareAndSwap(state, state&^(waiting|strict)|bits) {
			return state >> freeShift
		}
	}
}

// strict reports whether the first waiter must not be passed.
func (q *queue) strict() bool {
	return q.closed || q.first != nil && (!q.barging || q.first.losses >= maxLosses)
}

// join appends a waiter for n permits.
func (q *queue) join(n int64) *waiter {
	w := q.spare
	if w != nil {
		q.spare, q.spares = w.next, q.spares-1
	} else {
		w = &waiter{parker: park.NewParker()}
	}
	*w = waiter{parker: w.parker, n: n, prev: q.last}
	if q.last != nil {
		q.last.next = w
	} else {
		q.first = w
	}
	q.last = w
	q.n++
	return w
}

// remove takes w out of the queue.
func (q *queue) remove(w *waiter) {
	if w.prev != nil {
		w.prev.next = w.next
	} else {
		q.first = w.next
	}
	if w.next != nil {
		w.next.prev = w.prev
	} else {
		q.last = w.prev
	}
	w.next, w.prev = nil, nil
	q.n--
}

// removeAbove removes the waiters for more than capacity permits, which are refused.
func (q *queue) removeAbove(capacity int64) (due wakeList) {
	for w := q.first; w != nil; {
		next := w.next
		if w.n > capacity && w.state == queued {
			q.remove(w)
			w.state = refused
			due.add(w)
		}
		w = next
	}
	return due
}

// end removes the waiters that are queued, which get engine.ErrClosed.
func (q *queue) end() (due wakeList) {
	for w := q.first; w != nil; {
		next := w.next
		if w.state == queued {
			q.remove(w)
			w.state = ended
			due.add(w)
		}
		w = next
	}
	return due
}

// putBack keeps w, which is not queued and has no token, for the next wait.
func (q *queue) putBack(w *waiter) {
	if q.spares < maxSpare {
		w.next = q.spare
		q.spare = w
		q.spares++
	}
}

// A wakeList is what to wake after the lock was released: waiters that are granted, refused or
// ended, and the one that is awake, which is still queued. None of them is used again
// before it took its token.
type wakeList struct{ first, last, awake *waiter }

func (l *wakeList) add(w *waiter) {
	if l.last != nil {
		l.last.next = w
	} else {
		l.first = w
	}
	l.last = w
}

func (l *wakeList) wake() {
	for w := l.first; w != nil; {
		next := w.next
		w.parker.Unpark()
		w = next
	}
	if l.awake != nil {
		l.awake.parker.Unpark()
	}
}
