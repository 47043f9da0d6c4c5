package workers

import (
	"context"
	"fmt"
	"iter"
	"sync/atomic"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/internal/workpool"
)

// MapOptions are the choices of [Map] that have a default: those of [Run], and
// the order of the results.
type MapOptions[T any] struct {
	// MaxOverhead, MaxDelay, MaxBatch, LockOSThread and OnUnprocessed are as in
	// [RunOptions].
	MaxOverhead   float64
	MaxDelay      time.Duration
	MaxBatch      int
	LockOSThread  bool
	OnUnprocessed func(job T)

	// Ordered yields the results in the order in which their jobs were received.
	Ordered bool

	// MaxAhead is how far, with Ordered, jobs may run ahead of a slow one: when
	// that many have been received after the last one whose result was taken for
	// the loop, no more are received until it is done. So this is the most
	// results that wait. Room for them is allocated when the loop begins. The
	// default is 1024, or 4 n if that is more; at most 1<<30.
	MaxAhead int
}

// run returns the options that Map shares with Run.
func (o *MapOptions[T]) run() *RunOptions[T] {
	return &RunOptions[T]{o.MaxOverhead, o.MaxDelay, o.MaxBatch, o.LockOSThread, o.OnUnprocessed}
}

const (
	defaultWindow = 1024
	maxWindow     = 1 << 30
)

// Map receives jobs from r and computes f of each in n goroutines, as [Run]
// does, and yields the results:
//
//	results := workers.Map(ctx, jobs, 8, parse, nil)
//	for record := range results.All() {
//		…
//	}
//	if err := results.Err(); err != nil {
//		…
//	}
//
// Nothing is received before the loop begins, and nothing runs any more when it has
// ended, in whatever way: a break, a panic or a Goexit in its body waits for
// the calls of f that are under way. What they and earlier ones returned is dropped
// then; jobs that were received and not given to f go to OnUnprocessed.
//
// The loop ends when r is closed and drained and all results were yielded, or early
// for the reasons for which Run ends early. At an early end the results of the
// jobs that had been done are still yielded; with Ordered that is those up to the first
// one missing. An error of f counts, with Ordered, when its turn comes: the jobs
// before it are done and their results yielded, and f's context is not done until
// then; of those after it no more are begun. If f panicked the loop statement
// panics with a [*PanicError], and exits if f did.
//
// Results come in no particular order, unless Ordered is set. A result can be
// taken for the loop as soon as f has returned, whatever its worker does next. A loop
// whose body is slow holds up the workers: without Ordered, when 128 results of one
// wait; with Ordered, when MaxAhead do. It does not allocate for each job.
//
// A nil ctx, r or f panics, as does n below 1, and options that make no sense.
func Map[T, U any](ctx context.Context, r sluice.BatchReceiver[T], n int, f func(context.Context, T) (U, error), o *MapOptions[T]) *Results[U] {
	requireJob("Map", ctx, r, n, f != nil)
	if o == nil {
		o = new(MapOptions[T])
	}
	options := o.run()
	config := options.config("Map", r, n)
	width := o.MaxAhead
	switch {
	case width < 0:
		panic(fmt.Sprintf("workers: Map: MaxAhead is %d, below 0", width))
	case width > maxWindow:
		panic(fmt.Sprintf("workers: Map: MaxAhead is %d, above 1<<30", width))
	case width > 0 && !o.Ordered:
		panic(fmt.Sprintf("workers: Map: MaxAhead is %d, but Ordered is not set", width))
	case width == 0:
		width = min(max(defaultWindow, 4*n), maxWindow)
	}
	if o.Ordered {
		// One batch must not fill the window, or the other workers have nothing.
		config.Most = min(config.Most, max(1, width/(2*n)))
	}
	ordered := o.Ordered
	return &Results[U]{run: func(yield func(U) bool) error {
		var window *workpool.Window[U]
		var boxes *workpool.Boxes[U]
		if ordered {
			window = workpool.NewWindow[U](width)
		} else {
			boxes = workpool.NewBoxes[U](n)
		}
		s := newStaff(ctx, config, options)
		switch {
		case s == nil:
			return ctx.Err()
		case ordered:
			return inOrder(s, window, f, yield)
		default:
			return asDone(s, boxes, f, yield)
		}
	}}
}

// asDone runs the jobs and yields results as they come.
func asDone[T, U any](s *staff[T], boxes *workpool.Boxes[U], f func(context.Context, T) (U, error), yield func(U) bool) error {
	s.pool.Do = func(worker int, _ uint64, job T) error {
		u, err := f(s.work, job)
		if err != nil {
			return s.why(err)
		}
		boxes.Put(worker, u)
		return nil
	}
	return s.yielding(boxes.End, boxes.Abandon, func() (all bool) {
		for run := boxes.Take(); len(run) > 0; run = boxes.Take() {
			for _, u := range run {
				if !yield(u) {
					return false
				}
			}
		}
		return true
	})
}

// inOrder runs the jobs and yields results in the order of the jobs.
func inOrder[T, U any](s *staff[T], window *workpool.Window[U], f func(context.Context, T) (U, error), yield func(U) bool) error {
	s.pool.Room = window.Room
	s.pool.Do = func(_ int, seq uint64, job T) error {
		u, err := f(s.work, job)
		if err != nil {
			s.pool.Limit(seq) // it counts when its turn comes
		}
		window.Put(seq, workpool.Result[U]{Value: u, Err: s.why(err)})
		return nil
	}
	return s.yielding(window.End, func() {}, func() (all bool) {
		for run := window.Take(); len(run) > 0; run = window.Take() {
			s.pool.Advanced()
			for _, r := range run {
				if r.Err != nil {
					s.pool.Stop(r.Err)
					return true
				}
				if !yield(r.Value) {
					return false
				}
			}
		}
		return true
	})
}

// yielding runs the crew while loop yields, which reports whether it was to the
// end. However loop ends, all goroutines have when yielding does.
func (s *staff[T]) yielding(ended, abandon func(), loop func() (all bool)) (err error) {
	s.start(ended)
	all, returned := false, false
	defer func() {
		if !all {
			s.pool.Stop(nil)
			abandon()
		}
		outcome := s.end()
		if !returned {
			outcome.Exited = false // the body's own way out goes on
		}
		if !all {
			outcome.Err = nil // as the body has left, whatever came before
		}
		err = rethrow(outcome)
	}()
	all = loop()
	returned = true
	return nil
}

// A Results is the results of [Map], to be ranged over once.
type Results[U any] struct {
	run   func(yield func(U) bool) error
	begun atomic.Bool
	err   error
}

// All returns the results. The loop over them is what runs the jobs. A second
// loop, also one of another All, panics: the results have been.
func (m *Results[U]) All() iter.Seq[U] {
	return func(yield func(U) bool) {
		if m.begun.Swap(true) {
			panic("workers: Results.All: the results were ranged over before")
		}
		m.err = m.run(yield)
	}
}

// Err returns why the loop ended early: nil if it did not, if its body left it,
// and before it has ended.
func (m *Results[U]) Err() error { return m.err }
