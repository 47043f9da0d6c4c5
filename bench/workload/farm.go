package workload

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluice-go/sluice/bench/contender"
)

// Farm has a farm do n jobs, and checks that the result of each came back once. It
// returns the time that they took.
func Farm(f contender.Farm, workers int, n uint64, job func()) (time.Duration, error) {
	tally, elapsed := f.Run(workers, n, job)
	if err := verify(tally, upTo(n), false); err != nil {
		return 0, fmt.Errorf("%s, %d workers: %w", f.Name, workers, err)
	}
	return elapsed, nil
}

// Alone does n jobs in so many goroutines with no channel between them, and returns
// the time they took: what a farm would take if handing over were free. Each
// goroutine takes portions of the jobs from a common counter, so that none is idle
// while there are some: with shares fixed beforehand, three goroutines on two
// processors take a third longer than they must.
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
