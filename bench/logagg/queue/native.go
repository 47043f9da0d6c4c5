package queue

import (
	"iter"
	"sync"

	"github.com/sluice-go/sluice/bench/logagg/parse"
)

// The built-in channel in its fastest form for this service: a plain send and a
// range, because a select costs twice as much; for batches, a channel of
// slices, which return to a pool for the next sender.

func newNative(o Options) (Queue, error) {
	if o.Batch > 1 {
		q := nativeBatches{
			// As many events as the capacity, and at least one batch.
			batches: make(chan *batch, max(1, o.Capacity/o.Batch)),
			free:    &sync.Pool{New: func() any { return &batch{make([]parse.Event, 0, o.Batch)} }},
		}
		q.sending = sending{o.Batch, q.send}
		return q, nil
	}
	q := native{events: make(chan parse.Event, o.Capacity)}
	q.sending = sending{1, q.send}
	return q, nil
}

// native is a chan of events.
type native struct {
	inProcess
	events chan parse.Event
}

func (q native) send(batch []parse.Event) (rejected int) {
	q.events <- batch[0]
	return 0
}

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

// nativeBatches is a chan of slices.
type nativeBatches struct {
	inProcess
	batches chan *batch
	free    *sync.Pool // unused *batch values
}

// A batch belongs to its sender until it is sent, and then to the receiver.
type batch struct{ events []parse.Event }

func (q nativeBatches) send(events []parse.Event) (rejected int) {
	b := q.free.Get().(*batch)
	b.events = append(b.events[:0], events...)
	q.batches <- b
	return 0
}

func (q nativeBatches) All() iter.Seq[[]parse.Event] {
	return func(yield func([]parse.Event) bool) {
		for b := range q.batches {
			if !yield(b.events) {
				return
			}
			q.free.Put(b)
		}
	}
}

func (q nativeBatches) Close() { close(q.batches) }
