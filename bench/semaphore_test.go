package bench_test

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"

	standard "golang.org/x/sync/semaphore"

	"github.com/sluice-go/sluice/bench/workload"
	"github.com/sluice-go/sluice/semaphore"
)

// A limiter is one of the semaphores under comparison.
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

// BenchmarkSemaphore compares semaphores, with permits for a few of many goroutines. Time is
// per Acquire and Release.
func BenchmarkSemaphore(b *testing.B) {
	limiters := []struct {
		name string
		make func(permits int64) limiter
	}{
		{"x/sync", func(n int64) limiter { return standard.NewWeighted(n) }},
		{"chan", func(n int64) limiter { return make(tokens, n) }},
		{"FIFO", func(n int64) limiter { return semaphore.New(n, nil) }},
		{"barging", func(n int64) limiter { return semaphore.New(n, &semaphore.Options{Barging: true}) }},
	}
	for _, load := range []struct {
		goroutines int
		permits    int64
		busy       time.Duration // with the permit, and then without
		yields     bool
	}{
		{1, 1, 0, false}, {8, 1, 0, false}, {8, 2, 0, false}, {8, 2, 200 * time.Nanosecond, false}, {8, 4, time.Microsecond, false},
		{8, 2, 0, true}, {64, 8, 0, true},
	} {
		for _, l := range limiters {
			b.Run(fmt.Sprintf("goroutines=%d/permits=%d/busy=%v/yields=%v/%s", load.goroutines, load.permits, load.busy, load.yields, l.name), func(b *testing.B) {
				ctx, cancel := context.WithCancel(b.Context())
				defer cancel()
				s, turns := l.make(load.permits), 0
				if load.busy > 0 {
					turns = workload.Turns(load.busy)
				}
				b.ResetTimer()
				var goroutines sync.WaitGroup
				for range load.goroutines {
					goroutines.Go(func() {
						for range b.N/load.goroutines + 1 {
							if err := s.Acquire(ctx, 1); err != nil {
								b.Error(err)
								return
							}
							_ = workload.Busy(turns)
							if load.yields {
								runtime.Gosched() // to one that wants the permit, too
							}
							s.Release(1)
							_ = workload.Busy(turns)
						}
					})
				}
				goroutines.Wait()
			})
		}
	}
}
