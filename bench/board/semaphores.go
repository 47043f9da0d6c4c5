package main

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"time"

	standard "golang.org/x/sync/semaphore"

	"github.com/sluice-go/sluice/bench/workload"
	"github.com/sluice-go/sluice/semaphore"
)

// A limiter is a semaphore.
type limiter interface {
	Acquire(ctx context.Context, n int64) error
	Release(n int64)
}

// tokens is a built-in channel as a semaphore.
type tokens chan struct{}

func (t tokens) Acquire(ctx context.Context, _ int64) error {
	select {
	case t <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (t tokens) Release(int64) { <-t }

// semaphores compares semaphores: an Acquire with a context, and a Release.
func semaphores(procs []int) section {
	ours := func(o *semaphore.Options) func(int64) limiter {
		return func(n int64) limiter { return semaphore.New(n, o) }
	}
	rows := []row{
		{name: "chan as tokens", waits: parks, ctx: yes, close: no, what: func(n int64) limiter { return make(tokens, n) }},
		{name: "sluice semaphore", ours: true, waits: parks, ctx: yes, close: anybody, what: ours(nil)},
		{name: "sluice semaphore, barging", ours: true, waits: parks, ctx: yes, close: anybody, what: ours(&semaphore.Options{Barging: true}),
			note: "running goroutines pass waiting ones"},
		{name: "x/sync semaphore", waits: parks, ctx: yes, close: no, what: func(n int64) limiter { return standard.NewWeighted(n) }},
	}
	var columns []column
	for _, load := range []struct {
		name       string
		goroutines int
		permits    int64
		busy       time.Duration // with the permit, and then without
		yields     bool          // with the permit
	}{
		{"1 alone", 1, 1, 0, false}, {"8 for 2", 8, 2, 200 * time.Nanosecond, false}, {"64 for 8, yielding", 64, 8, 0, true},
	} {
		columns = append(columns, timed(procs, load.name, nil, func(r row, n uint64) (workload.Result, error) {
			s, each := r.what.(func(int64) limiter)(load.permits), n/uint64(load.goroutines)+1
			return clocked(each*uint64(load.goroutines), func() error {
				return compete(s, load.goroutines, each, workload.Turns(load.busy), load.yields)
			})
		})...)
	}
	columns = append(columns, column{name: "idle", procs: 2, slow: true, measure: func(r row, d time.Duration) (float64, error) {
		s := r.what.(func(int64) limiter)(1)
		_ = s.Acquire(cancelable, 1) // of a permit that is free
		for range 8 {
			go func() { _ = s.Acquire(cancelable, 1) }()
		}
		return idle(d), nil
	}})
	return section{"semaphore", rows, columns}
}

// compete lets the goroutines acquire and release a permit, n times each.
func compete(s limiter, goroutines int, n uint64, turns int, yields bool) error {
	var all sync.WaitGroup
	failed := make(chan error, goroutines)
	for range goroutines {
		all.Go(func() {
			for range n {
				if err := s.Acquire(cancelable, 1); err != nil {
					failed <- fmt.Errorf("acquire: %w", err)
					return
				}
				if turns > 0 {
					_ = workload.Busy(turns)
				}
				if yields {
					runtime.Gosched() // to one that wants the permit, too
				}
				s.Release(1)
				if turns > 0 {
					_ = workload.Busy(turns)
				}
			}
		})
	}
	all.Wait()
	close(failed)
	return <-failed
}
