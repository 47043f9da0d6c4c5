package queue

import (
	"iter"
	"sync"

	"github.com/sluice-go/sluice/bench/logagg/parse"
)

// The built-in channel in its fastest form for this service: a plain send and a
// range, because a select costs twice as much; for batches, a channel of
// slices, which return to a pool for the next sender.

// native is a chan of events.
type native struct {
	inProcess
	events chan parse.Event
}

func newNative(o Options) (Queue, error) {
	if o.Batch > 1 {
		return &nativeBatches{
			// As many events as the capacity, and at least one batch.
			batches: make(chan *batch, max(1, o.Capacity/o.Batch)), size: o.Batch,
			free: sync.Pool{New: func() any { return &batch{make([]parse.Event, 0, o.Batch)} }},
		}, nil
	}
	return native{events: make(chan parse.Event, o.Capacity)}, nil
}

func (q native) Sender() Sender { return nativeSender(q.events) }

func (q native) All() iter.Seq[[]parse.Event] {
	return func(yield func([]parse.Event) bool) {
		var one [1]parse.Event
		for e := range q.events {
			one[0] = e
			if !yield(one[:]) {
				return
			}
		}
	}
}

func (q native) Close() { close(q.events) }

type nativeSender chan parse.Event

func (s nativeSender) Send(e parse.Event) int {
	s <- e
	return 0
}

func (s nativeSender) Flush() int { return 0 }

// nativeBatches is a chan of slices.
type nativeBatches struct {
	inProcess
	batches chan *batch
	size    int
	free    sync.Pool // empty *batch values
}

// A batch belongs to its sender until it is sent, and then to the receiver.
type batch struct{ events []parse.Event }

func (q *nativeBatches) Sender() Sender {
	return &nativeBatcher{q: q, kept: q.free.Get().(*batch)}
}

func (q *nativeBatches) All() iter.Seq[[]parse.Event] {
	return func(yield func([]parse.Event) bool) {
		for b := range q.batches {
			if !yield(b.events) {
				return
			}
			b.events = b.events[:0]
			q.free.Put(b)
		}
	}
}

func (q *nativeBatches) Close() { close(q.batches) }

type nativeBatcher struct {
	q    *nativeBatches
	kept *batch
}

func (s *nativeBatcher) Send(e parse.Event) int {
	s.kept.events = append(s.kept.events, e)
	if len(s.kept.events) < s.q.size {
		return 0
	}
	return s.Flush()
}

func (s *nativeBatcher) Flush() int {
	if len(s.kept.events) > 0 {
		s.q.batches <- s.kept
		s.kept = s.q.free.Get().(*batch)
	}
	return 0
}
