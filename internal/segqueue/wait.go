package segqueue

import (
	"context"
	"runtime"

	"github.com/sluice-go/sluice/internal/spin"
	"github.com/sluice-go/sluice/internal/waitq"
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
type turn struct {
	stay     waitq.Wait // in the line of its side
	starving bool       // raised the starving bit of its side
	batch    bool       // of values to send, by a sender that may wait
	pauses   int
	yielded  bool
	losses   int
}

// wait does the next thing a call can do that found nothing to do: pause, yield,
// join the line, and then what a waitq.Wait does. The call must look again after
// each.
//
// The context is asked before the goroutine is in the line, and again when it
// has left: a context is a user's code, and may panic.
func (s *side[T]) wait(ctx context.Context, t *turn, other *side[T], line, across *waitq.Queue, pause int) {
	switch {
	case t.stay.Joined():
		t.stay.Step()
	case ctx.Err() != nil:
		t.stay.Cancel()
	case t.pauses < maxPauses && runtime.GOMAXPROCS(0) > 1 && s.pauseFor(other, across, pause):
		t.pauses++
	case !t.yielded:
		t.yielded = true
		runtime.Gosched()
	default:
		t.stay.Join(line, ctx.Done())
	}
}

// pauseFor passes time while the other side is at work, or on its way, if that
// has paid before, and reports whether the other side moved.
//
// A goroutine that was just woken takes microseconds to come to another P. To
// stay awake until then, rather than leave this P to it, is what makes the two
// sides parallel: 8x8 at capacity 128 gains a factor of two by it, at
// GOMAXPROCS 2 and 8 (2026-11-21, AMD EPYC Zen 5 VM with 2 cores, Go 1.26.8).
func (s *side[T]) pauseFor(other *side[T], across *waitq.Queue, pause int) bool {
	patience, times := &s.atWork, 1
	if !across.Idle() {
		patience, times = &s.onItsWay, arrival
	}
	if !patience.Allows() {
		return false
	}
	before, moved := other.word.Load()&^flags, uint64(0)
	for i := 0; i < times && moved == 0; i++ {
		_ = spin.Delay(pause)
		moved = (other.word.Load()&^flags - before) >> shift
	}
	patience.Record(moved >= goodRun)
	return moved > 0
}
