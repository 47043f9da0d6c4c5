package queue

import (
	"sync"

	"github.com/sluice-go/sluice/bench/logagg/parse"
)

// The built-in channel in its fastest form for this service: a plain send and a
// range, because a select costs twice as much; for batches, a channel of
// slices, which return to a pool for the next sender.

func newNative(o Options) (Queue, error) {
	if o.Batch > 1 {
		return newNativeBatches(o), nil
	}
	c := make(chan parse.Event, o.Capacity)
	send := func(batch []parse.Event) (rejected int) { c <- batch[0]; return 0 }
	return inProcess{sending{1, send}, func(yield func([]parse.Event) bool) {
		var one [1]parse.Event
		for e := range c {
			one[0] = e
			if !yield(one[:]) {
				return
			}
		}
	}, func() { close(c) }, nothing}, nil
}

// A batch belongs to its sender until it is sent, and then to the receiver.
type batch struct{ events []parse.Event }

// newNativeBatches returns a queue with room for as many events as the capacity, and at least
// one batch.
func newNativeBatches(o Options) Queue {
	c := make(chan *batch, max(1, o.Capacity/o.Batch))
	free := &sync.Pool{New: func() any { return &batch{make([]parse.Event, 0, o.Batch)} }}
	send := func(events []parse.Event) (rejected int) {
		b := free.Get().(*batch)
		b.events = append(b.events[:0], events...)
		c <- b
		return 0
	}
	return inProcess{sending{o.Batch, send}, func(yield func([]parse.Event) bool) {
		for b := range c {
			if !yield(b.events) {
				return
			}
			free.Put(b)
		}
	}, func() { close(c) }, nothing}
}
