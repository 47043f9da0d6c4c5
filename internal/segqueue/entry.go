package segqueue

import (
	"github.com/sluice-go/sluice/internal/engine"
	"github.com/sluice-go/sluice/internal/waitq"
)

// NewEntry implements engine.Engine.
//
// A Select is never rescued from starvation: a rescued operation has happened, but
// the Select may have completed another case. So other goroutines may barge in
// front of a Select without a bound.
func (e *Engine[T]) NewEntry(_ *T, sends bool) engine.Entry {
	if sends {
		return waitq.NewEntry(e.senders, func() bool { return e.Len() < int(e.limit) })
	}
	return waitq.NewEntry(e.receivers, func() bool { return e.Len() > 0 })
}

// Overflow implements engine.Engine.
func (e *Engine[T]) Overflow() engine.Overflow { return e.overflow }

// WouldBlock implements engine.Engine. Indices only grow, and the index that could
// make the operation possible is read last: so the result was true when the other
// was read. That index is the mark: while it is the same, the operation stays
// impossible. A channel that is open in the second call was open in the first.
func (e *Engine[T]) WouldBlock(v *T) (engine.Mark, bool) {
	if v != nil {
		tail := e.send.word.Load()
		head := e.recv.word.Load()
		return engine.Mark(head &^ flags), tail&closed == 0 && e.between(tail, head) >= e.limit
	}
	head := e.recv.word.Load()
	tail := e.send.word.Load()
	return engine.Mark(tail &^ flags), tail&closed == 0 && e.between(tail, head) == 0
}
