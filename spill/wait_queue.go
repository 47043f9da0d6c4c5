package spill

import (
	"container/list"
	"context"
	"sync"
	"time"

	"github.com/sluice-go/sluice/spill/internal/logstore"
)

// A waitQueue holds waiting goroutines in FIFO order: senders that wait for room on
// disk, and in a Durable receivers that wait for a record. The channel's lock guards
// it.
//
// A waiter belongs to the goroutine that waits. While it is queued, the lock guards its
// fields. The goroutine that removes a waiter from the queue decides its result and
// calls finish, once. A waiter whose context is done removes itself under the lock; if
// it is no longer queued, it was finished before, and that result counts.
type waitQueue struct {
	waiting list.List // of *waiter
	brief   int       // waiters with brief set
	waits   uint64
	spent   time.Duration
}

type waiter struct {
	at     *list.Element
	need   int64           // bytes on disk that a sender waits for
	record logstore.Record // what a sender to an Elastic sends, or what a receiver gets
	epoch  uint64          // in which a receiver of a Durable got it
	err    error           // the result; read after served is closed
	brief  bool            // it waits only for the write in progress
	served chan struct{}   // made by the waiting goroutine, as testing/synctest requires
}

// finish ends the wait of w, which is no longer queued.
func (w *waiter) finish(err error) {
	w.err = err
	close(w.served)
}

func (q *waitQueue) len() int { return q.waiting.Len() }

// first returns the first waiter, or nil.
func (q *waitQueue) first() *waiter {
	if q.waiting.Len() == 0 {
		return nil
	}
	return q.waiting.Front().Value.(*waiter)
}

func (q *waitQueue) push(w *waiter) {
	w.at = q.waiting.PushBack(w)
	q.waits++
	if w.brief {
		q.brief++
	}
}

// pushFront queues w before all others: it was served, and has to wait again.
func (q *waitQueue) pushFront(w *waiter) {
	q.push(w)
	q.waiting.MoveToFront(w.at)
}

// pop removes and returns the first waiter, or returns nil.
func (q *waitQueue) pop() *waiter {
	w := q.first()
	if w != nil {
		q.remove(w)
	}
	return w
}

func (q *waitQueue) remove(w *waiter) {
	q.waiting.Remove(w.at)
	if w.brief {
		q.brief--
	}
}

// finishAll removes all waiters, with err as their result.
func (q *waitQueue) finishAll(err error) {
	for w := q.pop(); w != nil; w = q.pop() {
		w.finish(err)
	}
}

// finishBrief removes the waiters that wait only for the write in progress.
func (q *waitQueue) finishBrief(err error) {
	for at := q.waiting.Front(); at != nil && q.brief > 0; {
		w := at.Value.(*waiter)
		at = at.Next()
		if w.brief {
			q.remove(w)
			w.finish(err)
		}
	}
}

// await waits until w, which is queued, is finished, or until the context is done. In
// the latter case it returns false, and w is still queued. The caller holds mu, the lock
// of the queue; await releases it while it waits.
func (q *waitQueue) await(mu *sync.Mutex, w *waiter, lazy *lazyContext) (served bool) {
	mu.Unlock()
	start := time.Now()
	select {
	case <-w.served:
	case <-lazy.done:
	}
	mu.Lock()
	q.spent += time.Since(start)
	select {
	case <-w.served:
		return true
	default:
		return false
	}
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
