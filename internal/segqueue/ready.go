package segqueue

import "github.com/sluice-go/sluice/internal/engine"

// Ready implements engine.Engine.
func (e *Engine[T]) Ready() <-chan struct{} { return e.ready.Chan(e.beginPosting) }

// ShareReady makes r, which is in use, the Ready of e, a lane. For values that were sent
// before, it posts.
func (e *Engine[T]) ShareReady(r *engine.Ready) {
	e.ready.Share(r)
	if hasValue, _ := e.beginPosting(); hasValue {
		r.Post()
	}
}

// beginPosting makes each goroutine that moves an index from now on post. It reports whether
// there is a value, and whether e is closed.
func (e *Engine[T]) beginPosting() (hasValue, shut bool) {
	word := e.send.lock()
	e.send.unlock(word | readyInUse)
	e.recv.unlock(e.recv.lock() | readyInUse)
	return e.Len() > 0, word&closed != 0
}
