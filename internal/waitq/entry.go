package waitq

import (
	"github.com/sluice-go/sluice/internal/park"
	"github.com/sluice-go/sluice/internal/selection"
)

// An Entry is a Select's entry in a Queue. The queue wakes the Select, which polls
// the channel like any other goroutine, and rejoins at the front if the wake-up was
// spurious.
type Entry struct {
	queue  *Queue
	able   func() bool
	waiter waiter
	joined bool
}

// NewEntry returns an entry for q. able reports whether a waiter of q could
// proceed. NewEntry allocates.
func NewEntry(q *Queue, able func() bool) *Entry { return &Entry{queue: q, able: able} }

// Join queues the Select, whose state is polling, for the case of that index: at the end the
// first time, at the front if the Select holds the wake-up. An entry that is queued keeps its
// position. The State is the same until Leave.
func (e *Entry) Join(s *selection.State, index int) {
	q, w := e.queue, &e.waiter
	e.joined = true
	q.acquire()
	switch {
	case w.Value.holds:
		w.Value.holds = false
		q.inFlight = false
		q.list.PushFront(w)
	case !w.queued:
		w.Select, w.Index, w.Parker = s, int32(index), s.Parker()
		q.list.Push(w)
	}
	q.release()
}

// Leave removes the Select from the queue. If it holds the queue's wake-up, Leave
// passes it on.
func (e *Entry) Leave() {
	if !e.joined {
		return
	}
	q, w := e.queue, &e.waiter
	e.joined = false
	q.acquire()
	if w.queued {
		q.list.Remove(w)
	}
	if w.Value.holds {
		w.Value.holds = false
		q.inFlight = false
	}
	w.Select = nil
	q.release()
	if q.Waiting() && e.able() {
		q.Wake()
	}
}

// Tally returns the queue's wait statistics.
func (e *Entry) Tally() *park.Tally { return e.queue.Tally() }
