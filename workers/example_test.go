package workers_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/source"
	"github.com/sluice-go/sluice/workers"
)

// A pipeline whose queue is bounded in bytes. A loop that ends early ends everything before it.
func Example() {
	ctx := context.Background()
	lines := sluice.NewElastic(sluice.Unlimited, &sluice.ElasticOptions[[]byte]{
		MaxBytes: 64 << 20, // while 64 MiB wait, the reader waits
	})
	var reader sync.WaitGroup
	reader.Go(func() {
		for n := 0; lines.Send(ctx, fmt.Append(nil, n)) == nil; n++ {
		}
	})

	parse := func(_ context.Context, line []byte) (int, error) {
		return strconv.Atoi(string(line))
	}
	numbers := workers.Map(ctx, lines, 4, parse, &workers.MapOptions[[]byte]{Ordered: true})
	for n := range numbers.All() {
		if fmt.Println(n); n == 2 {
			break // ends the workers and the reader: its next Send fails
		}
	}
	reader.Wait() // returns: no goroutine is left behind
	// Output:
	// 0
	// 1
	// 2
}

// Three workers add up the values of a producer. Each worker receives several values at
// once, as the jobs are short.
func ExampleRun() {
	ctx := context.Background()
	jobs := sluice.NewBounded[int](128, nil)
	go func() {
		defer jobs.Close()
		for job := range 1000 {
			if err := jobs.Send(ctx, job); err != nil {
				return // a worker failed: Run has closed the channel
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

// The first error ends the workers. Jobs that they had received and not started are
// reported. The others are still in the channel.
func ExampleRun_unprocessed() {
	ctx := context.Background()
	jobs := sluice.NewElastic[int](sluice.Unlimited, nil)
	for job := range 1000 {
		_ = jobs.TrySend(job)
	}
	jobs.Close()

	var done atomic.Int64
	unprocessed := 0
	err := workers.Run(ctx, jobs, 3, func(_ context.Context, job int) error {
		done.Add(1)
		if job == 500 {
			return errors.New("the disk is full")
		}
		return nil
	}, &workers.RunOptions[int]{
		OnUnprocessed: func(job int) { unprocessed++ },
	})
	fmt.Println(err)
	fmt.Println(int(done.Load()) + unprocessed + jobs.Len())
	// Output:
	// the disk is full
	// 1000
}

// The results have the order of the jobs, whichever worker finishes first. The error of
// a job is reported when its turn comes.
func ExampleMap() {
	ctx := context.Background()
	words := source.Slice([]string{"12", "7", "x", "30"})

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

// A job that must not end the program recovers itself: it knows which job it was.
func ExampleMap_panic() {
	pages := workers.Map(context.Background(), source.Slice([]string{"/", "/about", "/%"}), 2,
		func(_ context.Context, path string) (page string, err error) {
			defer func() {
				if p := recover(); p != nil {
					err = fmt.Errorf("%s: panic: %v", path, p) // with debug.Stack() for the log
				}
			}()
			if strings.Contains(path, "%") {
				panic("invalid escape")
			}
			return "page of " + path, nil
		}, &workers.MapOptions[string]{Ordered: true})
	for page := range pages.All() {
		fmt.Println(page)
	}
	fmt.Println(pages.Err())
	// Output:
	// page of /
	// page of /about
	// /%: panic: invalid escape
}

// A loop that has found its result leaves. Then no worker is running, and the channel of
// the jobs is closed.
func ExampleResults_All() {
	ctx := context.Background()
	numbers := sluice.NewElastic[int](sluice.Unlimited, nil)
	for n := range 1000 {
		_ = numbers.TrySend(n)
	}

	square := func(_ context.Context, n int) (int, error) { return n * n, nil }
	squares := workers.Map(ctx, numbers, 3, square, &workers.MapOptions[int]{Ordered: true})
	for s := range squares.All() {
		if s > 10 {
			fmt.Println(s)
			break
		}
	}
	fmt.Println(squares.Err(), numbers.TrySend(1000))
	// Output:
	// 16
	// <nil> sluice: channel closed
}

// Results can be received by several goroutines, like the values of a channel.
func ExampleResults_Recv() {
	ctx := context.Background()
	numbers := sluice.NewElastic[int](sluice.Unlimited, nil)
	for n := range 4 {
		_ = numbers.TrySend(n)
	}
	numbers.Close()

	square := func(_ context.Context, n int) (int, error) { return n * n, nil }
	squares := workers.Map(ctx, numbers, 2, square, &workers.MapOptions[int]{Ordered: true})
	defer squares.Close() // does nothing after the last result
	for {
		s, err := squares.Recv(ctx)
		if err != nil {
			fmt.Println(err)
			break
		}
		fmt.Println(s)
	}
	// Output:
	// 0
	// 1
	// 4
	// 9
	// sluice: channel closed
}

// The results of one stage are the jobs of the next. Values start to move when Run
// begins.
func ExampleResults_stages() {
	ctx := context.Background()
	words := source.Slice([]string{"12", "7", "30"})
	parse := func(_ context.Context, word string) (int, error) { return strconv.Atoi(word) }
	numbers := workers.Map(ctx, words, 3, parse, nil)
	var sum atomic.Int64
	err := workers.Run(ctx, numbers, 2, func(_ context.Context, n int) error {
		sum.Add(int64(n))
		return nil
	}, nil)
	fmt.Println(sum.Load(), err)
	// Output: 49 <nil>
}

// Run, and a loop over results of Map, repeat a panic of a job in the goroutine of the caller, with
// the stack of the job. Here, the caller makes an error of it.
func ExamplePanicError() {
	lengths := func(paths []string) (sum int, err error) {
		defer func() {
			switch p := recover().(type) {
			case nil:
			case *workers.PanicError:
				err = fmt.Errorf("a job panicked: %v", p.Value) // p.Stack for the log
			default:
				panic(p)
			}
		}()
		results := workers.Map(context.Background(), source.Slice(paths), 2, func(_ context.Context, path string) (int, error) {
			return len(path[1:]), nil
		}, nil)
		for n := range results.All() {
			sum += n
		}
		return sum, results.Err()
	}
	fmt.Println(lengths([]string{"/", "/about"}))
	fmt.Println(lengths([]string{"", ""}))
	// Output:
	// 5 <nil>
	// 0 a job panicked: runtime error: slice bounds out of range [1:0]
}
