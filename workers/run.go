// Package workers runs a function for each value of a channel in several goroutines.
// [Run] calls it for its effect, [Map] yields its results.
package workers

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/internal/engine"
	"github.com/sluice-go/sluice/internal/workpool"
)

// RunOptions are the choices of [Run] that have a default: its zero value
// says what a nil pointer says. What makes no sense panics.
type RunOptions[T any] struct {
	// MaxOverhead is the share of the workers' time that taking jobs may cost,
	// above 0 and below 1. The default is 0.01. It is a goal: as long as jobs
	// come in slowly, or MaxDelay or MaxBatch ask for small batches, it costs more.
	MaxOverhead float64

	// MaxDelay is the longest time that a job may wait in a worker's hands: a
	// worker takes no more jobs at once than it should get done within it. When
	// f suddenly becomes slower than it was, the jobs behind it are done by other
	// workers: at once by idle ones, by busy ones when they have waited for so
	// long. The default is a millisecond.
	MaxDelay time.Duration

	// MaxBatch is the most jobs that a worker takes at once. The default is 256.
	MaxBatch int

	// LockOSThread runs each worker on a thread of its own, which ends with it.
	LockOSThread bool

	// OnUnprocessed, if set, is called exactly once with each job that was received
	// and never given to f, as there may be when Workers ends early. It is
	// called by the goroutine that called Workers, when all workers have ended,
	// for one job after the other, in no particular order. If it panics, so does
	// Workers, and the jobs after that stay unseen.
	OnUnprocessed func(job T)
}

// Workers receives jobs from r and calls f for each, in n goroutines, until r is
// closed and drained: then it returns nil. It blocks until all its goroutines have
// ended. It ends early, and receives nothing more, when
//
//   - f returns an error: Workers returns the first one;
//   - ctx is done: Workers returns its error, also if f fails because of it;
//   - r fails with something else than [sluice.ErrClosed]: Workers returns that;
//   - f panics: Workers panics in the caller's goroutine, with a [*PanicError];
//   - f calls [runtime.Goexit], as t.FailNow does: so does Workers in the caller's.
//
// If several of these happen, a panic counts before Goexit, and Goexit before
// errors. The calls of f that are under way are waited for. f gets a context that
// is done as soon as Workers is to end early, with the error as its cause, and in
// any case when Workers returns. Each job received was given to f once or, at an
// early end, to OnUnprocessed.
//
// Jobs are begun in about the order in which r hands them out. f may send to r, may
// call Workers, and may wait for other jobs as long as one of the n workers is
// free to do them: that one also does what was in a waiting worker's hands.
//
// A worker takes several jobs at once where they are short. What f takes and what
// taking costs is measured, by one look at the clock for each batch; the number
// is such that taking costs a hundredth of the time ([RunOptions.MaxOverhead]),
// and that no job waits in a worker's hands for longer than a millisecond, as far as
// what was measured tells (MaxDelay). It begins at one and at most doubles; a batch
// that took long ends that at once. Idle workers take jobs out of others' hands,
// also while their holder is inside f: so as long as one is idle, no job received
// waits. All but one of the idle workers wait outside r.
//
// r must not promise a SingleReceiver unless n is 1. If r is not of this package,
// its RecvBatch must take what there is under a context that is done, never wait,
// and fail with [context.Canceled] or ErrClosed if there is nothing; each wait
// must end when its context does.
//
// It does not allocate for each job. A nil ctx, r or f panics, as does n below 1.
func Run[T any](ctx context.Context, r sluice.BatchReceiver[T], n int, f func(context.Context, T) error, o *RunOptions[T]) error {
	requireJob("Run", ctx, r, n, f != nil)
	config := o.config("Run", r, n)
	s := newStaff(ctx, config, o)
	if s == nil {
		return ctx.Err()
	}
	s.pool.Do = func(_ int, _ uint64, job T) error { return s.why(f(s.work, job)) }
	s.start(func() {})
	return rethrow(s.end())
}

// requireJob panics, in the name of function, if an argument is missing.
func requireJob[T any](function string, ctx context.Context, r sluice.BatchReceiver[T], n int, f bool) {
	switch {
	case ctx == nil:
		panic("workers: " + function + ": nil context")
	case r == nil:
		panic("workers: " + function + ": nil receiver")
	case !f:
		panic("workers: " + function + ": nil f")
	}
	if n < 1 {
		panic(fmt.Sprintf("workers: %s: n is %d, below 1", function, n))
	}
}

const (
	defaultOverhead = 0.01
	defaultDelay    = time.Millisecond
	defaultMaxBatch = 256
)

// config checks o for function, and turns it into what a crew reads.
func (o *RunOptions[T]) config(function string, r sluice.BatchReceiver[T], n int) workpool.Config[T] {
	c := workpool.Config[T]{
		Source: r, Closed: sluice.ErrClosed, Workers: n,
		Share: defaultOverhead, Hold: defaultDelay, Most: defaultMaxBatch,
	}
	if o == nil {
		return c
	}
	refuse := func(format string, args ...any) {
		panic("workers: " + function + ": " + fmt.Sprintf(format, args...))
	}
	switch {
	case !(o.MaxOverhead >= 0 && o.MaxOverhead < 1):
		refuse("MaxOverhead is %v, not between 0 and 1", o.MaxOverhead)
	case o.MaxDelay < 0:
		refuse("MaxDelay is %v, below 0", o.MaxDelay)
	case o.MaxBatch < 0:
		refuse("MaxBatch is %d, below 0", o.MaxBatch)
	}
	if o.MaxOverhead > 0 {
		c.Share = o.MaxOverhead
	}
	if o.MaxDelay > 0 {
		c.Hold = o.MaxDelay
	}
	if o.MaxBatch > 0 {
		c.Most = min(o.MaxBatch, 1<<30)
	}
	return c
}

// A staff is a crew with its goroutines.
type staff[T any] struct {
	pool      *workpool.Pool[T]
	ctx, work context.Context // the caller's, and f's
	cancel    context.CancelCauseFunc
	options   *RunOptions[T]
	workers   sync.WaitGroup
	watch     func() bool   // ends the watch over ctx
	watched   chan struct{} // closed when ctx has stopped the crew
}

// newStaff returns a crew without goroutines, or nil if ctx is done.
func newStaff[T any](ctx context.Context, config workpool.Config[T], o *RunOptions[T]) *staff[T] {
	if ctx.Err() != nil {
		return nil
	}
	if o == nil {
		o = new(RunOptions[T])
	}
	copied := *o
	s := &staff[T]{ctx: ctx, options: &copied, watched: make(chan struct{})}
	s.pool = workpool.New(config)
	// Last, as it stays with ctx until it is cancelled.
	s.work, s.cancel = context.WithCancelCause(engine.Parent{Context: ctx})
	s.pool.Context, s.pool.Cancel = s.work, s.cancel
	return s
}

// why returns the error of f, or that of ctx if it is done: f may have failed
// because of it.
func (s *staff[T]) why(err error) error {
	if err != nil && s.ctx.Err() != nil {
		return s.ctx.Err()
	}
	return err
}

// start starts the goroutines. The last one to end calls ended.
func (s *staff[T]) start(ended func()) {
	s.watch = context.AfterFunc(engine.Parent{Context: s.ctx}, func() {
		defer close(s.watched)
		s.pool.Stop(engine.ContextError(s.ctx))
	})
	var running atomic.Int64
	running.Store(int64(s.pool.Workers))
	for i := range s.pool.Workers {
		s.workers.Go(func() {
			defer func() { // f may call Goexit
				if running.Add(-1) == 0 {
					ended()
				}
			}()
			if s.options.LockOSThread {
				runtime.LockOSThread() // for good: the thread ends
			}
			s.pool.Work(i)
		})
	}
}

// end waits for the goroutines, reports what is undone, and returns how the crew
// ended.
func (s *staff[T]) end() workpool.Outcome {
	s.workers.Wait()
	if !s.watch() {
		<-s.watched
	}
	s.cancel(nil)
	if undone := s.options.OnUnprocessed; undone != nil {
		s.pool.Leftover(undone)
	}
	return s.pool.Outcome()
}

// rethrow returns the error of an outcome, or panics or exits as f did.
func rethrow(o workpool.Outcome) error {
	if o.Panic != nil {
		panic(&PanicError{o.Panic, o.Stack})
	}
	if o.Exited {
		runtime.Goexit()
	}
	return o.Err
}

// A PanicError is what [Run] and the loop over the results of [Map] panic with when f
// has: the value of that panic, and the stack at which it happened, in another
// goroutine. Its text has both.
type PanicError struct {
	Value any
	Stack []byte
}

func (p *PanicError) Error() string {
	return fmt.Sprintf("%v\n\nof a worker:\n\n%s", p.Value, p.Stack)
}

// Unwrap returns Value if it is an error.
func (p *PanicError) Unwrap() error {
	err, _ := p.Value.(error)
	return err
}
