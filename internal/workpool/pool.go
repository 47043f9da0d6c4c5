// Package workpool is a fixed number of workers that take jobs from one source in
// batches, and do them one by one. It sizes the batches by what it measures, and
// leaves no job lying in one worker's hands while another worker is idle.
//
// # Who owns what
//
// A job belongs to the source, then to one hand, then to the worker that runs
// it. Each worker has a hand: a slice of jobs, and one word, its span [lo, hi).
//
//   - The owner of a hand claims the job at lo: a CAS that moves lo up, and makes
//     the slot its own. A thief takes the upper part: a CAS that moves hi down,
//     under the hand's lock. Between two refills lo only rises and hi only falls,
//     so of two claims of one job one fails: each job has one runner.
//   - Only the owner refills, when its span is empty. A thief may still be copying
//     out slots that it has taken: then hi is not where the refill had put it, and
//     the owner passes through the hand's lock first (see hand.room). A CAS that
//     succeeds on the span of a later refill is as good as any: what it takes is
//     read after it.
//   - The first job of a batch is the owner's without a CAS: a batch of one is
//     never published. What is published beyond it is surplus. The board has a bit
//     for each hand that may have surplus: raised after the span is published;
//     lowered by whoever finds the hand empty, who then looks at the hand again.
//
// # Who waits where
//
// A busy worker takes without waiting, under a context that is done. A worker
// that finds nothing in the source, and nothing to steal, is idle. Only one idle
// worker waits in the source, the leader; the others, the followers, wait in a
// waitq.Queue. So the source is not entered by a crowd, and followers can be
// woken for surplus. The leader can be, too: the context that it waits under ends
// when it is interrupted.
//
//	busy --nothing to do--> leader     if there is none: CAS of Pool.leader
//	     --nothing to do--> follower   if there is one: a lull, then Stay.Join
//	leader   --jobs, or interrupted--> resigns, looks again
//	follower --woken-----------------> leaves, looks again
//
// # Why no wake-up is lost
//
// In a state of rest, when every worker is inside f, leading or following, there
// is no surplus if anybody is idle, and there is a leader if there are
// followers (unless the source is drained, or the window of ordered results
// full). This holds, because every change that could break it is followed by a
// look, and every announcement by another:
//
//   - Whoever is about to wait announces it by a read-modify-write (the CAS of
//     leader, Join), then looks again: for surplus on the board, for the end, and
//     as a follower for a missing leader.
//   - Whoever publishes surplus, by a swap of the span, then looks for a follower
//     to wake, or else for a leader to interrupt (Pool.share). Whoever resigns
//     swaps leader first, and looks for a follower before it runs a job. So of the
//     two, the one who waits and the one who changes, one sees the other.
//   - Whoever lowers a bit of the board and has to raise it again, because the hand
//     was refilled in between, calls an idle worker: while the bit was down, both
//     looks may have missed the surplus.
//   - At most one wake-up is in flight (see waitq.Queue). Whoever leaves the line
//     looks at everything, and before it runs a job it shares: if there is still
//     surplus, or no leader, the wake-up goes on to the next.
//   - A wake-up that is in flight when surplus is published is enough: its bearer
//     has yet to leave the line, and looks after that.
//   - An interrupt is meant for one stay as leader. It may come late, into a later
//     stay of the same worker: that one looks once more than needed.
//
// # The end
//
// active counts the workers that are not in the line. When the source is closed
// and drained, nobody leads any more; whoever finds nothing goes into the line,
// from which surplus that shows up still calls it. A worker goes there with an
// empty hand, so once active is 0 there is no job left anywhere: the last one
// ends the pool. Stop ends it at once: workers see it before they claim another
// job, and what is left in the hands is Leftover.
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

// A Source hands out jobs: RecvBatch waits for one, then takes as many as there
// are. Under a context that is done it takes what is there, and never waits.
type Source[T any] interface {
	RecvBatch(ctx context.Context, buf []T) (n int, err error)
}

// Config is what a pool is told.
type Config[T any] struct {
	Source  Source[T]
	Closed  error // what Source fails with when it is closed and drained
	Workers int

	// Do runs a job. Its error stops the pool. seq counts the jobs in the order in
	// which they were received, if Room is set.
	Do func(worker int, seq uint64, job T) error

	Context context.Context         // whose values and deadline Source sees
	Cancel  context.CancelCauseFunc // called once, by the first Stop

	Share float64       // of the time, that hand-over may cost
	Hold  time.Duration // the longest time that a job should wait in a hand
	Most  int           // jobs in a batch

	// Room, if set, is how many more jobs may be received when next is the number
	// of the next one; and jobs are received by one worker at a time. It only
	// grows, and whoever makes it grow calls Advanced.
	Room func(next uint64) int
}

// A Pool is the workers and what they share. New makes one.
type Pool[T any] struct {
	Config[T]
	epoch   time.Time
	workers []worker[T]
	board   board

	leader   atomic.Pointer[leadership]
	brief    leadership  // stands in for a leader who does not wait
	line     waitq.Queue // the followers
	active   atomic.Int64
	patience spin.Budget // of workers on the way to the line

	next  atomic.Uint64 // the number of the next job received; the leader's to move
	limit atomic.Uint64 // jobs above this number are not run

	closed   atomic.Bool // nothing more comes from the source
	finished atomic.Bool // and no hand holds a job
	stopped  atomic.Bool

	lock    spin.Lock // guards what follows
	outcome Outcome
	stops   bool
}

// An Outcome is how a pool ended.
type Outcome struct {
	Err    error // of the first Stop
	Panic  any   // the first one of Do, or of Source
	Stack  []byte
	Exited bool // by runtime.Goexit
}

// New returns a pool. Work runs it.
func New[T any](config Config[T]) *Pool[T] {
	c := &Pool[T]{
		Config:  config,
		epoch:   time.Now(),
		workers: make([]worker[T], config.Workers),
		board:   newBoard(config.Workers),
	}
	c.active.Store(int64(config.Workers))
	c.limit.Store(math.MaxUint64)
	for i := range c.workers {
		w := &c.workers[i]
		w.pool, w.id, w.cursor = c, i, i
		w.gauge = newGauge(config.Share, config.Hold, config.Most)
	}
	return c
}

// Work is the life of worker i, in the calling goroutine. A panic of Do ends it,
// and is kept in the outcome.
func (c *Pool[T]) Work(i int) {
	ended := false
	defer func() {
		if ended {
			return
		}
		if value := recover(); value != nil {
			c.panicked(value, debug.Stack())
		} else {
			c.exited()
		}
	}()
	w := &c.workers[i]
	w.now = c.clock()
	for w.find() {
		w.run()
	}
	ended = true
}

// Stop ends the pool. The first one's cause is kept.
func (c *Pool[T]) Stop(cause error) {
	c.lock.Lock()
	first := !c.stops
	if c.stops = true; first {
		c.outcome.Err = cause
	}
	c.lock.Unlock()
	if !first {
		return
	}
	c.stopped.Store(true) // before f can return because of Cancel
	c.line.WakeAll()
	c.leader.Load().interrupt()
	c.Cancel(cause)
}

// Limit makes seq the last job that is run, unless a lower one is already:
// nothing more is received, and what is above it in the hands is left over.
func (c *Pool[T]) Limit(seq uint64) {
	for limit := c.limit.Load(); seq < limit; limit = c.limit.Load() {
		if c.limit.CompareAndSwap(limit, seq) {
			break
		}
	}
	c.closed.Store(true)
	c.leader.Load().interrupt()
}

// Advanced says that Room has grown.
func (c *Pool[T]) Advanced() {
	if c.line.Waiting() && c.leadable() {
		c.line.Wake()
	}
}

// Leftover calls f with each job that was received and not given to Do. All
// workers have ended.
func (c *Pool[T]) Leftover(f func(T)) {
	for i := range c.workers {
		w := &c.workers[i]
		if w.first {
			f(w.hand.take(0))
		}
		for slot, ok := w.hand.claim(); ok; slot, ok = w.hand.claim() {
			f(w.hand.take(slot))
		}
		for _, job := range w.skipped {
			f(job)
		}
	}
}

// Outcome returns how the pool ended. All workers have.
func (c *Pool[T]) Outcome() Outcome { return c.outcome }

// errPanicked and errExited are the causes that f's context ends with.
type stopError string

func (e stopError) Error() string { return string(e) }

const (
	errPanicked stopError = "workers: a worker has panicked"
	errExited   stopError = "workers: a worker has called runtime.Goexit"
)

func (c *Pool[T]) panicked(value any, stack []byte) {
	c.lock.Lock()
	if c.outcome.Panic == nil {
		c.outcome.Panic, c.outcome.Stack = value, stack
	}
	c.lock.Unlock()
	c.Stop(errPanicked)
}

func (c *Pool[T]) exited() {
	c.lock.Lock()
	c.outcome.Exited = true
	c.lock.Unlock()
	c.Stop(errExited)
}

// over reports whether there is nothing left to do for anybody.
func (c *Pool[T]) over() bool { return c.stopped.Load() || c.finished.Load() }

// clock returns the time since the pool was made, in nanoseconds.
func (c *Pool[T]) clock() int64 { return int64(time.Since(c.epoch)) }
