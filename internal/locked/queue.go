package locked

import (
	"time"

	"github.com/sluice-go/sluice/internal/park"
	"github.com/sluice-go/sluice/internal/selection"
	"github.com/sluice-go/sluice/internal/spin"
)

// An outcome is how a wait ended.
type outcome uint8

const (
	left    outcome = iota // the context ended: the waiter left its queue unserved
	done                   // the value was transferred
	swapped                // it was sent in place of one that was too old, which the waiter got
	closed                 // the channel was closed
)

// A waiter is one waiting goroutine, with the value that it sends or has received.
// If the value is one word, the waiter is one cache line long.
type waiter[T any] struct {
	next, prev *waiter[T]
	queued     bool // in its queue
	parked     bool // it sleeps: the server must Unpark it
	untimed    bool // see count
	outcome    outcome
	index      int32 // of the case, with sel; otherwise of the Ticket of a value that was sent
	parker     park.Parker
	since      park.Since // see start
	key        int64      // of the value to send; of the Ticket, once it was sent
	value      T

	// The Select of which this is an entry, or nil: see entry.
	sel *selection.State
}

// claim reports whether a waiter that was dequeued may be served: another queue may
// have selected a case of its Select.
func (w *waiter[T]) claim() bool {
	if w.sel == nil {
		return true
	}
	may, unpark := w.sel.Claim(int(w.index))
	w.parked = unpark
	return may
}

// start returns when the goroutine of w began to wait.
func (w *waiter[T]) start() *park.Since {
	if w.sel != nil {
		return w.sel.Since()
	}
	return &w.since
}

// ticket returns the Ticket of a value that was sent.
func (w *waiter[T]) ticket() Ticket { return Ticket{uint64(w.key), w.index} }

// maxFree bounds the number of unused waiters that an engine keeps.
const maxFree = 64

// waiter returns a waiter for the calling goroutine. The lock is held.
func (e *Engine[T]) waiter() *waiter[T] {
	w := e.spare
	if w == nil {
		return &waiter[T]{parker: park.NewParker()}
	}
	e.spare, w.next = w.next, nil
	e.spares--
	return w
}

// recycle keeps an unused waiter, without its value. The lock is held.
func (e *Engine[T]) recycle(w *waiter[T]) {
	if e.spares == maxFree {
		return
	}
	var zero T
	w.value = zero
	w.outcome = left
	w.parked, w.untimed = false, false
	w.since.Reset()
	w.next, e.spare = e.spare, w
	e.spares++
}

// A queue is a FIFO of waiters.
type queue[T any] struct {
	first, last *waiter[T]
	n           int32
	total       *int32      // the waiters of all queues of this side
	yields      spin.Yields // see mayYield
	changes     uint64      // waiters that were queued, dequeued, or became claimable
	parks       uint64      // waits of calls
	waits       park.Tally  // of Selects, and how long calls have waited
}

// changed records that a waiter was queued, with 1, or dequeued, with -1.
func (l *queue[T]) changed(by int32) {
	l.changes++
	l.n += by
	*l.total += by
}

// push queues w at the end.
func (l *queue[T]) push(w *waiter[T]) {
	w.queued = true
	w.prev = l.last
	if l.last == nil {
		l.first = w
	} else {
		l.last.next = w
	}
	l.last = w
	l.changed(1)
}

// pushFront queues a waiter at the front: one that was there before.
func (l *queue[T]) pushFront(w *waiter[T]) {
	w.queued = true
	w.next = l.first
	if l.first == nil {
		l.last = w
	} else {
		l.first.prev = w
	}
	l.first = w
	l.changed(1)
}

// take dequeues the first waiter that can be claimed, or returns nil. The caller
// serves it.
func (l *queue[T]) take() *waiter[T] {
	for l.first != nil {
		if w := l.pop(); w.claim() {
			return w
		}
	}
	return nil
}

// noneClaimable reports whether no waiter can be claimed. It dequeues those at the
// front that cannot.
func (l *queue[T]) noneClaimable() bool {
	for l.first != nil && l.first.sel != nil && !l.first.sel.Claimable() {
		l.pop()
	}
	return l.first == nil
}

// ages appends to ages how long each waiter has waited, the first one first, until
// ages is full. It does not grow ages.
func (l *queue[T]) ages(ages []time.Duration, now time.Duration) []time.Duration {
	for w := l.first; w != nil && len(ages) < cap(ages); w = w.next {
		ages = append(ages, w.start().Age(now))
	}
	return ages
}

// oldest returns how long the first waiter has waited.
func (l *queue[T]) oldest(now time.Duration) time.Duration {
	if l.first == nil {
		return 0
	}
	return l.first.start().Age(now)
}

// pop dequeues the first waiter; there must be one. The caller serves it if it can be
// claimed.
func (l *queue[T]) pop() *waiter[T] {
	w := l.first
	l.first, w.next = w.next, nil
	if l.first == nil {
		l.last = nil
	} else {
		l.first.prev = nil
	}
	w.queued = false
	l.changed(-1)
	return w
}

// remove dequeues w.
func (l *queue[T]) remove(w *waiter[T]) {
	if w.prev == nil {
		l.pop()
		return
	}
	w.prev.next = w.next
	if w.next == nil {
		l.last = w.prev
	} else {
		w.next.prev = w.prev
	}
	w.next, w.prev = nil, nil
	w.queued = false
	l.changed(-1)
}
