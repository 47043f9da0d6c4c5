package shard

import (
	"github.com/sluice-go/sluice/internal/engine"
	"github.com/sluice-go/sluice/internal/waitq"
)

// NewEntry implements engine.Engine. A Select waits in the queue of receivers, or
// in the queue of senders that accept any shared lane.
func (e *Engine[T]) NewEntry(_ *T, toSend bool) engine.Entry {
	queue, side := e.receivers, receives
	if toSend {
		side = sends
		if queue = e.senders; queue == nil {
			queue = e.set.Load().all[0].queue.Senders()
		}
	}
	return waitq.NewEntry(queue, func() bool { return e.anyAble(side) })
}

// Overflow implements engine.Engine.
func (e *Engine[T]) Overflow() engine.Overflow { return e.config.Overflow }

// WouldBlock implements engine.Engine. The mark is the sum of the indices that could make
// the operation possible, which only grow, and the version of the set. The indices of a
// removed lane stay in the sum: otherwise it would fall, and later values could restore it.
func (e *Engine[T]) WouldBlock(v *T) (engine.Mark, bool) {
	s := e.set.Load()
	if s.closed {
		return 0, false
	}
	side := receives
	if v != nil {
		side = sends
	}
	sum, blocked := e.stuck(s, side)
	return engine.Mark(sum + s.version + s.gone.Sent), blocked
}
