package shard

import (
	"github.com/sluice-go/sluice/internal/engine"
	"github.com/sluice-go/sluice/internal/waitq"
)

// NewEntry implements engine.Engine. A Select waits in the queue of receivers, or
// in the queue of senders that accept any shared lane.
func (e *Engine[T]) NewEntry(_ *T, sends bool) engine.Entry {
	if sends {
		return waitq.NewEntry(&e.senders, e.anyRoom)
	}
	return waitq.NewEntry(&e.receivers, func() bool { return !e.allEmpty() })
}

// Blocks implements engine.Engine.
func (e *Engine[T]) Blocks() bool { return e.config.Overflow == engine.Block }

// WouldBlock implements engine.Engine.
func (e *Engine[T]) WouldBlock(sends bool) bool {
	s := e.set.Load()
	switch {
	case s.closed:
		return false
	case sends:
		return e.full(s)
	default:
		return e.empty(s)
	}
}
