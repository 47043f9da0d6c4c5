package locked

import (
	"github.com/sluice-go/sluice/internal/callsite"
	"github.com/sluice-go/sluice/internal/park"
)

// The call sites of a channel with a name: see package callsite. A goroutine that parks
// takes a sample, and so does the first send, and the first receive, of all and after
// each call of Stats: the bits of Engine.flags.

const (
	probeSend = 1 << iota
	probeRecv
	crowded    // see mode
	timedWaits // see count
)

// watch makes e sample call sites, if it has a name.
func (e *Engine[T]) watch() {
	if sites := e.config.Sites; sites != nil {
		e.senders.waits.Watch(&sites.Send)
		e.receivers.waits.Watch(&sites.Receive)
		e.flags.Or(timedWaits)
		e.probeNext()
	}
}

// Sites implements engine.Engine.
func (e *Engine[T]) Sites() *callsite.Sites { return e.config.Sites }

// probeNext makes the next send and the next receive take a sample.
func (e *Engine[T]) probeNext() {
	if e.config.Sites != nil {
		e.flags.Or(probeSend | probeRecv)
	}
}

// probe clears a bit and takes a sample. The caller does not hold the lock: a sample takes
// microseconds.
func (e *Engine[T]) probe(bit uint32) {
	if e.flags.And(^bit)&bit == 0 {
		return // another goroutine does
	}
	side := &e.config.Sites.Send
	if bit == probeRecv {
		side = &e.config.Sites.Receive
	}
	side.Probe(park.Now())
}
