package workers_test

import (
	"context"
	"fmt"
	"sync"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/workers"
)

// A pool of up to 16 workers begins with one of them. The first job raises that to three, and
// the other jobs, which are queued already, begin beside it.
func ExampleNewLimit() {
	ctx := context.Background()
	jobs := sluice.NewBounded[int](128, nil)
	for job := range 3 {
		_ = jobs.TrySend(job)
	}
	jobs.Close()

	limit := workers.NewLimit(1)
	var together sync.WaitGroup
	together.Add(3)
	err := workers.Run(ctx, jobs, 16, func(_ context.Context, job int) error {
		if job == 0 {
			limit.Set(3) // any goroutine may do that
		}
		together.Done()
		together.Wait() // until three jobs run
		return nil
	}, &workers.RunOptions[int]{Limit: limit})
	fmt.Println(limit.Get(), err)
	// Output: 3 <nil>
}
