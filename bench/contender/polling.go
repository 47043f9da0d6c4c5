package contender

import (
	"runtime"

	"github.com/sluice-go/sluice/internal/ring"
	"github.com/sluice-go/sluice/internal/spin"
	"github.com/sluice-go/sluice/internal/waitq"
)

// RendezvousWithoutHandOff is a sluice.Rendezvous in which a waiting receiver is woken to poll
// again instead of being handed a value: the second study asks what the hand-off is worth.
func RendezvousWithoutHandOff() Contender {
	return Contender{Name: "sluice.Rendezvous, no hand-off", Bound: UnbufferedOnly, Make: newPolling}
}

// BoundedWithoutHandOff is a sluice.Bounded in which waiting goroutines poll again.
func BoundedWithoutHandOff() Contender {
	return Contender{Name: "sluice.Bounded, no hand-off", Bound: Buffered, Make: newPolling}
}

// A polling is the engine of internal/locked without waiters that are served, for a sender and a
// receiver: a queue under the same lock, whose goroutines yield and park as there. It
// differs in what a wake-up means. A waiter is dequeued and woken to poll, and may find that
// another goroutine was faster; then it joins again, at the front. Only a waiting sender whose
// value was received directly is done.
//
//   - senders.First() != nil implies that as many senders are on their way to poll as there are
//     free slots, or more.
//   - receivers.First() != nil implies the same of receivers and of the values that are queued or wait.
type polling struct {
	lock      spin.BusyLock
	closed    bool
	parallel  uint8 // for how many waits to come both sides run in parallel
	limit     int
	buf       ring.Ring[uint64]
	senders   pollers
	receivers pollers
}

// A poller is a waiting goroutine. It belongs to the holder of the lock.
type poller = waitq.Node[offer]

// An offer is the value that a poller sends.
type offer struct {
	value  uint64
	done   bool // it was received
	parked bool // the goroutine that dequeues the poller must unpark it
}

// pollers are a FIFO.
type pollers struct {
	waitq.List[offer]
	yields spin.Yields
}

// take dequeues the first waiter, or returns nil.
func (l *pollers) take() *poller {
	if l.First() == nil {
		return nil
	}
	return l.Pop()
}

// newPolling returns the channel as an interface, through which the kinds call their engines.
func newPolling(capacity int) Channel {
	q := &polling{limit: capacity}
	if capacity > 0 {
		q.buf.Grow(capacity)
	}
	return queueLoops{q}
}

func (q *polling) acquire() {
	if !q.lock.TryLock() {
		q.lock.Wait(false)
		q.parallel = 255
	}
}

func (q *polling) send(v uint64) bool {
	for polls := 0; ; polls++ {
		q.acquire()
		if q.closed {
			q.lock.Unlock()
			return false
		}
		if q.buf.Len() < q.limit && (polls > 0 || q.senders.First() == nil) {
			q.buf.Push(v)
			q.wake(q.receivers.take())
			return true
		}
		if q.wait(&q.senders, v, polls > 0) {
			return true
		}
	}
}

func (q *polling) recv() (v uint64, ok bool) {
	for polls := 0; ; polls++ {
		q.acquire()
		if q.buf.Len() > 0 {
			v = q.buf.Pop()
			q.wake(q.senders.take())
			return v, true
		}
		if w := q.senders.take(); w != nil {
			v, w.Value.done = w.Value.value, true
			q.wake(w)
			return v, true
		}
		if q.closed {
			q.lock.Unlock()
			return 0, false
		}
		q.wait(&q.receivers, 0, polls > 0)
	}
}

func (q *polling) close() {
	q.acquire()
	q.closed = true
	for q.senders.First() != nil || q.receivers.First() != nil {
		w := q.senders.take()
		if w == nil {
			w = q.receivers.take()
		}
		q.wake(w)
		q.acquire()
	}
	q.lock.Unlock()
}

// wake releases the lock and wakes w, which was dequeued, or is nil.
func (q *polling) wake(w *poller) {
	if w == nil {
		q.lock.Unlock()
		return
	}
	parked, parker := w.Value.parked, w.Parker
	q.lock.Unlock()
	if parked {
		parker.Unpark()
	}
}

// wait waits in l until the caller is woken, and reports whether its value was received. The
// lock is held before, and not afterwards. A sender that waits wakes a receiver to fetch
// its value.
func (q *polling) wait(l *pollers, v uint64, again bool) bool {
	w := l.Get()
	w.Value.value = v
	if again { // in front of the others: it has waited before
		l.PushFront(w)
	} else {
		l.Push(w)
	}
	yields := false
	if q.parallel > 0 {
		q.parallel--
	} else {
		yields = l.yields.Allow()
	}
	if w.Value.parked = !yields; l == &q.senders {
		q.wake(q.receivers.take())
	} else {
		q.lock.Unlock()
	}
	if yields {
		runtime.Gosched()
		q.acquire()
		if l.yields.Record(!w.Queued()); w.Queued() {
			w.Value.parked = true
			q.lock.Unlock()
		}
	}
	if w.Value.parked {
		w.Parker.Park(nil)
		q.acquire()
	}
	done := w.Value.done
	l.Put(w)
	q.lock.Unlock()
	return done
}
