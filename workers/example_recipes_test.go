package workers_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/workers"
)

// A signal closes the queue: clients get an error, and accepted jobs are still done. If
// that takes too long, the work is canceled, and the jobs that are left are counted.
func Example_gracefulShutdown() {
	stop, signal := context.WithCancel(context.Background()) // signal.NotifyContext in a main
	work, abort := context.WithCancel(context.Background())  // not a child of stop
	defer abort()
	jobs := sluice.NewBounded[int](64, nil)
	context.AfterFunc(stop, func() {
		jobs.Close()
		time.AfterFunc(time.Minute, abort)
	})

	accepted := 0
	var clients sync.WaitGroup
	clients.Go(func() {
		for jobs.Send(work, accepted) == nil {
			accepted++
		}
	})

	var done atomic.Int64
	left := 0
	err := workers.Run(work, jobs, 3, func(_ context.Context, job int) error {
		if done.Add(1) == 100 {
			signal()
		}
		return nil
	}, &workers.RunOptions[int]{OnUnprocessed: func(job int) { left++ }})
	clients.Wait() // does not hang if a job fails: Run closes the queue
	for range jobs.Drain() {
		left++ // no worker had received it
	}
	fmt.Println(err, left, "left, all counted:", accepted == int(done.Load())+left)
	// Output: <nil> 0 left, all counted: true
}
