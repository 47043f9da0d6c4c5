package segqueue

import (
	"github.com/sluice-go/sluice/internal/callsite"
	"github.com/sluice-go/sluice/internal/park"
)

// The call sites of a channel with a name: see package callsite. The fast path is not
// changed. A sample is taken by a goroutine that parks, in the wait queues; by a sender
// that observes the age of a long queue; and in the slow path, to which the flag probed
// diverts the first operation after each call of Stats.

// watch makes e sample call sites. A nil sites does nothing.
func (e *Engine[T]) watch(sites *callsite.Sites) {
	if sites == nil {
		return
	}
	e.sites = sites
	e.send.queue.Tally().Watch(sites.Send)
	e.recv.queue.Tally().Watch(sites.Receive)
	e.recv.queue.Time()
	e.probeNext()
}

// Sites implements engine.Engine.
func (e *Engine[T]) Sites() *callsite.Sites { return e.sites }

// probeNext makes the next operation of either side take a sample. The caller holds
// both locks.
func (e *Engine[T]) probeNext() {
	if e.sites != nil {
		e.send.word.Or(probed)
		e.recv.word.Or(probed)
	}
}

// probe takes a sample. The caller has locked the side and got word. A sample takes
// microseconds, so probe clears the flag and releases the lock before.
func (s *side[T]) probe(word uint64, sites *callsite.Side) {
	s.unlock(word &^ probed)
	sites.Probe(park.Now())
}
