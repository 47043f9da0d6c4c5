package spill

import (
	"context"
	"sync"

	"github.com/sluice-go/sluice/internal/park"
	"github.com/sluice-go/sluice/internal/waitq"
	"github.com/sluice-go/sluice/spill/internal/logstore"
)

// A waitQueue holds waiting goroutines in FIFO order: senders that wait for room on
// disk, and in a Durable receivers that wait for a record. The channel's lock guards
// it, and all fields of the waiters.
//
// The goroutine that takes a waiter from the queue decides its result, and calls finish. A
// waiter whose context is done removes itself under the lock; if it is no longer queued, it
// was finished before, and that result counts.
//
// Waiters are not reused: a channel that was opened outside of a testing/synctest bubble may be
// waited for inside.
type waitQueue struct {
	waitq.List[wish]
	brief int // waiters with brief set
	tally park.Tally
}

type waiter = waitq.Node[wish]

type wish struct {
	need   int64           // bytes on disk that a sender waits for
	record logstore.Record // what a sender to an Elastic sends, or what a receiver gets
	epoch  uint64          // in which a receiver of a Durable got it
	err    error           // the result

	// removeOld removes the oldest value of an Elastic, if it is too old, for a sender.
	removeOld func() bool
	brief     bool // it waits only for the write in progress
}

// push queues w: before all others if it was the first, and has to wait again.
func (q *waitQueue) push(w *waiter, again bool) {
	if again {
		q.PushFront(w)
	} else {
		q.Push(w)
	}
	q.tally.Count()
	if w.Value.brief {
		q.brief++
	}
}

// finish removes w, which is queued, and ends its wait with err.
func (q *waitQueue) finish(w *waiter, err error) {
	q.remove(w)
	w.Value.err = err
	w.Parker.Unpark()
}

func (q *waitQueue) remove(w *waiter) {
	q.Remove(w)
	if w.Value.brief {
		q.brief--
	}
}

// finishAll finishes all waiters.
func (q *waitQueue) finishAll(err error) {
	for q.Len() > 0 {
		q.finish(q.First(), err)
	}
}

// finishBrief finishes the waiters that wait only for the write in progress.
func (q *waitQueue) finishBrief(err error) {
	for w := q.First(); w != nil && q.brief > 0; {
		next := w.Next()
		if w.Value.brief {
			q.finish(w, err)
		}
		w = next
	}
}

// await waits until w, which is queued, is finished, or until the context is done. In
// the latter case it removes w, and returns false. The caller holds mu, the lock
// of the queue; await releases it while it waits.
func (q *waitQueue) await(mu *sync.Mutex, w *waiter, lazy *lazyContext) (served bool) {
	mu.Unlock()
	woken := q.tally.Park(w.Parker, lazy.done, 1, &w.Since)
	mu.Lock()
	if w.Queued() {
		q.remove(w)
		return false
	}
	if !woken {
		w.Parker.Wait() // finish has sent the token
	}
	return true
}

// notNil panics if ctx is nil, in the name of the method that the user called.
func notNil(ctx context.Context, method string) {
	if ctx == nil {
		panic("spill: " + method + ": nil context")
	}
}

// A lazyContext is the state of a call's context, which is read only if the call would
// have to wait.
type lazyContext struct {
	loaded bool
	err    error           // ctx.Err() at that time
	done   <-chan struct{} // ctx.Done()
}

// load reads ctx. A context may be user code, which may panic: the caller holds no lock.
func (l *lazyContext) load(ctx context.Context) {
	l.loaded = true
	l.done, l.err = ctx.Done(), ctx.Err()
}
