package spill

import (
	"cmp"
	"context"
	"sync"
	"time"
)

// A line is where goroutines wait in their order: senders for room on disk, and in a
// Durable receivers for a record. It belongs to the holder of the lock of its
// channel.
//
// A waiter belongs to the goroutine that waits, its fields to the holder of the
// lock as long as it is in line. Whoever takes it out of the line decides what
// became of it (serve), once. A context that ends the wait takes it out under the
// lock; if it is gone already, it was served, and that is what counts.
type line struct {
	first, last *waiter
	n           int
	waits       uint64
	spent       time.Duration
}

type waiter struct {
	next, prev *waiter
	need       int64         // bytes on disk, of a sender
	record     stored        // what a sender of an Elastic sends; what a receiver gets
	err        error         // what became of it; read once served is closed
	served     chan struct{} // made by the one who waits, as testing/synctest asks for
}

// serve ends the wait of w, which has left the line.
func (w *waiter) serve(err error) {
	w.err = err
	close(w.served)
}

func (l *line) push(w *waiter) {
	w.prev = l.last
	if l.last == nil {
		l.first = w
	} else {
		l.last.next = w
	}
	l.last = w
	l.n++
	l.waits++
}

// pop takes the first one out, or returns nil.
func (l *line) pop() *waiter {
	w := l.first
	if w != nil {
		l.remove(w)
	}
	return w
}

func (l *line) remove(w *waiter) {
	if w.prev == nil {
		l.first = w.next
	} else {
		w.prev.next = w.next
	}
	if w.next == nil {
		l.last = w.prev
	} else {
		w.next.prev = w.prev
	}
	w.next, w.prev = nil, nil
	l.n--
}

// A turn is how far a call is on its way to wait.
type turn struct {
	asked bool            // the context
	over  error           // it was done by then
	done  <-chan struct{} // it ends the wait
}

// ask asks ctx, which is a user's code and may panic: no lock is held.
func (t *turn) ask(ctx context.Context) {
	t.asked = true
	t.done, t.over = ctx.Done(), ctx.Err()
}

// await waits until w, which is in line, was served, or the context is done, and
// returns in the latter case false: then w is still in line. mu, which guards the
// line, is held before and after.
func (l *line) await(mu *sync.Mutex, w *waiter, turn *turn) (served bool) {
	mu.Unlock()
	start := time.Now()
	select {
	case <-w.served:
	case <-turn.done:
	}
	mu.Lock()
	l.spent += time.Since(start)
	select {
	case <-w.served:
		return true
	default:
		return false
	}
}

// contextError is the error of a context whose Done channel is closed: never nil,
// whatever the context of a user says.
func contextError(ctx context.Context) error { return cmp.Or(ctx.Err(), context.Canceled) }
