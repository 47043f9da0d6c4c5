package sluice

import (
	"context"
	"fmt"
	"iter"
	"sync/atomic"

	"github.com/sluice-go/sluice/internal/crew"
)

// MapOptions are the choices of [Map] that have a default: those of [Workers], and
// the order of the results.
type MapOptions[T any] struct {
	WorkersOptions[T]

	// Ordered yields the results in the order in which their jobs were received.
	Ordered bool

	// Window is how far, with Ordered, jobs may run ahead of a slow one: when
	// that many have been received after the last one whose result was taken for
	// the loop, no more are received until it is done. So this is the most
	// results that wait. Room for them is allocated when the loop begins. The
	// default is 1024, or 4 n if that is more; at most 1<<30.
	Window int
}

const (
	defaultWindow = 1024
	maxWindow     = 1 << 30
)

// Map receives jobs from r and computes f of each in n goroutines, as [Workers]
// does, and yields the results:
//
//	results := sluice.Map(ctx, jobs, 8, parse, nil)
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
// then; jobs that were received and not given to f go to Undone.
//
// The loop ends when r is closed and drained and all results were yielded, or early
// for the reasons for which Workers does. At an early end the results of the
// jobs that had been done are still yielded; with Ordered that is those up to the first
// one missing. An error of f counts, with Ordered, when its turn comes: the jobs
// before it are done and their results yielded, and f's context is not done until
// then; of those after it no more are begun. If f panicked the loop statement
// panics with a [*PanicError], and exits if f did.
//
// Results come in no particular order, unless Ordered is set. A result can be
// taken for the loop as soon as f has returned, whatever its worker does next. A loop
// whose body is slow holds up the workers: without Ordered, when 128 results of one
// wait; with Ordered, when Window do. It does not allocate for each job.
//
// A nil ctx, r or f panics, as does n below 1, and options that make no sense.
func Map[T, U any](ctx context.Context, r BatchReceiver[T], n int, f func(context.Context, T) (U, error), o *MapOptions[T]) *Mapping[U] {
	requireJob("Map", ctx, r, n, f != nil)
	if o == nil {
		o = new(MapOptions[T])
	}
	config := o.config("Map", r, n)
	width := o.Window
	switch {
	case width < 0:
		panic(fmt.Sprintf("sluice: Map: Window is %d, below 0", width))
	case width > maxWindow:
		panic(fmt.Sprintf("sluice: Map: Window is %d, above 1<<30", width))
	case width > 0 && !o.Ordered:
		panic(fmt.Sprintf("sluice: Map: Window is %d, but Ordered is not set", width))
	case width == 0:
		width = min(max(defaultWindow, 4*n), maxWindow)
	}
	if o.Ordered {
		// One batch must not fill the window, or the other workers have nothing.
		config.Most = min(config.Most, max(1, width/(2*n)))
	}
	ordered, options := o.Ordered, o.WorkersOptions
	return &Mapping[U]{run: func(yield func(U) bool) error {
		var window *crew.Window[U]
		var boxes *crew.Boxes[U]
		if ordered {
			window = crew.NewWindow[U](width)
		} else {
			boxes = crew.NewBoxes[U](n)
		}
		s := newStaff(ctx, config, &options)
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
func asDone[T, U any](s *staff[T], boxes *crew.Boxes[U], f func(context.Context, T) (U, error), yield func(U) bool) error {
	s.crew.Do = func(worker int, _ uint64, job T) error {
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
func inOrder[T, U any](s *staff[T], window *crew.Window[U], f func(context.Context, T) (U, error), yield func(U) bool) error {
	s.crew.Room = window.Room
	s.crew.Do = func(_ int, seq uint64, job T) error {
		u, err := f(s.work, job)
		if err != nil {
			s.crew.Limit(seq) // it counts when its turn comes
		}
		window.Put(seq, crew.Result[U]{Value: u, Err: s.why(err)})
		return nil
	}
	return s.yielding(window.End, func() {}, func() (all bool) {
		for run := window.Take(); len(run) > 0; run = window.Take() {
			s.crew.Advanced()
			for _, r := range run {
				if r.Err != nil {
					s.crew.Stop(r.Err)
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
			s.crew.Stop(nil)
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

// A Mapping is the results of [Map], to be ranged over once.
type Mapping[U any] struct {
	run   func(yield func(U) bool) error
	begun atomic.Bool
	err   error
}

// All returns the results. The loop over them is what runs the jobs. A second
// loop, also one of another All, panics: the results have been.
func (m *Mapping[U]) All() iter.Seq[U] {
	return func(yield func(U) bool) {
		if m.begun.Swap(true) {
			panic("sluice: Mapping.All: the results were ranged over before")
		}
		m.err = m.run(yield)
	}
}

// Err returns why the loop ended early: nil if it did not, if its body left it,
// and before it has ended.
func (m *Mapping[U]) Err() error { return m.err }
