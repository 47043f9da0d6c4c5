package handoff

import (
	"time"

	"github.com/sluice-go/sluice/internal/park"
	"github.com/sluice-go/sluice/internal/selection"
)

// A verdict is how a wait ended.
type verdict uint8

const (
	left   verdict = iota // its context did: the waiter left its line unserved
	done                  // the value changed hands
	closed                // the channel was closed
	again                 // without hand-off: look again
)

// A waiter is one goroutine that waits, with the value that it sends, or that
// it was handed. With a value of one word it is a cache line long.
type waiter[T any] struct {
	next, prev *waiter[T]
	queued     bool // in its line
	parked     bool // asleep: whoever serves it puts the token down
	verdict    verdict
	number     int32 // with choice
	parker     park.Parker
	since      park.Since // of its own: see began
	size       int
	value      T

	// Of a waiter that is one of several of a Select: see place.
	choice *selection.State
}

// claim reports whether a waiter that was taken out of its line is to be served:
// a Select may have been served elsewhere.
func (w *waiter[T]) claim() bool {
	if w.choice == nil {
		return true
	}
	may, unpark := w.choice.Claim(int(w.number))
	w.parked = unpark
	return may
}

// began is when the goroutine of w did.
func (w *waiter[T]) began() *park.Since {
	if w.choice != nil {
		return w.choice.Since()
	}
	return &w.since
}

// maxFree bounds how many waiters are kept for the next time.
const maxFree = 64

// waiter returns a waiter of the calling goroutine. The lock is held.
func (e *Engine[T]) waiter() *waiter[T] {
	w := e.free
	if w == nil {
		return &waiter[T]{parker: park.NewParker()}
	}
	e.free, w.next = w.next, nil
	e.frees--
	return w
}

// recycle takes a waiter back, without its value. The lock is held.
func (e *Engine[T]) recycle(w *waiter[T]) {
	if e.frees == maxFree {
		return
	}
	var zero T
	w.value = zero
	w.verdict = left
	w.parked = false
	w.since.Reset()
	w.next, e.free = e.free, w
	e.frees++
}

// A line is a queue of waiters, first come, first served.
type line[T any] struct {
	first, last *waiter[T]
	n           int
	waits       park.Tally
}

// join queues w. One that was called out of the line, and looked in vain, keeps its
// place, and when it began to wait.
func (l *line[T]) join(w *waiter[T], called bool, began time.Duration) {
	if !called {
		l.push(w)
		return
	}
	w.since.Continue(began)
	l.pushFront(w)
}

func (l *line[T]) push(w *waiter[T]) {
	w.queued = true
	w.prev = l.last
	if l.last == nil {
		l.first = w
	} else {
		l.last.next = w
	}
	l.last = w
	l.n++
}

// pushFront puts back one whose turn it was.
func (l *line[T]) pushFront(w *waiter[T]) {
	w.queued = true
	w.next = l.first
	if l.first == nil {
		l.last = w
	} else {
		l.first.prev = w
	}
	l.first = w
	l.n++
}

// take takes out the first waiter that is to be served, nil if there is none.
// Whoever takes it serves it.
func (l *line[T]) take() *waiter[T] {
	for l.first != nil {
		if w := l.pop(); w.claim() {
			return w
		}
	}
	return nil
}

// empty reports whether nobody waits who could be served. It takes those out who
// could not.
func (l *line[T]) empty() bool {
	for l.first != nil && l.first.choice != nil && !l.first.choice.Claimable() {
		l.pop()
	}
	return l.first == nil
}

// ages appends to ages for how long each of those in line has waited until now, the
// first one first, until ages is full: it does not grow.
func (l *line[T]) ages(ages []time.Duration, now time.Duration) []time.Duration {
	for w := l.first; w != nil && len(ages) < cap(ages); w = w.next {
		ages = append(ages, w.began().Age(now))
	}
	return ages
}

// oldest is for how long the first one in line has waited until now.
func (l *line[T]) oldest(now time.Duration) time.Duration {
	if l.first == nil {
		return 0
	}
	return l.first.began().Age(now)
}

// pop takes the first waiter out; there is one. Whoever pops it serves it, if it
// can be claimed.
func (l *line[T]) pop() *waiter[T] {
	w := l.first
	l.first, w.next = w.next, nil
	if l.first == nil {
		l.last = nil
	} else {
		l.first.prev = nil
	}
	w.queued = false
	l.n--
	return w
}

// leave takes w out if it is still queued, and returns its verdict.
func (l *line[T]) leave(w *waiter[T]) verdict {
	if !w.queued {
		return w.verdict
	}
	if w.prev == nil {
		l.pop()
		return left
	}
	w.prev.next = w.next
	if w.next == nil {
		l.last = w.prev
	} else {
		w.next.prev = w.prev
	}
	w.next, w.prev = nil, nil
	w.queued = false
	l.n--
	return left
}
