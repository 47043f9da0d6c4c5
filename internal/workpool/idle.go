package workpool

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/sluice-go/sluice/internal/spin"
	"github.com/sluice-go/sluice/internal/waitq"
)

// A leadership is the context that a leader waits under. It belongs to one worker,
// which uses it again until it is interrupted: waiting does not allocate.
type leadership struct {
	context.Context
	ended       chan struct{} // nil: stands in for a leader that does not wait
	interrupted atomic.Bool
}

// interrupt ends the leader's wait. A nil leadership has none.
func (l *leadership) interrupt() {
	if l != nil && l.ended != nil && l.interrupted.CompareAndSwap(false, true) {
		close(l.ended)
	}
}

func (l *leadership) Done() <-chan struct{} { return l.ended }

func (l *leadership) Err() error {
	if l.interrupted.Load() {
		return context.Canceled
	}
	return nil
}

// useful reports whether there is something to do for one more worker.
func (p *Pool[T]) useful() bool { return p.needsLeader() || p.hasSurplus() }

// needsLeader reports whether an idle worker could become leader.
func (p *Pool[T]) needsLeader() bool {
	return p.leader.Load() == nil && !p.closed.Load() && (p.Room == nil || p.room() > 0) && (p.Blocked == nil || !p.Blocked())
}

// hasSurplus reports whether there are jobs to steal, handed back, or ready in the source.
func (p *Pool[T]) hasSurplus() bool {
	return p.ready() || p.permits.hasJobs() || p.stealable.each(0, p.surplus)
}

// ready is Ready if that is set.
func (p *Pool[T]) ready() bool { return p.Ready != nil && p.Ready() }

// wakeIfUseful wakes an idle worker if there is something to do for it: a follower, if a permit
// is left, and that one passes the wake-up on. Otherwise the only idle worker may be the leader.
// It interrupts that for surplus, or if a worker is to drop its permit.
func (p *Pool[T]) wakeIfUseful() {
	if p.permits.available() {
		if p.followers.Waiting() && p.useful() {
			p.followers.Wake()
		}
	} else if l := p.leader.Load(); l != nil && l.ended != nil && (p.hasSurplus() || p.permits.exceeded()) {
		l.interrupt()
	}
}

// wake wakes the worker that wakeIfUseful would.
func (p *Pool[T]) wake() {
	switch {
	case !p.permits.available():
		p.leader.Load().interrupt()
	case p.followers.Waiting():
		p.followers.Wake()
	}
}

// leads makes the worker the leader, unless there is one, and waits for the source. led
// reports whether it was leader, found whether it has jobs now.
func (w *worker[T]) leads() (found, led bool) {
	p := w.pool
	if !p.needsLeader() {
		return false, false
	}
	l := w.lead
	if l == nil || l.interrupted.Load() {
		l = &leadership{Context: p.Context, ended: make(chan struct{})}
		w.lead = l
	}
	if !p.leader.CompareAndSwap(nil, l) {
		return false, false
	}
	defer w.resign()
	size := w.sizer.size()
	if p.Room != nil {
		size = min(size, p.room())
	}
	if size == 0 || p.over() || p.closed.Load() || p.hasSurplus() || p.permits.exceeded() {
		return false, true
	}
	n, err := take(l, p.Source, w.queue.slots(size))
	w.now = p.clock()
	if err != nil && !(l.interrupted.Load() && errors.Is(err, context.Canceled)) {
		p.sourceFailed(err)
	}
	return w.got(n, p.number(n)), true
}

// resign ends the leadership. The worker wakes a follower before it runs a job: there
// must be a leader.
func (w *worker[T]) resign() {
	w.mustWake = true
	w.pool.leader.Swap(nil)
}

// A spinner is how far a worker without jobs has come on its way to the wait queue.
// The worker yields once, which lets a producer run on this P. With several Ps it
// then spins for a few microseconds, and checks for jobs after each, as long as the
// spin budget allows it: a worker that parks lets its P fall asleep, and waking that P
// takes longer than many jobs.
//
// Only a worker that has just run a job spins. After a spurious wake-up a follower
// parks again at once.
type spinner struct {
	attempt spin.Attempt
	ended   bool
}

// spin yields or spins. It returns false when the worker is to park.
func (s *spinner) spin(b *spin.Budget) bool {
	switch {
	case s.ended:
		return false
	case s.attempt.Yield():
		return true
	case s.attempt.MaySpin() && (s.attempt.Spins() > 0 || b.Allows()):
		s.attempt.Spun()
		_ = spin.Delay(spin.RunDelay)
		return true
	}
	s.end(b, 0)
	return false
}

// end records how many jobs the worker found.
func (s *spinner) end(b *spin.Budget, jobs int) {
	if s.attempt.Spins() > 0 {
		b.Record(jobs >= spin.GoodRun)
	}
	s.attempt, s.ended = spin.Attempt{}, true
}

// follow drops the permit of the worker, if it has one, and waits until it may have something to do.
// When follow returns, the worker has a permit again, unless the pool is over.
func (w *worker[T]) follow() {
	p := w.pool
	var wait waitq.Wait
	wait.Join(&p.followers, nil)
	if w.holds && p.permits.drop() && p.closed.Load() {
		p.finished.Store(true)
		p.followers.WakeAll()
	}
	for w.holds = false; !p.over() && !w.resumes(wait.Woken()); {
		wait.Step()
	}
	wait.Leave()
	w.mustWake = true // passes the wake-up on
	w.now = p.clock()
}

// resumes takes a permit if there is something to do, or if the worker was woken. If there is no
// permit, the workers that have them do it, of which the leader may be idle.
func (w *worker[T]) resumes(woken bool) bool {
	p := w.pool
	if !woken && !p.useful() {
		return false
	}
	if w.holds = p.permits.take(); !w.holds && p.hasSurplus() {
		p.leader.Load().interrupt()
	}
	return w.holds
}
