package workers_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync/atomic"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/workers"
)

// Three workers add up what a producer sends. How many values a worker takes at
// once is its own affair.
func ExampleRun() {
	ctx := context.Background()
	jobs := sluice.NewBounded[int](128, nil)
	go func() {
		defer jobs.Close()
		for job := range 1000 {
			if err := jobs.Send(ctx, job); err != nil {
				return
			}
		}
	}()

	var total atomic.Int64
	err := workers.Run(ctx, jobs, 3, func(_ context.Context, job int) error {
		total.Add(int64(job))
		return nil
	}, nil)
	fmt.Println(total.Load(), err)
	// Output: 499500 <nil>
}

// The first error ends the workers. What they had taken and not begun is handed
// back, and what they had not taken is still in the channel.
func ExampleRun_unprocessed() {
	ctx := context.Background()
	jobs := sluice.NewElastic[int](sluice.Unlimited, nil)
	for job := range 1000 {
		_ = jobs.TrySend(job)
	}
	jobs.Close()

	var done atomic.Int64
	undone := 0
	err := workers.Run(ctx, jobs, 3, func(_ context.Context, job int) error {
		done.Add(1)
		if job == 500 {
			return errors.New("the disk is full")
		}
		return nil
	}, &workers.RunOptions[int]{
		OnUnprocessed: func(job int) { undone++ },
	})
	fmt.Println(err)
	fmt.Println(int(done.Load()) + undone + jobs.Len())
	// Output:
	// the disk is full
	// 1000
}

// The results come in the order of the jobs, whichever worker is first. The error
// of a job counts when its turn has come.
func ExampleMap() {
	ctx := context.Background()
	words := sluice.NewBounded[string](8, nil)
	for _, word := range []string{"12", "7", "x", "30"} {
		_ = words.TrySend(word)
	}
	words.Close()

	parse := func(_ context.Context, word string) (int, error) { return strconv.Atoi(word) }
	numbers := workers.Map(ctx, words, 3, parse, &workers.MapOptions[string]{Ordered: true})
	for n := range numbers.All() {
		fmt.Println(n)
	}
	fmt.Println(numbers.Err())
	// Output:
	// 12
	// 7
	// strconv.Atoi: parsing "x": invalid syntax
}

// A loop that has what it wants leaves: the workers have ended when it has.
func ExampleResults_All() {
	ctx := context.Background()
	numbers := sluice.NewElastic[int](sluice.Unlimited, nil)
	for n := range 1000 {
		_ = numbers.TrySend(n)
	}

	half := func(_ context.Context, n int) (float64, error) { return float64(n) / 2, nil }
	halves := workers.Map(ctx, numbers, 3, half, &workers.MapOptions[int]{Ordered: true})
	for h := range halves.All() {
		if h > 1 {
			fmt.Println(h)
			break
		}
	}
	fmt.Println(halves.Err())
	// Output:
	// 1.5
	// <nil>
}

// A panic of f comes out of Workers, with the stack at which it happened.
func ExamplePanicError() {
	defer func() {
		var p *workers.PanicError
		if err, _ := recover().(error); errors.As(err, &p) {
			fmt.Println(p.Value, len(p.Stack) > 0)
		}
	}()
	jobs := sluice.NewBounded[int](1, nil)
	_ = jobs.TrySend(0)
	_ = workers.Run(context.Background(), jobs, 2, func(_ context.Context, job int) error {
		panic("no such job")
	}, nil)
	// Output: no such job true
}
