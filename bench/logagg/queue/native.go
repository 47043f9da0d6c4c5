package queue

import (
	"iter"
	"sync"
	"sync/atomic"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/bench/logagg/parse"
)

// The built-in channel in its fastest form for this service: a plain send and a
// range, because a select costs twice as much; for batches, a channel of
// slices, which return to a pool for the next sender.

// native is a chan of events.
type native struct {
	inProcess
	events   chan parse.Event
	overflow sluice.Overflow
	dropped  atomic.Int64
}

func newNative(o Options) (Queue, error) {
	if o.Batch > 1 {
		return &nativeBatches{
			// As many events as the capacity, and at least one batch.
			batches: make(chan *batch, max(1, o.Capacity/o.Batch)), size: o.Batch, overflow: o.Overflow,
			free: sync.Pool{New: func() any { return &batch{make([]parse.Event, 0, o.Batch)} }},
		}, nil
	}
	return &native{events: make(chan parse.Event, o.Capacity), overflow: o.Overflow}, nil
}

// Sender returns the queue itself: senders have no state.
func (q *native) Sender() Sender {
	if q.overflow == sluice.Block {
		return nativeWaiting(q.events)
	}
	return nativeTrying{q}
}

func (q *native) All() iter.Seq[[]parse.Event] {
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

func (q *native) Close()         { close(q.events) }
func (q *native) Dropped() int64 { return q.dropped.Load() }
func (q *native) Len() int       { return len(q.events) }

// nativeWaiting sends with the policy Block.
type nativeWaiting chan parse.Event

func (s nativeWaiting) Send(e parse.Event) int {
	s <- e
	return 0
}

func (s nativeWaiting) Flush() int { return 0 }

// nativeTrying sends with a policy that does not wait.
type nativeTrying struct{ q *native }

func (s nativeTrying) Send(e parse.Event) int {
	select {
	case s.q.events <- e:
		return 0
	default:
		return refused(s.q.overflow, &s.q.dropped, []parse.Event{e})
	}
}

func (s nativeTrying) Flush() int { return 0 }

// refused counts the events that found no room, according to the policy.
func refused(overflow sluice.Overflow, dropped *atomic.Int64, es []parse.Event) (rejected int) {
	if overflow == sluice.DropNewest {
		dropped.Add(int64(events(es)))
		return 0
	}
	return events(es)
}

// nativeBatches is a chan of slices.
type nativeBatches struct {
	inProcess
	batches  chan *batch
	size     int
	overflow sluice.Overflow
	dropped  atomic.Int64
	free     sync.Pool // empty *batch values
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

func (q *nativeBatches) Close()         { close(q.batches) }
func (q *nativeBatches) Dropped() int64 { return q.dropped.Load() }
func (q *nativeBatches) Len() int       { return len(q.batches) }

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
	switch {
	case len(s.kept.events) == 0:
		return 0
	case s.q.overflow == sluice.Block:
		s.q.batches <- s.kept
	default:
		select {
		case s.q.batches <- s.kept:
		default:
			rejected := refused(s.q.overflow, &s.q.dropped, s.kept.events)
			s.kept.events = s.kept.events[:0]
			return rejected
		}
	}
	s.kept = s.q.free.Get().(*batch)
	return 0
}
