package semaphore

import (
	"context"

	"github.com/sluice-go/sluice/internal/engine"
	"github.com/sluice-go/sluice/internal/spin"
	"github.com/sluice-go/sluice/internal/waitq"
)

// A waiter is one goroutine that waits for n permits.
//
//	queued --serve: enough is free, FIFO-------> served    the permits are its own
//	queued --serve: enough is free, barging----> awake     queued: it competes for the permits
//	awake  --it finds too little, or takes them> queued, or left
//	queued --Resize to fewer permits, Close----> served    with an error
//	awake  --it finds that Close was called----> left
//	queued, awake --ctx is done----------------> left
//
// It is in the list while it is queued or awake. served and awake come with a token, which the
// goroutine takes before the waiter is used again.
type waiter = waitq.Node[wish]

type wish struct {
	n      int64
	losses int // releases that did not serve it while it was the first
	state  waiterState
	err    error // the result of Acquire, once it is served
}

type waiterState uint8

const (
	queued waiterState = iota
	awake
	served
)

// maxLosses is how often the first waiter loses before the semaphore is strict.
const maxLosses = 16

// A queue holds those that wait, in the order of their calls. Its lock guards all fields,
// the states of waiters, and the bits of Semaphore.state.
//
//   - strict is set if and only if the first waiter must not be passed: always without
//     barging, otherwise once it has maxLosses. Then no other goroutine takes permits. After Close
//     it stays set, and there is no first waiter, or only one that is awake.
//   - waiting is set if and only if there is a first waiter and it is not awake.
//   - No wake-up is lost: serve sets the bits by a read-modify-write and then looks at the
//     number of free permits that this operation returned. A Release adds its permits by a
//     read-modify-write of the same word. Either serve sees the permits, or the Release sees
//     the bit and calls serve.
//   - An awake waiter leaves, or calls serve when it has found too little. So permits that are
//     released meanwhile need no second wake-up.
type queue struct {
	lock    spin.Lock
	made    bool // fixed; false in a zero value
	barging bool
	closed  bool
	waiters waitq.List[wish]
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
	w := q.waiters.Get()
	w.Value.n = n
	q.waiters.Push(w)
	s.serveAndUnlock(wakeList{})
	for w.Parker.Park(done) {
		q.lock.Lock()
		if w.Value.state == served {
			err := w.Value.err
			q.waiters.Put(w)
			q.lock.Unlock()
			return err
		}
		w.Value.state = queued
		var err error
		switch {
		case q.closed:
			err = engine.ErrClosed
		case s.take(n, 0):
		case n > s.capacity.Load():
			err = engine.ErrTooLarge
		default:
			w.Value.losses++
			s.serveAndUnlock(wakeList{})
			continue
		}
		q.waiters.Remove(w)
		q.waiters.Put(w)
		s.serveAndUnlock(wakeList{})
		return err
	}
	return s.cancel(ctx, w)
}

// cancel ends the wait of w because ctx is done. It may be too late for that.
func (s *Semaphore) cancel(ctx context.Context, w *waiter) error {
	q := &s.queue
	q.lock.Lock()
	state, err := w.Value.state, w.Value.err
	if state != served {
		q.waiters.Remove(w)
	}
	if state == queued {
		q.waiters.Put(w)
	}
	s.serveAndUnlock(wakeList{})
	if state != queued {
		w.Parker.Wait() // the token is on its way
		q.lock.Lock()
		q.waiters.Put(w)
		q.lock.Unlock()
	}
	if state == served {
		return err
	}
	return engine.ContextError(ctx)
}

// released serves waiters after a Release.
func (s *Semaphore) released() {
	q := &s.queue
	q.lock.Lock()
	if w := q.waiters.First(); w != nil && w.Value.state == queued && s.state.Load()>>freeShift < w.Value.n {
		w.Value.losses++
	}
	s.serveAndUnlock(wakeList{})
}

// serveAndUnlock grants permits to waiters, or makes the first one awake, and sets the bits. Then it
// releases the lock, and wakes those, and due.
func (s *Semaphore) serveAndUnlock(due wakeList) {
	s.serve(&due)
	s.queue.lock.Unlock()
	due.wake()
}

// serve adds to due what to wake once the caller has released the lock.
func (s *Semaphore) serve(due *wakeList) {
	q := &s.queue
	for {
		free := s.mark()
		w := q.waiters.First()
		if w == nil || w.Value.state == awake || free < w.Value.n {
			return
		}
		if !q.strict() {
			w.Value.state = awake
			due.awake = w
			continue // waiting is off from now on
		}
		if s.take(w.Value.n, 0) { // the first waiter is not held up by strict
			q.finish(w, nil, due)
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
	if w := q.waiters.First(); w != nil && w.Value.state != awake {
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
	w := q.waiters.First()
	return q.closed || w != nil && (!q.barging || w.Value.losses >= maxLosses)
}

// finish removes w, with the result of its Acquire.
func (q *queue) finish(w *waiter, err error, due *wakeList) {
	q.waiters.Remove(w)
	w.Value.state, w.Value.err = served, err
	due.served.Push(w)
}

// refuse removes the waiters for more than n permits that are not awake, which get err.
func (q *queue) refuse(n int64, err error) (due wakeList) {
	for w := q.waiters.First(); w != nil; {
		next := w.Next()
		if w.Value.n > n && w.Value.state == queued {
			q.finish(w, err, &due)
		}
		w = next
	}
	return due
}

// A wakeList is what to wake after the lock was released: waiters that are served, and the one that
// is awake, which is still queued. None of them is used again before it took its token.
type wakeList struct {
	served waitq.List[wish]
	awake  *waiter
}

func (l *wakeList) wake() {
	for l.served.Len() > 0 {
		l.served.Pop().Parker.Unpark()
	}
	if l.awake != nil {
		l.awake.Parker.Unpark()
	}
}
