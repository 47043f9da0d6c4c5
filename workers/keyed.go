package workers

import (
	"context"
	"fmt"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/internal/stage"
	"github.com/sluice-go/sluice/internal/workpool"
)

// KeyedOptions are the options of [RunKeyed], where T is the type of the jobs. The zero value,
// like nil, selects the defaults. Invalid values panic.
type KeyedOptions[T any] struct {
	// PerKey is how many jobs of one key run at the same time. The default is 1: then the
	// jobs of a key run in the order in which they were received. With more, they start in
	// about that order.
	PerKey int

	// MaxAhead is how many jobs may be received and not done. Jobs that wait for
	// another one of their key count, so it is how far RunKeyed looks for jobs of other
	// keys. If the jobs of one key are that many, the other keys wait for them: see MaxPerKey.
	// The default is 1024, or 4 n if that is more. The maximum is 1<<30.
	MaxAhead int

	// MaxPerKey, if it is not 0, is how many jobs of one key may be received and not done.
	// Beyond that, OnExcess is called with the job in place of f: so no key can hold up the others.
	// MaxPerKey requires OnExcess, and is less than MaxAhead. The workers call OnExcess one
	// after the other. No job is received meanwhile, so it must not wait for jobs.
	MaxPerKey int
	OnExcess  func(job T)

	// MaxDelay is for how long a worker runs jobs of one key before it is another key's turn.
	// The default is a millisecond.
	MaxDelay time.Duration

	// Limit, LockOSThread and OnUnprocessed are as in [RunOptions]. A job that OnExcess was
	// called with is not reported to OnUnprocessed.
	Limit         *Limit
	LockOSThread  bool
	OnUnprocessed func(job T)
}

// RunKeyed receives jobs from r and calls f for each in n goroutines, as [Run] does, but
// jobs of the same key run one at a time, in the order in which they were received. Jobs of
// different keys run in parallel. key returns the key of a job; it is called once per job,
// by one goroutine at a time.
//
// A job of a key that is busy waits without occupying a worker. The keys that have jobs
// waiting take turns: a worker runs one job of the key, or several until MaxDelay is over. So
// a key with many jobs delays another key by one turn, not by all of its jobs, as long as
// fewer than MaxAhead jobs are received and not done.
//
// Nothing is kept of a key that has no jobs. RunKeyed does not allocate for each job, nor for
// each key once as many keys have been busy at the same time.
//
// RunKeyed ends as Run does, for the same reasons, early ends included. A panic of key or
// OnExcess counts as one of f, and so does a key that is not equal to itself, as NaN, or cannot be
// hashed. It panics if ctx, r, key or f is nil, if n is below 1, and if options are invalid.
func RunKeyed[T any, K comparable](ctx context.Context, r sluice.BatchReceiver[T], n int, key func(T) K, f func(context.Context, T) error, o *KeyedOptions[T]) error {
	requireArguments("RunKeyed", ctx, r, n, f != nil)
	if key == nil {
		panic("workers: RunKeyed: nil key")
	}
	if o == nil {
		o = new(KeyedOptions[T])
	}
	options := &RunOptions[workpool.Turn[T, K]]{MaxDelay: o.MaxDelay, Limit: o.Limit, LockOSThread: o.LockOSThread}
	config := configure("RunKeyed", r, n, options)
	keyed := workpool.NewKeyed(workpool.KeyedConfig[T, K]{
		Source: r, Closed: sluice.ErrClosed, Key: key, Do: f,
		PerKey: o.perKey(), MaxAhead: o.ahead(n), MaxPerKey: o.excess(n), OnExcess: o.OnExcess, MaxDelay: config.MaxDelay,
	})
	g := newGroup(ctx, config, options)
	if g == nil {
		stage.End(r)
		return ctx.Err()
	}
	_ = declare(r, f)
	keyed.Serve(g.pool)
	g.start(func() {})
	g.wait()
	if o.OnUnprocessed != nil {
		keyed.Unprocessed(o.OnUnprocessed)
	}
	return raise(g.outcome())
}

// perKey checks and returns how many jobs of a key run at the same time.
func (o *KeyedOptions[T]) perKey() int {
	if o.PerKey < 0 {
		panic(fmt.Sprintf("workers: RunKeyed: PerKey is %d (want 0 or more)", o.PerKey))
	}
	return max(o.PerKey, 1)
}

// ahead checks and returns how many jobs of n workers may be received and not done.
func (o *KeyedOptions[T]) ahead(n int) int {
	switch {
	case o.MaxAhead < 0:
		panic(fmt.Sprintf("workers: RunKeyed: MaxAhead is %d (want 0 or more)", o.MaxAhead))
	case o.MaxAhead > maxAhead:
		panic(fmt.Sprintf("workers: RunKeyed: MaxAhead is %d (want 1<<30 or less)", o.MaxAhead))
	case o.MaxAhead == 0:
		return min(max(defaultAhead, 4*n), maxAhead)
	}
	return o.MaxAhead
}

// excess checks and returns how many jobs of a key may wait, or 0.
func (o *KeyedOptions[T]) excess(n int) int {
	switch {
	case o.MaxPerKey < 0:
		panic(fmt.Sprintf("workers: RunKeyed: MaxPerKey is %d (want 0 or more)", o.MaxPerKey))
	case o.MaxPerKey >= o.ahead(n):
		panic(fmt.Sprintf("workers: RunKeyed: MaxPerKey is %d (want less than MaxAhead, which is %d)", o.MaxPerKey, o.ahead(n)))
	case (o.MaxPerKey > 0) != (o.OnExcess != nil):
		panic("workers: RunKeyed: MaxPerKey and OnExcess require each other")
	}
	return o.MaxPerKey
}
