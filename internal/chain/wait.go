package chain

import (
	"context"
	"runtime"

	"github.com/sluice-go/sluice/internal/park"
)

const (
	// maxPauses bounds how often one call pauses before it joins the line.
	maxPauses = 8
	// arrival is how many pauses a woken goroutine may take to arrive.
	arrival = 8
	// goodRun is how far the other side must get during a pause for the pause
	// to have paid. Request and response move one value, and are better parked.
	goodRun = 4
	// A pause is long enough for the other side to fill or empty some fifty
	// slots. Tried at capacity 128, GOMAXPROCS=2: 200 and 2000 gain half as
	// much. With fewer slots it need not be as long.
	maxPause      = 1000
	pausePerValue = 16
)

// A turn is how far one call has come on its way to sleep.
type turn[T any] struct {
	waiter   *park.Waiter    // not nil: in the line, or woken out of it
	done     <-chan struct{} // of the context
	ended    bool            // the context is done: the next look is the last
	woken    bool            // holds the line's wake-up
	moved    bool            // a part of the batch went since it last got in line
	starving bool            // raised the starving bit of its side
	pauses   int
	yielded  bool
	losses   int
}

// wait does the next thing a call can do that found nothing to do: pause, yield,
// join the line, park. The call must look again after each.
//
// The context is asked before the goroutine is in the line, and again when it
// has left: a context is a user's code, and may panic.
func (t *turn[T]) wait(ctx context.Context, own, other *side[T], line, across *park.Line, pause int) {
	switch {
	case t.waiter == nil:
		if ctx.Err() != nil {
			t.ended = true
			return
		}
		if t.pauses < maxPauses && runtime.GOMAXPROCS(0) > 1 && own.pauseFor(other, across, pause) {
			t.pauses++
			return
		}
		if !t.yielded {
			t.yielded = true
			runtime.Gosched()
			return
		}
		t.done, t.moved = ctx.Done(), false
		t.waiter = line.Join()
	case !t.woken:
		t.woken = line.Park(t.waiter, t.done)
		t.ended = !t.woken
	case t.moved:
		t.woken, t.moved = false, false
		line.Requeue(t.waiter)
	default:
		t.woken = false
		line.Rejoin(t.waiter)
	}
}

// pauseFor passes time while the other side is at work, or on its way, if that
// has paid before, and reports whether the other side moved.
//
// A goroutine that was just woken takes microseconds to come to another P. To
// stay awake until then, rather than leave this P to it, is what makes the two
// sides parallel: 8x8 at capacity 128 gains a factor of two by it, at
// GOMAXPROCS 2 and 8 (2026-11-21, AMD EPYC Zen 5 VM with 2 cores, Go 1.26.8).
func (s *side[T]) pauseFor(other *side[T], across *park.Line, pause int) bool {
	patience, times := &s.atWork, 1
	if !across.Idle() {
		patience, times = &s.onItsWay, arrival
	}
	if !patience.Worthwhile() {
		return false
	}
	before, moved := other.word.Load()&^flags, uint64(0)
	for i := 0; i < times && moved == 0; i++ {
		_ = park.Delay(pause)
		moved = (other.word.Load()&^flags - before) >> shift
	}
	patience.Learn(moved >= goodRun)
	return moved > 0
}

// leave ends the wait, if there was one, and reports whether others of the side
// wait for a wake-up that this goroutine must pass on if they could proceed.
func (t *turn[T]) leave(line *park.Line) bool {
	if t.waiter == nil {
		return false
	}
	line.Leave(t.waiter, t.woken)
	return line.Waiting()
}
