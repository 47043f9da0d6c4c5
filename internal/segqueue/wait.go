package segqueue

import (
	"context"

	"github.com/sluice-go/sluice/internal/spin"
	"github.com/sluice-go/sluice/internal/waitq"
)

const (
	// arrivalSpins bounds the spins until a woken goroutine arrives.
	arrivalSpins = 8
	// delayPerSlot shortens spins if the channel has few slots: the other side then
	// fills or empties all of them in less time.
	delayPerSlot = 16
)

// A turn is the progress of one call.
type turn struct {
	wait     waitq.Wait   // in the queue of its side
	attempt  spin.Attempt // before that
	starving bool         // it has set the starving bit of its side
	batch    bool         // it sends several values, and may wait
	losses   int          // spurious wake-ups
}

// step is called when the operation cannot proceed. It does one of the following,
// in this order: spin, yield, join the wait queue, and then the steps of a
// waitq.Wait. The call must poll again after each.
//
// The context is asked before the goroutine is queued, and again when it has left: a
// context is user code and may panic.
func (s *side[T]) step(ctx context.Context, t *turn, other *side[T], queue, otherQueue *waitq.Queue, delay int) {
	switch {
	case t.wait.Joined():
		t.wait.Step()
	case ctx.Err() != nil:
		t.wait.Cancel()
	case t.attempt.MaySpin() && s.spinFor(other, otherQueue, delay):
		t.attempt.Spun()
	case t.attempt.Yield():
	default:
		t.wait.Join(queue, ctx.Done())
	}
}

// spinFor spins while the other side is running, or one of its goroutines was
// woken, if the spin budget allows that. It reports whether the other side moved.
//
// A woken goroutine takes microseconds to arrive on another P. Staying awake until
// then, rather than leaving this P to it, is what makes the two sides run in
// parallel.
func (s *side[T]) spinFor(other *side[T], otherQueue *waitq.Queue, delay int) bool {
	budget, times := &s.spinBusy, 1
	if !otherQueue.Idle() {
		budget, times = &s.spinWoken, arrivalSpins
	}
	if !budget.Allows() {
		return false
	}
	before, moved := other.word.Load()&^flags, uint64(0)
	for i := 0; i < times && moved == 0; i++ {
		_ = spin.Delay(delay)
		moved = (other.word.Load()&^flags - before) >> shift
	}
	budget.Record(moved >= spin.GoodRun)
	return moved > 0
}
