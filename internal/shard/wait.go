package shard

import (
	"context"
	"sync/atomic"

	"github.com/sluice-go/sluice/internal/spin"
	"github.com/sluice-go/sluice/internal/waitq"
)

// A turn is the progress of one call that may continue in any lane, as in package
// segqueue.
type turn[T any] struct {
	wait    waitq.Wait
	attempt spin.Attempt
	eager   bool // accepts a lane without ample room, or opens one
	one     bool // is to receive one value: may wait alone
	handed  bool // was handed it
	losses  int  // spurious wake-ups
	request *request[T]

	hint *atomic.Uint32 // or cursor
	home int            // the lane to try first, of a send
}

// step is called when the operation cannot proceed. It does one of the following,
// in this order: yield, spin, become eager, wait alone or join the wait queue, and then
// the steps of a waitq.Wait. The call must poll again after each. Here the yield comes before the
// spin: with many lanes to continue in, what the other side lacks is most often this P.
//
// The context is asked before the goroutine is queued, and again when it has left:
// a context is user code and may panic.
func (e *Engine[T]) step(ctx context.Context, t *turn[T], side int) {
	switch {
	case t.wait.Joined():
		t.wait.Step()
	case ctx.Err() != nil:
		t.wait.Cancel()
	case t.attempt.Yield():
	case t.attempt.MaySpin() && e.spins[side].Allows() && e.spin(side):
		t.attempt.Spun()
	case !t.eager:
		t.eager = true
	case side == sends:
		t.wait.Join(e.senders, ctx.Done())
	case t.one && e.waitAlone(t, ctx.Done()):
	default:
		t.wait.Join(e.receivers, ctx.Done())
	}
}

// waitAlone waits until a receiver was handed a value or woken, or done is closed; or for
// nothing, if a lane has a value. It fails if the receiver may not wait alone: if the channel was
// not open and empty at one moment, or if others wait.
func (e *Engine[T]) waitAlone(t *turn[T], done <-chan struct{}) bool {
	s, q := e.set.Load(), e.receivers
	if _, empty := e.stuck(s, receives); !empty || s.closed || !q.WaitAlone() {
		return false
	}
	switch s := e.set.Load(); {
	case (s.closed || e.anyAble(receives)) && q.Withdraw():
		return true
	case !q.ParkAloneUntil(done):
		t.wait.Cancel()
		return true
	}
	if t.handed = q.Handed(); !t.handed {
		t.wait = q.Resume(done)
	}
	return true
}

// spin spins while the other side is running, and reports whether that has moved values.
func (e *Engine[T]) spin(side int) bool {
	before := e.moved(side)
	_ = spin.Delay(spin.RunDelay)
	moved := e.moved(side) - before
	e.spins[side].Record(moved >= spin.GoodRun)
	return moved > 0
}

// moved returns an index that grows with each value that the other side moves.
func (e *Engine[T]) moved(side int) (sum uint64) {
	for _, l := range e.set.Load().all {
		sum += l.moved(side)
	}
	return sum
}
