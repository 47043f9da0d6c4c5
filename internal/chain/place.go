package chain

import (
	"github.com/sluice-go/sluice/internal/engine"
	"github.com/sluice-go/sluice/internal/park"
)

// NewPlace implements engine.Engine.
//
// A Select never starves as starving.go means it, since what is done for a
// starving goroutine is done, whatever its Select may do elsewhere. So a Select
// may be overtaken for as long as others come by.
func (e *Engine[T]) NewPlace(_ *T, sends bool) engine.Place {
	if sends {
		return park.NewPlace(e.senders, func() bool { return e.Len() < int(e.limit) })
	}
	return park.NewPlace(e.receivers, func() bool { return e.Len() > 0 })
}

// Blocks implements engine.Engine.
func (e *Engine[T]) Blocks() bool { return e.overflow == engine.Block }

// Idle implements engine.Engine. The index that only grows is read last: had it
// been smaller when the other was read, the channel was the emptier, or the
// fuller, then.
func (e *Engine[T]) Idle(sends bool) bool {
	if sends {
		tail := e.send.word.Load()
		return tail&closed == 0 && e.between(tail, e.recv.word.Load()) >= e.limit
	}
	head := e.recv.word.Load()
	tail := e.send.word.Load()
	return tail&closed == 0 && e.between(tail, head) == 0
}
