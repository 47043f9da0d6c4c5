package workpool

import (
	"context"
	"errors"
	"runtime"
	"sync/atomic"

	"github.com/sluice-go/sluice/internal/spin"
	"github.com/sluice-go/sluice/internal/waitq"
)

// A leadership is the context that a leader waits under. It belongs to one worker,
// for as many stays as leader as pass without an interrupt: to wait allocates
// nothing.
type leadership struct {
	context.Context
	ended  chan struct{} // nil: stands in for a leader who does not wait
	called atomic.Bool
}

// interrupt ends the leader's wait. A nil leadership has none.
func (l *leadership) interrupt() {
	if l != nil && l.ended != nil && l.called.CompareAndSwap(false, true) {
		close(l.ended)
	}
}

func (l *leadership) Done() <-chan struct{} { return l.ended }

func (l *leadership) Err() error {
	if l.called.Load() {
		return context.Canceled
	}
	return nil
}

// leadable reports whether an idle worker could become leader.
func (c *Pool[T]) leadable() bool {
	return c.leader.Load() == nil && !c.closed.Load() && (c.Room == nil || c.room() > 0)
}

// unclaimed reports whether some hand has surplus.
func (c *Pool[T]) unclaimed() bool { return c.board.each(0, c.surplus) }

// share wakes an idle worker if there is something for one to do: surplus, or to
// lead. A follower if there is one, who passes it on; otherwise the leader, unless
// a follower is on its way.
func (c *Pool[T]) share() {
	switch {
	case c.line.Waiting():
		if c.leadable() || c.unclaimed() {
			c.line.Wake()
		}
	case c.line.Idle():
		if l := c.leader.Load(); l != nil && l.ended != nil && c.unclaimed() {
			l.interrupt()
		}
	}
}

// call wakes an idle worker, the one that share would.
func (c *Pool[T]) call() {
	switch {
	case c.line.Waiting():
		c.line.Wake()
	case c.line.Idle():
		c.leader.Load().interrupt()
	}
}

// leads makes the worker the leader, if there is none, and waits for the source.
// led reports whether it was leader, found whether it has jobs now.
func (w *worker[T]) leads() (found, led bool) {
	c := w.pool
	if !c.leadable() {
		return false, false
	}
	l := w.lead
	if l == nil || l.called.Load() {
		l = &leadership{Context: c.Context, ended: make(chan struct{})}
		w.lead = l
	}
	if !c.leader.CompareAndSwap(nil, l) {
		return false, false
	}
	defer w.resign()
	size := w.gauge.size()
	if c.Room != nil {
		size = min(size, c.room())
	}
	if size == 0 || c.over() || c.closed.Load() || c.unclaimed() {
		return false, true
	}
	n, err := c.take(l, w.hand.room(size))
	w.now = c.clock()
	if err != nil && !(l.called.Load() && errors.Is(err, context.Canceled)) {
		c.failed(err)
	}
	return w.got(n, c.number(n)), true
}

// resign ends a stay as leader. The worker shares before it runs a job: a
// follower must lead.
func (w *worker[T]) resign() {
	w.owes = true
	w.pool.leader.Swap(nil)
}

// A lull is how far a worker without jobs has come on its way to the line.
//
// A worker that parks lets its P fall asleep, and to wake that takes longer than
// many jobs do. So it yields once, which lets a producer run, or whoever waits for
// this job's end, on this P; and then, with several Ps, it passes a few
// microseconds, and looks again after each, as long as a spin.Budget says that
// this tends to pay, with a run of jobs: single ones are better parked for.
// Without that, jobs of a microsecond that come in runs left two cores without work
// for a sixteenth of the time, and jobs of 100 ns took 62 ns each instead of 48
// (GOMAXPROCS=2, 2026-11-21, AMD EPYC VM with 2 cores, Go 1.26.8). To pass time
// first and yield then keeps the P from who waits for it: a job at a time took
// 6 microseconds.
//
// Only who has just run a job has a lull: a follower that was woken in vain parks
// again at once.
type lull struct {
	pauses  int
	yielded bool
	spent   bool
}

const (
	maxPauses = 8
	pauseNs   = 1000
	goodRun   = 4 // jobs for which a pause has paid
)

// pass yields, or passes some time. It returns false when there is nothing left but
// to park.
func (l *lull) pass(p *spin.Budget) bool {
	switch {
	case l.spent:
		return false
	case !l.yielded:
		l.yielded = true
		runtime.Gosched()
		return true
	case l.pauses < maxPauses && runtime.GOMAXPROCS(0) > 1 && (l.pauses > 0 || p.Allows()):
		l.pauses++
		_ = spin.Delay(pauseNs)
		return true
	}
	l.over(p, 0)
	return false
}

// over ends the lull, with so many jobs.
func (l *lull) over(p *spin.Budget, jobs int) {
	if l.pauses > 0 {
		p.Record(jobs >= goodRun)
	}
	l.pauses, l.spent = 0, true
}

// follow waits in the line until there may be something to do.
func (w *worker[T]) follow() {
	c := w.pool
	var stay waitq.Wait
	stay.Join(&c.line, nil)
	if c.active.Add(-1) == 0 && c.closed.Load() {
		c.finished.Store(true)
		c.line.WakeAll()
	}
	if !c.over() && !c.leadable() && !c.unclaimed() {
		stay.Step()
	}
	stay.Leave()
	c.active.Add(1)
	w.owes = true // the wake-up, to others who wait
	w.now = c.clock()
}
