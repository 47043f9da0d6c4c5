package workers

import (
	"context"
	"errors"
	"iter"
	"sync"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/internal/engine"
	"github.com/sluice-go/sluice/internal/stage"
	"github.com/sluice-go/sluice/internal/workpool"
)

// Results are the results of [Map]. Range over them with All, or receive them, from
// any number of goroutines: Results is a [sluice.BatchReceiver].
//
// The workers start when a loop over All begins, or at the first call of Ready or of a
// receive method. Results that are never used start nothing. Once used, receive all
// results, call Close, or end the context of Map: otherwise the workers wait for room
// forever. A loop over All closes the results however it ends.
//
// If f panicked, each receive after the last result panics with a [*PanicError], and if
// f called [runtime.Goexit], each such receive ends the goroutine that called it.
type Results[U any] struct {
	early
	ctx    context.Context
	source any    // the channel that jobs come from: see declare
	stop   func() // closes the channel that jobs come from
	await  func() // waits for the goroutines of that channel, if it has any
	launch func() (runner, *workpool.Outlet[U])

	started sync.Once
	runner  runner // nil if nothing was started
	outlet  *workpool.Outlet[U]

	reported sync.Once // jobs that were not processed

	mu     sync.Mutex
	closed bool              // Close reports a panic of f
	left   bool              // by the body of a loop
	final  *workpool.Outcome // what receivers are told at the end; nil until then
}

var (
	_ sluice.BatchReceiver[int] = (*Results[int])(nil)
	_ sluice.TryReceiver[int]   = (*Results[int])(nil)
)

// A runner is a group, whatever the type of its jobs.
type runner interface {
	stop()
	wait()
	unprocessed()
	outcome() workpool.Outcome
}

// requireMade panics if r is a zero value.
func (r *Results[U]) requireMade() {
	if r.launch == nil {
		panic("workers: Results: a zero value: make Results with Map")
	}
}

// start starts the workers, once.
func (r *Results[U]) start() {
	r.requireMade()
	r.started.Do(func() {
		engine.SitesOf(r.source).Continues(nil)
		if r.runner, r.outlet = r.launch(); r.runner == nil { // ctx is done
			r.startNothing(workpool.Outcome{Err: r.ctx.Err()})
		}
	})
}

// startNothing ends results whose workers were not started.
func (r *Results[U]) startNothing(final workpool.Outcome) {
	r.outlet = workpool.NewOutlet[U](1, 0)
	r.outlet.End()
	r.mu.Lock()
	r.final = &final
	r.mu.Unlock()
	r.stop()
}

// Recv receives the next result, and waits until there is one. It fails with
// [sluice.ErrClosed] after the last result; after an early end with the error that Map
// ended with; and with the error of ctx if it would have to wait and ctx is done. If f
// failed with ErrClosed or [sluice.ErrEmpty], because a channel that f uses is closed
// or empty, Recv returns a different error; Err returns the error of f. A ctx that ends
// Recv does not end the workers.
func (r *Results[U]) Recv(ctx context.Context) (U, error) {
	if ctx == nil {
		panic("workers: Results.Recv: nil context")
	}
	var one [1]U
	_, err := r.recv(ctx, one[:])
	return one[0], err
}

// RecvBatch waits for a result like Recv, then moves as many as there are, up to
// len(buf), into buf. n > 0 implies err == nil. An empty buf returns 0, nil.
func (r *Results[U]) RecvBatch(ctx context.Context, buf []U) (n int, err error) {
	if ctx == nil {
		panic("workers: Results.RecvBatch: nil context")
	}
	r.requireMade()
	if len(buf) == 0 {
		return 0, nil
	}
	return r.recv(ctx, buf)
}

func (r *Results[U]) recv(ctx context.Context, buf []U) (int, error) {
	r.start()
	n, ended := r.outlet.TryRecv(buf)
	if n == 0 && !ended {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		n, ended = r.outlet.Recv(ctx.Done(), buf)
	}
	switch {
	case n > 0:
		return n, nil
	case ended:
		return 0, r.finish()
	default:
		return 0, engine.ContextError(ctx)
	}
}

// TryRecv receives the next result if there is one. Otherwise it fails with
// [sluice.ErrEmpty], or, after the last result, as Recv does.
func (r *Results[U]) TryRecv() (U, error) {
	r.start()
	var one [1]U
	n, ended := r.outlet.TryRecv(one[:])
	switch {
	case n > 0:
		return one[0], nil
	case ended:
		return one[0], r.finish()
	default:
		return one[0], sluice.ErrEmpty
	}
}

// Ready returns a channel for use in a select statement. It becomes readable when
// TryRecv may return a result, and is closed at the end. A goroutine that reads from
// it then calls TryRecv until that fails. Each call returns the same channel.
func (r *Results[U]) Ready() <-chan struct{} {
	r.start()
	return r.outlet.Ready()
}

// All returns an iterator over the results. A body that leaves the loop, by break,
// return, panic or Goexit, closes the results (see Close). When the loop has ended, no
// worker is running. If f panicked, the loop statement panics with a [*PanicError], and
// if f called [runtime.Goexit], the loop ends the goroutine that runs it.
func (r *Results[U]) All() iter.Seq[U] {
	r.requireMade()
	return func(yield func(U) bool) {
		r.start()
		var run []U
		received, returned, all := 0, false, false
		defer func() {
			if !all {
				r.outlet.Return(run[received:])
				r.leave(true, returned)
			}
		}()
		for run = r.outlet.TakeRun(nil); len(run) > 0; run = r.outlet.TakeRun(run) {
			for i, u := range run {
				received = i + 1
				if !yield(u) {
					returned = true
					return
				}
			}
			received = 0
		}
		all = true
		_ = r.finish() // see Err
	}
}

// Err reports why the results ended early: the error with which Map ended. It is nil if
// all jobs were done, if Close ended the results before an error did, if the body left a
// loop, and as long as the end was not reached by a loop, a receive or Close.
func (r *Results[U]) Err() error {
	r.requireMade()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.final == nil {
		return nil
	}
	return r.final.Err
}

// Close ends the results early: the context of f ends, no job is started, and the
// channel that jobs come from is closed, as by [Run] at an early end. Close waits for the
// calls of f that are running, so f must not call it. Results that were computed and
// not received can still be received; after them receiving fails with
// [sluice.ErrClosed].
//
// An error with which Map ended before Close is kept: receivers get it after the last
// result, and Err returns it. With Ordered, an error of f whose turn has not come does
// not count.
//
// Close is idempotent and safe from any goroutine. After the last result was received
// it does nothing. If f panicked and no receive has reported that, Close panics with a
// [*PanicError].
func (r *Results[U]) Close() { r.leave(false, false) }

// leave is Close. On behalf of a loop it also forgets the error of Map, and if exit is set
// it exits if f did.
func (r *Results[U]) leave(loop, exit bool) {
	r.requireMade()
	r.mu.Lock()
	first := r.final == nil && !r.closed
	r.closed = true
	r.left = r.left || loop
	r.mu.Unlock()
	r.stopEarly()
	r.conclude()
	if first && r.runner != nil {
		o := r.runner.outcome()
		o.Exited = o.Exited && exit
		_ = raise(o)
	}
}

type early = stage.Early

// stopEarly is Close without the wait: senders fail with [sluice.ErrClosed], the
// context of f ends, and no job is started. It does not report a panic of f; a receive
// or Close does. Stages that end several channels early call it before they wait for
// one of them.
func (r *Results[U]) stopEarly() {
	r.started.Do(func() { r.startNothing(workpool.Outcome{}) })
	if r.runner != nil {
		r.runner.stop()
	}
}

// conclude waits for the workers, reports the jobs that were not given to f, and
// returns the outcome for receivers. The results have ended, or are closed.
func (r *Results[U]) conclude() workpool.Outcome {
	if r.runner == nil {
		r.await()
	} else {
		r.runner.wait()
		r.reported.Do(r.runner.unprocessed) // another goroutine waits here
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.final == nil {
		o := r.runner.outcome()
		if r.left || r.closed && (o.Panic != nil || o.Exited) {
			o = workpool.Outcome{}
		}
		r.final = &o
	}
	return *r.final
}

// finish is called when the last result was received and the workers have ended. It
// returns the error that receivers get from then on, or panics or exits as f did.
func (r *Results[U]) finish() error {
	switch err := raise(r.conclude()); {
	case err == nil:
		return sluice.ErrClosed
	case errors.Is(err, sluice.ErrClosed), errors.Is(err, sluice.ErrEmpty):
		return jobError{err}
	default:
		return err
	}
}

// A jobError stands for an error of f that is [sluice.ErrClosed] or [sluice.ErrEmpty], such
// as a failed Send or TryRecv returns. It has no Unwrap: a receiver must not take it for
// the end of the results, nor for a result that is still to come.
type jobError struct{ err error }

func (e jobError) Error() string { return "workers: Map: f failed: " + e.err.Error() }
