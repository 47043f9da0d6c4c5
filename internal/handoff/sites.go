package handoff

import (
	"math"

	"github.com/sluice-go/sluice/internal/callsite"
	"github.com/sluice-go/sluice/internal/park"
)

// The call sites of a channel with a name: see package callsite. A goroutine that parks
// takes a sample, and so does the operation whose number is sampledSend, or sampledRecv:
// the first one, the first one after each call of Stats, and one in some thousands.
// Without a name these numbers are never reached.

// watch makes e sample call sites, if it has a name.
func (e *Engine[T]) watch() {
	e.sampledSend, e.sampledRecv = math.MaxUint64, math.MaxUint64
	if sites := e.config.Sites; sites != nil {
		e.senders.waits.Watch(&sites.Send)
		e.receivers.waits.Watch(&sites.Receive)
	}
	e.sampleNext()
}

// sampleNext makes the next send and the next receive take a sample. The lock is held.
func (e *Engine[T]) sampleNext() {
	if e.config.Sites != nil {
		e.sampledSend, e.sampledRecv = e.sent, e.taken
	}
}

// sampleSend takes a sample of the calling sender. The lock is held.
func (e *Engine[T]) sampleSend() {
	e.sampledSend = e.sent + callsite.Every
	e.config.Sites.Send.Sample(park.Now())
}

// sampleRecv takes a sample of the calling receiver. The lock is held.
func (e *Engine[T]) sampleRecv() {
	e.sampledRecv = e.taken + callsite.Every
	e.config.Sites.Receive.Sample(park.Now())
}
