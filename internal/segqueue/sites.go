package segqueue

import (
	"github.com/sluice-go/sluice/internal/callsite"
	"github.com/sluice-go/sluice/internal/park"
)

// The call sites of a channel with a name: see package callsite. The fast path is not
// changed. A sample is taken by a goroutine that parks, in the wait queues; by a side
// that renews its bound, which it does once per run; and in the slow path, to which
// the flag probed diverts the first operation after each call of Stats.

// watch makes e sample call sites. A nil sites does nothing.
func (e *Engine[T]) watch(sites *callsite.Sites) {
	if sites == nil {
		return
	}
	e.sites = sites.Counters()
	e.send.queue.Tally().Watch(&sites.Send)
	e.recv.queue.Tally().Watch(&sites.Receive)
	e.probeNext()
}

// probeNext makes the next operation of either side take a sample. The caller holds
// both locks.
func (e *Engine[T]) probeNext() {
	if e.sites != nil {
		e.send.word.Or(probed)
		e.recv.word.Or(probed)
	}
}

// probe clears the flag and takes a sample. The caller does not hold the lock: a sample
// takes microseconds. If another goroutine does, its unlock sets the flag again, and the
// next sample is dropped because it follows too soon.
func (s *side[T]) probe(c *callsite.Counter) {
	if s.word.And(^uint64(probed))&probed != 0 {
		c.Side().Probe(park.Now())
	}
}
