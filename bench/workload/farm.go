package workload

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluice-go/sluice/bench/contender"
)

// Farm runs n jobs in a farm and checks that the result of each came back once.
// It returns the elapsed time.
func Farm(f contender.Farm, workers int, n uint64, job func()) (time.Duration, error) {
	tally, elapsed := f.Run(workers, n, job)
	if err := tally.Check(upTo(n)); err != nil {
		return 0, fmt.Errorf("%s, %d workers: %w", f.Name, workers, err)
	}
	return elapsed, nil
}

// Alone runs n jobs in the given number of goroutines without a channel between
// them, and returns the elapsed time: the time that a farm would take if
// channels cost nothing. Each goroutine takes portions of jobs from a shared
// counter, so that none is idle while jobs are left. With fixed shares, three
// goroutines on two processors would take a third longer than necessary.
func Alone(workers int, n, portion uint64, job func()) time.Duration {
	var taken atomic.Uint64
	var all sync.WaitGroup
	began := time.Now()
	for range workers {
		all.Go(func() {
			for {
				hi := taken.Add(portion)
				lo := hi - portion
				if lo >= n {
					return
				}
				for range min(hi, n) - lo {
					job()
				}
			}
		})
	}
	all.Wait()
	return time.Since(began)
}
