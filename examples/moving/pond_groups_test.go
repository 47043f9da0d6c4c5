package moving

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/semaphore"
	"github.com/sluice-go/sluice/source"
	"github.com/sluice-go/sluice/workers"
)

// Submitting a group of related tasks: a group is a call of Run.
func Example_pondGroup() {
	ctx := context.Background()
	var done atomic.Int64
	err := workers.Run(ctx, source.Slice(make([]int, 20)), 10, func(context.Context, int) error {
		done.Add(1)
		return nil
	}, nil)
	fmt.Println(done.Load(), "tasks, error:", err)
	// Output: 20 tasks, error: <nil>
}

// A group of related tasks associated with a context.
func Example_pondGroupContext() {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Millisecond)
	defer cancel()
	err := workers.Run(ctx, source.Seq(forever), 10, func(ctx context.Context, i int) error {
		<-ctx.Done() // a task that takes longer
		return nil
	}, nil)
	fmt.Println("error:", err)
	// Output: error: context deadline exceeded
}

// forever yields numbers without an end.
func forever(yield func(int) bool) {
	for i := 0; yield(i); i++ {
	}
}

// A group of related tasks, until the first error.
func Example_pondGroupError() {
	ctx := context.Background()
	err := workers.Run(ctx, source.Seq(forever), 10, func(_ context.Context, i int) error {
		if i == 7 {
			return errors.New("task 7 failed")
		}
		return nil
	}, nil)
	fmt.Println("error:", err)
	// Output: error: task 7 failed
}

// Canceling tasks immediately: the context of the other tasks ends with the first error,
// and Run returns when they have.
func Example_pondGroupCancel() {
	err := workers.Run(context.Background(), source.Slice([]int{0, 1, 2}), 3, func(ctx context.Context, i int) error {
		if i == 2 {
			return errors.New("task 2 failed")
		}
		<-ctx.Done()
		return nil
	}, nil)
	fmt.Println("error:", err)
	// Output: error: task 2 failed
}

// A group of related tasks that return results, in the order of submission.
func Example_pondGroupResults() {
	ctx := context.Background()
	names := workers.Map(ctx, source.Slice([]int{0, 1, 2, 3}), 10, func(_ context.Context, i int) (string, error) {
		return fmt.Sprint("task ", i), nil
	}, &workers.MapOptions[int]{Ordered: true})
	results := slices.Collect(names.All())
	fmt.Printf("%q %v\n", results, names.Err())
	// Output: ["task 0" "task 1" "task 2" "task 3"] <nil>
}

// Stopping a group of tasks when a context is canceled: the context reaches the tasks
// without further ado.
func Example_pondGroupStop() {
	ctx, cancel := context.WithCancel(context.Background())
	err := workers.Run(ctx, source.Seq(forever), 10, func(ctx context.Context, i int) error {
		if i == 9 {
			cancel()
		}
		<-ctx.Done()
		return ctx.Err()
	}, nil)
	fmt.Println("error:", err)
	// Output: error: context canceled
}

// The default pool: one task in a goroutine needs no library.
func Example_pondDefault() {
	failed := make(chan error, 1)
	go func() {
		fmt.Println("running a task")
		failed <- nil
	}()
	fmt.Println("error:", <-failed)
	// Output:
	// running a task
	// error: <nil>
}

// Subpools: tasks of the subpool take a permit of both, and so leave the pool at least
// five.
func Example_pondSubpool() {
	ctx := context.Background()
	pool, subpool := semaphore.New(10, nil), semaphore.New(5, nil)
	var tasks sync.WaitGroup
	if subpool.Acquire(ctx, 1) == nil && pool.Acquire(ctx, 1) == nil {
		tasks.Go(func() {
			defer subpool.Release(1)
			defer pool.Release(1)
			fmt.Println("running a task of the subpool")
		})
	}
	tasks.Wait()
	// Output: running a task of the subpool
}

// Resizing pools: a Limit sets how many of ten workers work.
func Example_pondResize() {
	ctx := context.Background()
	var done atomic.Int64
	task := func(context.Context) error { done.Add(1); return nil }
	size := workers.NewLimit(5)
	pool := sluice.NewElastic[func(context.Context) error](sluice.Unlimited, nil)
	ended := make(chan error)
	go func() {
		ended <- workers.Run(ctx, pool, 10, runTask, &workers.RunOptions[func(context.Context) error]{Limit: size})
	}()
	for range 20 {
		_ = pool.Send(ctx, task)
	}
	size.Set(10)
	for range 20 {
		_ = pool.Send(ctx, task)
	}
	size.Set(5)
	pool.Close()
	fmt.Println("error:", <-ended)
	fmt.Println(done.Load(), "tasks")
	// Output:
	// error: <nil>
	// 40 tasks
}
