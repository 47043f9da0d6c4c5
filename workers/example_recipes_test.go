package workers_test

import (
	"context"
	"errors"
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
	stop, signal := context.WithCancel(context.Background()) // in a real program: signal.NotifyContext
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

// Several workers, and the events of one account one at a time and in order. Events of other
// accounts run in parallel.
func ExampleRunKeyed() {
	ctx := context.Background()
	account := func(event int) int { return event % 3 }
	events := sluice.NewBounded[int](128, nil)
	go func() {
		defer events.Close()
		for event := range 12 {
			if events.Send(ctx, event) != nil {
				return // a worker failed
			}
		}
	}()

	var mu sync.Mutex
	seen := map[int][]int{}
	err := workers.RunKeyed(ctx, events, 4, account, func(_ context.Context, event int) error {
		mu.Lock()
		defer mu.Unlock()
		seen[account(event)] = append(seen[account(event)], event)
		return nil
	}, nil)
	fmt.Println(seen, err)
	// Output: map[0:[0 3 6 9] 1:[1 4 7 10] 2:[2 5 8 11]] <nil>
}

// Each job carries a channel for its result, and gets one, however the pool ends.
func Example_requestResponse() {
	type result struct {
		value int
		err   error
	}
	type request struct {
		n        int
		response chan<- result
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	requests := sluice.NewBounded[*request](64, nil)
	defer requests.Close()
	unanswered := func(r *request) { r.response <- result{err: sluice.ErrClosed} }
	go func() {
		defer func() { // also if Run panics
			for r := range requests.Drain() {
				unanswered(r)
			}
		}()
		_ = workers.Run(ctx, requests, 2, func(_ context.Context, r *request) error {
			answer := result{err: errors.New("the job panicked")}
			defer func() { r.response <- answer }() // has room: does not block on a caller that has gone away
			answer = result{value: r.n * r.n}
			return nil
		}, &workers.RunOptions[*request]{OnUnprocessed: unanswered})
	}()

	response := make(chan result, 1)
	if err := requests.Send(ctx, &request{7, response}); err != nil {
		fmt.Println("not accepted:", err)
		return
	}
	select { // now or later, or never
	case squared := <-response:
		fmt.Println(squared.value, squared.err)
	case <-ctx.Done():
		fmt.Println("no response in time:", ctx.Err())
	}
	// Output: 49 <nil>
}
