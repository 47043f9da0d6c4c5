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

// A stop closes the queue: senders are told, and what was accepted is done. Only
// when that takes too long the work is cut off, and what is left is counted.
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
	clients.Wait()
	for _, none := jobs.TryRecv(); none == nil; _, none = jobs.TryRecv() {
		left++ // nobody had taken it
	}
	fmt.Println(err, left, "left, all counted:", accepted == int(done.Load())+left)
	// Output: <nil> 0 left, all counted: true
}
