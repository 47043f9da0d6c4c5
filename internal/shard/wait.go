package shard

import (
	"context"
	"runtime"

	"github.com/sluice-go/sluice/internal/spin"
	"github.com/sluice-go/sluice/internal/waitq"
)

const (
	// maxPauses bounds how often one call pauses before it joins the line.
	maxPauses = 8
	// pause is long enough for the other side to get some fifty values done.
	pause = 1000
	// goodRun is how many values, or how much room, must be there after a pause
	// for it to have paid.
	goodRun = 4
)

// A turn is how far one call has come on its way to sleep, as in package chain.
// But the yield comes first: what the other side lacks is most often this P, as
// there are many lanes to go on in. A pause in its place: 9 ns a value sent by
// lane instead of 6 (8 to 1, runs of 256, GOMAXPROCS=2), and 30 instead of 8.5
// when cache lines cross slowly (2026-11-21, AMD EPYC Zen 5 VM with 2 cores, Go
// 1.26.8).
type turn struct {
	stay    waitq.Wait
	pauses  int
	yielded bool
	eager   bool // whatever there is will do
}

// wait does the next thing a call can do that found nothing to do: yield, pause,
// make do with whatever there is, join the line, and then what a waitq.Wait does.
// The call must look again after each. The context is asked before the goroutine
// is in the line, and again when it has left: a context is a user's code, and may
// panic.
func (t *turn) wait(ctx context.Context, line *waitq.Queue, pauseFor func() bool) {
	switch {
	case t.stay.Joined():
		t.stay.Step()
	case ctx.Err() != nil:
		t.stay.Cancel()
	case !t.yielded:
		t.yielded = true
		runtime.Gosched()
	case t.pauses < maxPauses && runtime.GOMAXPROCS(0) > 1 && pauseFor():
		t.pauses++
	case !t.eager:
		t.eager = true
	default:
		t.stay.Join(line, ctx.Done())
	}
}

// pauseForValues passes time while senders are at work, if that has paid before,
// and reports whether there is something to receive.
func (e *Engine[T]) pauseForValues() bool {
	if !e.recvSpin.Allows() {
		return false
	}
	_ = spin.Delay(pause)
	heads, tails := e.set.Load().sums()
	e.recvSpin.Record(tails-heads >= goodRun)
	return tails != heads
}

// pauseForRoom is the same for senders.
func (e *Engine[T]) pauseForRoom() bool {
	if !e.sendSpin.Allows() {
		return false
	}
	_ = spin.Delay(pause)
	room := uint64(0)
	for _, l := range e.set.Load().shared {
		if l != nil {
			tail, _ := l.Tail()
			room += uint64(l.Cap()) - min(uint64(l.Cap()), tail-l.Head())
		}
	}
	e.sendSpin.Record(room >= goodRun)
	return room > 0
}
