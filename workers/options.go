package workers

import (
	"context"
	"fmt"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/internal/stage"
	"github.com/sluice-go/sluice/internal/workpool"
)

// RunOptions are the options of [Run]. The zero value, like nil, selects the defaults.
// Invalid values panic.
type RunOptions[T any] struct {
	// MaxOverhead is the share of the workers' time that receiving jobs may cost,
	// above 0 and below 1. The default is 0.0025. It is a goal: receiving costs more
	// if jobs arrive slowly, or if MaxDelay or MaxBatch require small batches.
	MaxOverhead float64

	// MaxDelay is the longest time that a job may wait in a worker's queue: a worker
	// receives no more jobs at once than it should finish within that time. If f
	// suddenly becomes slower, other workers steal the jobs behind it: idle workers at
	// once, busy workers when the jobs have waited for MaxDelay. The default is a
	// millisecond.
	MaxDelay time.Duration

	// MaxBatch is the largest number of jobs that a worker receives at once. The
	// default is 256.
	MaxBatch int

	// Limit, if set, is how many of the n workers work, and can be changed while they do:
	// see [Limit].
	Limit *Limit

	// LockOSThread runs each worker on an operating system thread of its own, which
	// ends with the worker: a worker that Limit has retired keeps its thread. Workers on
	// threads cannot receive from source.Seq or source.Seq2.
	LockOSThread bool

	// OnUnprocessed, if set, is called once with each job that was received and not
	// given to f, after an early end. The calls are made one after the other, in no
	// particular order, when all workers have ended: for Run, in the goroutine that
	// called Run; for Map, in the first goroutine that a method of Results reports the
	// end to. Other goroutines are told the end after the last call, so OnUnprocessed
	// must not receive from these Results or close them. A panic occurs in that goroutine,
	// and the remaining jobs are not reported.
	OnUnprocessed func(job T)
}

// MapOptions are the options of [Map], where T is the type of the jobs. The zero value,
// like nil, selects the defaults. Invalid values panic.
type MapOptions[T any] struct {
	// Ordered yields the results in the order in which their jobs were received.
	Ordered bool

	// MaxAhead, with Ordered, is how far jobs may run ahead of a slow one: the number
	// of jobs that may be received after the last one whose result was taken. It is
	// therefore the largest number of results that wait. Memory for them is allocated
	// at the first use. The default is 1024, or 4 n if that is more. The maximum is
	// 1<<30.
	MaxAhead int

	// MaxOverhead and the options below are as in [RunOptions].
	MaxOverhead   float64
	MaxDelay      time.Duration
	MaxBatch      int
	Limit         *Limit
	LockOSThread  bool
	OnUnprocessed func(job T)
}

const (
	defaultOverhead = 0.0025
	defaultDelay    = time.Millisecond
	defaultBatch    = 256
	maxBatch        = 1 << 30

	defaultAhead = 1024
	maxAhead     = 1 << 30
)

// requireArguments panics, on behalf of function, if an argument is missing.
func requireArguments[T any](function string, ctx context.Context, r sluice.BatchReceiver[T], n int, f bool) {
	switch {
	case ctx == nil:
		panic("workers: " + function + ": nil context")
	case r == nil:
		panic("workers: " + function + ": nil receiver")
	case !f:
		panic("workers: " + function + ": nil f")
	case n < 1:
		panic(fmt.Sprintf("workers: %s: n is %d (want 1 or more)", function, n))
	}
}

// configure checks the options of function, and returns the configuration of its pool. The jobs
// of the pool, U, are the values of r or made of them. Source is not set.
func configure[T, U any](function string, r sluice.BatchReceiver[T], n int, o *RunOptions[U]) workpool.Config[U] {
	c := workpool.Config[U]{
		Closed: sluice.ErrClosed, Workers: n,
		EndSource: func() { stage.Stop(r) }, AwaitSource: func() { stage.Wait(r) },
		Share: defaultOverhead, MaxDelay: defaultDelay, MaxBatch: defaultBatch,
	}
	if o == nil {
		return c
	}
	invalid := func(format string, args ...any) {
		panic("workers: " + function + ": " + fmt.Sprintf(format, args...))
	}
	switch {
	case o.LockOSThread && stage.NeedsUnlockedThread(r):
		invalid("LockOSThread is set, but r is an iterator, which cannot move between locked threads: send its values to a channel")
	case !(o.MaxOverhead >= 0 && o.MaxOverhead < 1):
		invalid("MaxOverhead is %v (want a share between 0 and 1)", o.MaxOverhead)
	case o.MaxDelay < 0:
		invalid("MaxDelay is %v (want 0 or more)", o.MaxDelay)
	case o.MaxBatch < 0:
		invalid("MaxBatch is %d (want 0 or more)", o.MaxBatch)
	case o.Limit != nil && o.Limit.Get() == 0:
		invalid("Limit is the zero value (want one made by NewLimit)")
	}
	if o.MaxOverhead > 0 {
		c.Share = o.MaxOverhead
	}
	if o.MaxDelay > 0 {
		c.MaxDelay = o.MaxDelay
	}
	if o.MaxBatch > 0 {
		c.MaxBatch = min(o.MaxBatch, maxBatch)
	}
	return c
}

// run returns the options that Map shares with Run.
func (o *MapOptions[T]) run() *RunOptions[T] {
	return &RunOptions[T]{o.MaxOverhead, o.MaxDelay, o.MaxBatch, o.Limit, o.LockOSThread, o.OnUnprocessed}
}

// window checks the options and returns how many results may wait, for n workers.
func (o *MapOptions[T]) window(n int) int {
	switch {
	case o.MaxAhead < 0:
		panic(fmt.Sprintf("workers: Map: MaxAhead is %d (want 0 or more)", o.MaxAhead))
	case o.MaxAhead > maxAhead:
		panic(fmt.Sprintf("workers: Map: MaxAhead is %d (want 1<<30 or less)", o.MaxAhead))
	case o.MaxAhead > 0 && !o.Ordered:
		panic(fmt.Sprintf("workers: Map: MaxAhead is %d, but it requires Ordered", o.MaxAhead))
	case o.MaxAhead == 0:
		return min(max(defaultAhead, 4*n), maxAhead)
	}
	return o.MaxAhead
}
