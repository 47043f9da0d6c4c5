package locked

import (
	"github.com/sluice-go/sluice/internal/park"
	"github.com/sluice-go/sluice/internal/spin"
	"github.com/sluice-go/sluice/internal/waitq"
)

// An outcome is how a wait ended.
type outcome uint8

const (
	left    outcome = iota // the context ended: the waiter left its queue unserved
	done                   // the value was transferred
	swapped                // it was sent in place of one that was too old, which the waiter got
	closed                 // the channel was closed
	tooOld                 // the next value is too old: see Dated
)

// A waiter is one waiting goroutine, with the value that it sends or has received. Index is that of
// the case, with Select; otherwise it belongs to the Ticket of a value that was sent.
type waiter[T any] = waitq.Node[transfer[T]]

// A transfer is what a waiter waits for.
type transfer[T any] struct {
	value   T
	key     int64 // of the value to send; of the Ticket, once it was sent
	parked  bool  // it sleeps: the server must Unpark it
	untimed bool  // see count
	outcome outcome
}

// claim reports whether a waiter that was dequeued may be served: another queue may
// have selected a case of its Select.
func claim[T any](w *waiter[T]) bool {
	if w.Select == nil {
		return true
	}
	may, unpark := w.Select.Claim(int(w.Index))
	w.Value.parked = unpark
	return may
}

// ticket returns the Ticket of a value that was sent.
func ticket[T any](w *waiter[T]) Ticket { return Ticket{uint64(w.Value.key), w.Index} }

// waiter returns a waiter for the calling goroutine. The lock is held.
func (e *Engine[T]) waiter() *waiter[T] { return e.receivers.Get() }

// recycle keeps an unused waiter, without its value. The lock is held.
func (e *Engine[T]) recycle(w *waiter[T]) { e.receivers.Put(w) }

// A queue is a FIFO of waiters.
type queue[T any] struct {
	waitq.List[transfer[T]]
	total   *int32      // the waiters of all queues of this side
	yields  spin.Yields // see mayYield
	changes uint64      // waiters that were queued, dequeued, or became claimable
	parks   uint64      // waits of calls
	waits   park.Tally  // of Selects, and how long calls have waited
}

// changed records that a waiter was queued, with 1, or dequeued, with -1.
func (l *queue[T]) changed(by int32) {
	l.changes++
	*l.total += by
}

// push queues w at the end, or at the front if it was there before.
func (l *queue[T]) push(w *waiter[T], front bool) {
	if front {
		l.PushFront(w)
	} else {
		l.Push(w)
	}
	l.changed(1)
}

// pop dequeues the first waiter; there must be one. The caller serves it if it can be
// claimed.
func (l *queue[T]) pop() *waiter[T] {
	l.changed(-1)
	return l.Pop()
}

// remove dequeues w.
func (l *queue[T]) remove(w *waiter[T]) {
	l.changed(-1)
	l.Remove(w)
}

// take dequeues the first waiter that can be claimed, or returns nil. The caller
// serves it.
func (l *queue[T]) take() *waiter[T] {
	for l.First() != nil {
		if w := l.pop(); claim(w) {
			return w
		}
	}
	return nil
}

// noneClaimable reports whether no waiter can be claimed. It dequeues those at the
// front that cannot.
func (l *queue[T]) noneClaimable() bool {
	for w := l.First(); w != nil && w.Select != nil && !w.Select.Claimable(); w = l.First() {
		l.pop()
	}
	return l.First() == nil
}
