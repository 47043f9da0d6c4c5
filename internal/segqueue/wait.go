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

// A call is the progress of one call of a method.
type call struct {
	wait     waitq.Wait   // in the queue of its side
	attempt  spin.Attempt // before that
	starving bool         // it has set the starving bit of its side
	batch    bool         // it sends several values, and may wait
	moves    bool         // it continues in other lanes: see lane.go
	losses   int          // spurious wake-ups
}

// step is called when the operation cannot proceed. It does one of the following,
// in this order: spin, yield, join the wait queue, and then the steps of a
// waitq.Wait. The call must poll again after each; where it has just been queued, a look
// without the lock will do.
//
// The context is asked before the goroutine is queued, and again when it has left: a
// context is user code and may panic.
func (s *side[T]) step(ctx context.Context, c *call, other *side[T], queue, otherQueue *waitq.Queue, delay int32) {
	switch {
	case c.wait.Joined():
		c.wait.Step()
	case ctx.Err() != nil:
		c.wait.Cancel()
	case s.spinFor(&c.attempt, other, otherQueue, delay):
		c.attempt.Spun()
	case s.yieldTo(&c.attempt, other):
	default:
		c.wait.Join(queue, ctx.Done())
	}
}

// spinFor spins while the other side is running, or one of its goroutines was
// woken, if the spin budget allows that. It reports whether the other side moved.
//
// A woken goroutine takes microseconds to arrive on another P. Staying awake until
// then, rather than leaving this P to it, is what makes the two sides run in
// parallel.
func (s *side[T]) spinFor(a *spin.Attempt, other *side[T], otherQueue *waitq.Queue, delay int32) bool {
	budget, times := &s.spinBusy, 1
	if !otherQueue.Idle() {
		budget, times = &s.spinWoken, arrivalSpins
	}
	if !a.Tries && !budget.Allows() || !a.MaySpin() {
		return false
	}
	before, moved := other.word.Load()&^flags, uint64(0)
	for i := 0; i < times && moved == 0; i++ {
		_ = spin.Delay(int(delay))
		moved = (other.word.Load()&^flags - before) >> shift
	}
	budget.Record(moved >= spin.GoodRun)
	return moved > 0
}

// yieldTo yields the processor, once per call and if yields have paid lately. It reports
// whether the other side moved.
//
// A yield is cheaper than a park if it brings a run of values. But a value that arrives
// meanwhile waits for all that can run, while a waiter that is woken for it runs next: see
// spin.Yields. And with more than one P each yield may wake an idle one, which then takes the
// goroutine away.
func (s *side[T]) yieldTo(a *spin.Attempt, other *side[T]) bool {
	if a.Yielded() || !a.Tries && !s.yields.Allow() {
		return false
	}
	before := other.word.Load() &^ flags
	a.Yield()
	moved := (other.word.Load()&^flags - before) >> shift
	s.yields.Record(moved >= spin.GoodRun)
	return moved > 0
}

// isEmpty reports that the channel was open and empty at a moment during the call, and
// after that had no other lane.
func (e *Engine[T]) isEmpty() bool {
	_, blocked := e.WouldBlock(nil)
	return blocked && e.isOnly()
}

// isFull reports that the channel was open and full at a moment during the call.
func (e *Engine[T]) isFull() bool {
	tail := e.send.word.Load()
	return tail&closed == 0 && e.between(tail, e.recv.word.Load()) >= e.limit
}

// paysToTry reports whether spins or yields have paid lately.
func (s *side[T]) paysToTry() bool { return s.spinBusy.Pays() || s.yields.Pay() }

// oneIn256 reports true for about one in 256 numbers, also if these are multiples of 256.
func oneIn256(n uint64) bool { return n*0x9e3779b97f4a7c15>>56 == 1 }
