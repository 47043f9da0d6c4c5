package chain

import (
	"github.com/sluice-go/sluice/internal/engine"
	"github.com/sluice-go/sluice/internal/park"
)

// A place is a Select's place in the line of one side. Nobody serves it there:
// it is woken, looks by TrySend or TryRecv like anybody who comes by, and goes
// back to the front if another was faster.
//
// It never starves as starving.go means it, since what is done for a starving
// goroutine is done, whatever its Select may do elsewhere. So a Select may be
// overtaken for as long as others come by.
type place[T any] struct {
	e      *Engine[T]
	line   *park.Line
	waiter park.Waiter
	joined bool
}

// NewPlace implements engine.Engine.
func (e *Engine[T]) NewPlace(_ *T, sends bool) engine.Place {
	if sends {
		return &place[T]{e: e, line: e.senders}
	}
	return &place[T]{e: e, line: e.receivers}
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

// Join implements engine.Place.
func (p *place[T]) Join(c *park.Choice, number int) {
	p.joined = true
	p.line.Enter(&p.waiter, c, number)
}

// Leave implements engine.Place.
func (p *place[T]) Leave() {
	if !p.joined {
		return
	}
	p.joined = false
	p.line.Exit(&p.waiter)
	if p.line.Waiting() && p.others() {
		p.line.Wake()
	}
}

// others reports whether another goroutine of the line could proceed.
func (p *place[T]) others() bool {
	if p.line == p.e.senders {
		return p.e.Len() < int(p.e.limit)
	}
	return p.e.Len() > 0
}

// Tally implements engine.Place.
func (p *place[T]) Tally() *park.Tally { return p.line.Tally() }
