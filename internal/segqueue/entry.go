package segqueue

import (
	"github.com/sluice-go/sluice/internal/engine"
	"github.com/sluice-go/sluice/internal/waitq"
)

// NewEntry implements engine.Engine.
//
// A Select never starves as starving.go means it, since what is done for a
// starving goroutine is done, whatever its Select may do elsewhere. So a Select
// may be overtaken for as long as others come by.
func (e *Engine[T]) NewEntry(_ *T, sends bool) engine.Entry {
	if sends {
		return waitq.NewEntry(e.senders, func() bool { return e.Len() < int(e.limit) })
	}
	return waitq.NewEntry(e.receivers, func() bool { return e.Len() > 0 })
}

// Blocks implements engine.Engine.
func (e *Engine[T]) Blocks() bool { return e.overflow == engine.Block }

// Idle implements engine.Engine. The index that only grows is read last: had it
// been smaller when the other was read, the channel was the emptier, or the
// fuller, then.
func (e *Engine[T]) WouldBlock(sends bool) bool {
	if sends {
		tail := e.send.word.Load()
		return tail&closed == 0 && e.between(tail, e.recv.word.Load()) >= e.limit
	}
	head := e.recv.word.Load()
	tail := e.send.word.Load()
	return tail&closed == 0 && e.between(tail, head) == 0
}
