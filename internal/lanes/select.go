package lanes

import (
	"github.com/sluice-go/sluice/internal/engine"
	"github.com/sluice-go/sluice/internal/park"
)

// NewPlace implements engine.Engine: a Select waits where those wait who receive
// from any lane, or send to any shared one.
func (e *Engine[T]) NewPlace(_ *T, sends bool) engine.Place {
	if sends {
		return park.NewPlace(&e.senders, e.anyRoom)
	}
	return park.NewPlace(&e.receivers, func() bool { return !e.allEmpty() })
}

// Blocks implements engine.Engine.
func (e *Engine[T]) Blocks() bool { return e.config.Overflow == engine.Block }

// Idle implements engine.Engine.
func (e *Engine[T]) Idle(sends bool) bool {
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
