package shard

import (
	"context"

	"github.com/sluice-go/sluice/internal/spin"
	"github.com/sluice-go/sluice/internal/waitq"
)

// A turn is the progress of one call, as in package segqueue. Here the yield comes
// before the spin: with many lanes to continue in, what the other side lacks is
// most often this P. See ADR 7.
type turn struct {
	wait    waitq.Wait
	attempt spin.Attempt
	eager   bool // accepts a lane without ample room
}

// step is called when the operation cannot proceed. It does one of the following,
// in this order: yield, spin, become eager, join the wait queue, and then the steps
// of a waitq.Wait. The call must poll again after each.
//
// The context is asked before the goroutine is queued, and again when it has left:
// a context is user code and may panic.
func (t *turn) step(ctx context.Context, queue *waitq.Queue, spinFor func() bool) {
	switch {
	case t.wait.Joined():
		t.wait.Step()
	case ctx.Err() != nil:
		t.wait.Cancel()
	case t.attempt.Yield():
	case t.attempt.MaySpin() && spinFor():
		t.attempt.Spun()
	case !t.eager:
		t.eager = true
	default:
		t.wait.Join(queue, ctx.Done())
	}
}

// spinForValues spins while senders are running, if the spin budget allows that. It
// reports whether there is a value.
func (e *Engine[T]) spinForValues() bool {
	if !e.recvSpin.Allows() {
		return false
	}
	_ = spin.Delay(spin.RunDelay)
	heads, tails := e.set.Load().sums()
	e.recvSpin.Record(tails-heads >= spin.GoodRun)
	return tails != heads
}

// spinForRoom does the same for senders. It reports whether there is room.
func (e *Engine[T]) spinForRoom() bool {
	if !e.sendSpin.Allows() {
		return false
	}
	_ = spin.Delay(spin.RunDelay)
	room := uint64(0)
	for _, l := range e.set.Load().shared {
		if l != nil {
			tail, _ := l.Tail()
			room += uint64(l.Cap()) - min(uint64(l.Cap()), tail-l.Head())
		}
	}
	e.sendSpin.Record(room >= spin.GoodRun)
	return room > 0
}
