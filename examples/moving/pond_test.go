package moving

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/workers"
)

// Submitting tasks to a pool with limited concurrency: a thousand tasks, at most 100 at a
// time.
func Example_pondLimited() {
	ctx := context.Background()
	var done atomic.Int64
	tasks := sluice.NewElastic[int](sluice.Unlimited, nil)
	for i := range 1000 {
		_ = tasks.Send(ctx, i)
	}
	tasks.Close()
	err := workers.Run(ctx, tasks, 100, func(_ context.Context, i int) error {
		done.Add(1)
		return nil
	}, nil)
	fmt.Println(done.Load(), "tasks, error:", err)
	// Output: 1000 tasks, error: <nil>
}

// Submitting tasks that return errors: the caller waits for the error of one task.
func Example_pondTaskError() {
	ctx := context.Background()
	pool := sluice.NewElastic[func(context.Context) error](sluice.Unlimited, nil)
	defer pool.Close()
	go workers.Run(ctx, pool, 100, runTask, nil)

	failed := make(chan error, 1)
	_ = pool.Send(ctx, func(context.Context) error {
		failed <- errors.New("no such file")
		return nil // an error would end the pool
	})
	fmt.Println("error:", <-failed)
	// Output: error: no such file
}

// runTask runs a task of a pool of functions.
func runTask(ctx context.Context, task func(context.Context) error) error { return task(ctx) }

// Submitting tasks that return results: the caller waits for the result of one task.
func Example_pondTaskResult() {
	ctx := context.Background()
	pool := sluice.NewElastic[func(context.Context) error](sluice.Unlimited, nil)
	defer pool.Close()
	go workers.Run(ctx, pool, 10, runTask, nil)

	result := make(chan string, 1)
	_ = pool.Send(ctx, func(context.Context) error {
		result <- "hello"
		return nil
	})
	fmt.Println(<-result)
	// Output: hello
}

// Submitting tasks that return results or errors.
func Example_pondTaskResultOrError() {
	ctx := context.Background()
	pool := sluice.NewElastic[func(context.Context) error](sluice.Unlimited, nil)
	defer pool.Close()
	go workers.Run(ctx, pool, 10, runTask, nil)

	var result string
	ended := make(chan error, 1)
	_ = pool.Send(ctx, func(context.Context) (err error) {
		result, err = "hello", nil
		ended <- err
		return nil
	})
	err := <-ended
	fmt.Println(result, err)
	// Output: hello <nil>
}

// Submitting tasks associated with a context: the context that Run gives to a task ends
// with the pool, and a task may have another one.
func Example_pondTaskContext() {
	ctx, cancel := context.WithCancel(context.Background())
	pool := sluice.NewElastic[func(context.Context) error](sluice.Unlimited, nil)
	defer pool.Close()
	go workers.Run(context.Background(), pool, 10, runTask, nil)

	ended := make(chan error, 1)
	_ = pool.Send(ctx, func(context.Context) error {
		<-ctx.Done()
		ended <- ctx.Err()
		return nil
	})
	cancel()
	fmt.Println("error:", <-ended)
	// Output: error: context canceled
}

// Using a custom context at the pool level: when it ends, no task is started, and the
// tasks that were queued are still in the channel.
func Example_pondPoolContext() {
	ctx, cancel := context.WithCancel(context.Background())
	tasks := sluice.NewElastic[int](sluice.Unlimited, nil)
	for i := range 5 {
		_ = tasks.Send(ctx, i)
	}
	cancel()
	err := workers.Run(ctx, tasks, 10, func(context.Context, int) error { return nil }, nil)
	fmt.Println(err, "and", tasks.Len(), "tasks left; another one:", tasks.Send(ctx, 5))
	// Output: context canceled and 5 tasks left; another one: sluice: channel closed
}

// Stopping a pool, in two steps: no more tasks, and wait for those that were accepted.
func Example_pondStop() {
	ctx := context.Background()
	pool := sluice.NewBounded[func(context.Context) error](10, nil)
	ended := make(chan error)
	go func() { ended <- workers.Run(ctx, pool, 10, runTask, nil) }()
	_ = pool.Send(ctx, func(context.Context) error {
		fmt.Println("running a task")
		return nil
	})
	pool.Close()
	fmt.Println("error:", <-ended)
	// Output:
	// running a task
	// error: <nil>
}

// Stopping a pool, in one step: Run returns when the channel is closed and drained.
func Example_pondStopAndWait() {
	ctx := context.Background()
	pool := sluice.NewBounded[func(context.Context) error](10, nil)
	_ = pool.Send(ctx, func(context.Context) error {
		fmt.Println("running a task")
		return nil
	})
	pool.Close()
	fmt.Println("error:", workers.Run(ctx, pool, 10, runTask, nil))
	// Output:
	// running a task
	// error: <nil>
}

// Recovering from panics: Run repeats the panic of a task in its caller, who may turn it
// into an error.
func Example_pondPanic() {
	ctx := context.Background()
	pool := sluice.NewBounded[func(context.Context) error](1, nil)
	run := func() (err error) {
		defer func() {
			if p, ok := recover().(*workers.PanicError); ok {
				err = fmt.Errorf("the task failed: %v", p.Value)
			}
		}()
		return workers.Run(ctx, pool, 10, runTask, nil)
	}
	_ = pool.Send(ctx, func(context.Context) error { panic("no such index") })
	fmt.Println(run())
	// Output: the task failed: no such index
}

// A bounded queue: submitting waits while ten tasks are queued.
func Example_pondBounded() {
	ctx := context.Background()
	tasks := sluice.NewBounded[int](10, nil)
	go func() {
		defer tasks.Close()
		for i := range 100 {
			_ = tasks.Send(ctx, i)
		}
	}()
	var done atomic.Int64
	err := workers.Run(ctx, tasks, 1, func(context.Context, int) error { done.Add(1); return nil }, nil)
	fmt.Println(done.Load(), "tasks, error:", err)
	// Output: 100 tasks, error: <nil>
}

// A bounded queue, one submission that does not wait.
func Example_pondTrySubmit() {
	tasks := sluice.NewBounded[int](10, nil)
	for i := range 11 {
		if err := tasks.TrySend(i); errors.Is(err, sluice.ErrFull) {
			fmt.Println("task", i, "was not submitted: the queue is full")
		}
	}
	// Output: task 10 was not submitted: the queue is full
}

// A bounded queue, in which no submission waits.
func Example_pondNonBlocking() {
	tasks := sluice.NewBounded(10, &sluice.BoundedOptions[int]{Overflow: sluice.Reject})
	for i := range 11 {
		if err := tasks.Send(context.Background(), i); err != nil {
			fmt.Println("task", i, "was not submitted:", err)
		}
	}
	// Output: task 10 was not submitted: sluice: channel full
}

// An unbounded queue.
func Example_pondUnbounded() {
	tasks := sluice.NewElastic[int](sluice.Unlimited, nil)
	for i := range 100_000 {
		_ = tasks.Send(context.Background(), i)
	}
	fmt.Println(tasks.Len())
	// Output: 100000
}

// No queue at all: a task starts at once, or is refused.
func Example_pondNoQueue() {
	ctx := context.Background()
	tasks, started, finish := sluice.NewRendezvous[int](nil), make(chan int), make(chan int)
	ended := make(chan error)
	go func() {
		ended <- workers.Run(ctx, tasks, 1, func(_ context.Context, i int) error {
			started <- i
			<-finish
			return nil
		}, nil)
	}()
	_ = tasks.Send(ctx, 1) // waits until the worker is there
	<-started
	if err := tasks.TrySend(2); err != nil {
		fmt.Println("the worker is busy:", err)
	}
	close(finish)
	tasks.Close()
	fmt.Println("error:", <-ended)
	// Output:
	// the worker is busy: sluice: channel full
	// error: <nil>
}
