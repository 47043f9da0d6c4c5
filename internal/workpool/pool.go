// Package workpool runs jobs from one source in a number of workers that may change. A worker
// receives jobs in batches, whose size follows from what it measures, and runs them
// one by one. Idle workers steal: no job waits in one worker's queue while another
// worker is idle.
//
// docs/design/workpool.md has the protocol: the ownership of jobs, which worker waits
// where, and why no wake-up is lost.
package workpool

import (
	"context"
	"math"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/sluice-go/sluice/internal/spin"
	"github.com/sluice-go/sluice/internal/waitq"
)

// A Source hands out jobs: RecvBatch waits for one, then takes as many as there are.
// Under a context that is done it takes the jobs that are there, and never waits.
type Source[T any] interface {
	RecvBatch(ctx context.Context, buf []T) (n int, err error)
}

// Config describes a pool.
type Config[T any] struct {
	Source  Source[T]
	Closed  error // the error of a Source that is closed and drained
	Workers int

	// Resizable makes a pool in which no worker works until Resize is called.
	Resizable bool

	// EndSource closes Source if the pool ends early. It is called once, and does not
	// wait. AwaitSource, if set, then waits for the goroutines of Source.
	EndSource, AwaitSource func()

	// Do runs a job under Context. DoNumbered runs one if Do is nil: worker is the
	// number of the calling worker, and if Room is set, seq numbers the jobs in the
	// order in which they were received. An error stops the pool with its Cause.
	Do         func(ctx context.Context, job T) error
	DoNumbered func(worker int, seq uint64, job T) error
	Cause      func(error) error

	Context context.Context         // of Do; supplies values and the deadline for Source
	Cancel  context.CancelCauseFunc // called once, by the first Stop

	Share    float64       // of the time, that receiving jobs may cost
	MaxDelay time.Duration // the longest time that a job should wait in a local queue
	MaxBatch int

	// Room, if set, returns how many more jobs may be received if the first of them
	// has number next. With Room, one worker at a time receives. Room only grows, and
	// the code that makes it grow calls roomGrew.
	Room func(next uint64) int

	// Ready, if set, reports whether Source has jobs that any worker can receive without
	// waiting, although the leader waits in Source. Blocked, if set, reports whether no
	// worker is to wait in Source for now; the worker that ends that calls roomGrew.
	Ready, Blocked func() bool
}

// A Pool is the workers and the state they share. New makes one.
type Pool[T any] struct {
	Config[T]
	epoch     time.Time
	permits   permits[T]
	workers   []worker[T]
	stealable bitmap

	leader    atomic.Pointer[leadership]
	brief     leadership  // stands in for a leader that does not wait
	followers waitq.Queue // workers without a permit
	budget    spin.Budget // of workers that are about to follow

	next atomic.Uint64 // the number of the next job received; moved by the leader
	last atomic.Uint64 // DoNumbered does not run jobs above this number

	closed   atomic.Bool // the source returns no more jobs
	finished atomic.Bool // and no worker has a job
	stopped  atomic.Bool
	released atomic.Bool // EndSource was called

	lock    spin.Lock // guards the fields below
	outcome Outcome
	stops   bool
}

// An Outcome is how a pool ended.
type Outcome struct {
	Err    error // of the first Stop
	Panic  any   // the first panic of Do, Source or EndSource
	Stack  []byte
	Exited bool // by runtime.Goexit
}

// New returns a pool. Work runs it.
func New[T any](config Config[T]) *Pool[T] {
	p := &Pool[T]{
		Config:    config,
		epoch:     time.Now(),
		workers:   make([]worker[T], config.Workers),
		stealable: newBitmap(config.Workers),
	}
	if !config.Resizable {
		p.permits.resize(uint32(config.Workers))
	}
	p.last.Store(math.MaxUint64)
	for i := range p.workers {
		w := &p.workers[i]
		w.pool, w.id, w.cursor = p, i, i
		w.sizer = newSizer(config.Share, config.MaxDelay, config.MaxBatch)
	}
	return p
}

// Work is the life of worker i, in the calling goroutine. A panic of Do ends it, and
// is recorded in the outcome.
func (p *Pool[T]) Work(i int) {
	p.guard(func() {
		w := &p.workers[i]
		w.now = p.clock()
		for w.holds = p.permits.take(); w.find(); {
			w.run()
		}
	})
}

// guard calls f and records its panic, or its Goexit, in the outcome.
func (p *Pool[T]) guard(f func()) {
	returned := false
	defer func() {
		if returned {
			return
		}
		if value := recover(); value != nil {
			p.panicked(value, debug.Stack())
		} else {
			p.exited()
		}
	}()
	f()
	returned = true
}

// Stop ends the pool. The cause of the first Stop is recorded. Stop also closes the
// source, so that senders do not wait while the last jobs run.
func (p *Pool[T]) Stop(cause error) {
	if p.record(cause) {
		p.end(cause)
	}
}

// record is the first half of Stop: it records the cause, unless another one is recorded,
// and reports whether the caller must call end.
func (p *Pool[T]) record(cause error) (first bool) {
	p.lock.Lock()
	defer p.lock.Unlock()
	if first = !p.stops; first {
		p.stops, p.outcome.Err = true, cause
	}
	return first
}

// end is the second half of Stop. It may call code of the user.
func (p *Pool[T]) end(cause error) {
	p.stopped.Store(true) // before Do can return because of Cancel
	p.followers.WakeAll()
	p.leader.Load().interrupt()
	p.Cancel(cause)
	p.ReleaseSource()
}

// ReleaseSource calls EndSource, once.
func (p *Pool[T]) ReleaseSource() {
	if p.EndSource != nil && !p.released.Swap(true) {
		p.guard(p.EndSource)
	}
}

// WaitForSource waits for the goroutines of the source, if the pool has ended the source
// early. All other goroutines of the pool have ended.
func (p *Pool[T]) WaitForSource() {
	if p.AwaitSource != nil && p.released.Load() {
		p.guard(p.AwaitSource)
	}
}

// StopAfter makes seq the last job that is run, unless a lower one is already. No
// more jobs are received, and queued jobs above seq are not run.
func (p *Pool[T]) StopAfter(seq uint64) {
	for last := p.last.Load(); seq < last; last = p.last.Load() {
		if p.last.CompareAndSwap(last, seq) {
			break
		}
	}
	p.closed.Store(true)
	p.leader.Load().interrupt()
}

// roomGrew records that Room has grown, or that Blocked has ended.
func (p *Pool[T]) roomGrew() {
	if p.followers.Waiting() && p.needsLeader() && p.permits.available() {
		p.followers.Wake()
	}
}

// Unprocessed calls f with each job that was received and not given to Do. All
// workers have ended.
func (p *Pool[T]) Unprocessed(f func(T)) {
	for i := range p.workers {
		w := &p.workers[i]
		if w.first {
			w.first = false
			f(w.queue.take(0))
		}
		q := &w.queue
		for slot, span, ok := q.claim(q.span.Load()); ok; slot, span, ok = q.claim(span) {
			f(q.take(slot))
		}
		for _, job := range w.skipped {
			f(job)
		}
	}
	for job, ok := p.permits.pop(); ok; job, ok = p.permits.pop() {
		f(job.job)
	}
}

// Outcome returns how the pool ended. All workers have ended.
func (p *Pool[T]) Outcome() Outcome {
	p.lock.Lock() // a Stop may still be closing the source
	defer p.lock.Unlock()
	return p.outcome
}

// errPanicked and errExited are the causes with which the context of Do ends.
type stopError string

func (e stopError) Error() string { return string(e) }

const (
	errPanicked stopError = "workers: a worker panicked"
	errExited   stopError = "workers: a worker called runtime.Goexit"
)

func (p *Pool[T]) panicked(value any, stack []byte) {
	p.lock.Lock()
	if p.outcome.Panic == nil {
		p.outcome.Panic, p.outcome.Stack = value, stack
	}
	p.lock.Unlock()
	p.Stop(errPanicked)
}

func (p *Pool[T]) exited() {
	p.lock.Lock()
	p.outcome.Exited = true
	p.lock.Unlock()
	p.Stop(errExited)
}

// over reports whether no worker has anything left to do.
func (p *Pool[T]) over() bool { return p.stopped.Load() || p.finished.Load() }

// clock returns the time since the pool was made, in nanoseconds.
func (p *Pool[T]) clock() int64 { return int64(time.Since(p.epoch)) }
