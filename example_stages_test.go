package sluice_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/source"
	"github.com/sluice-go/sluice/workers"
)

// A sender that fails leaves its error behind, and then closes the channel.
func Example_closeWithCause() {
	ctx := context.Background()
	lines := sluice.NewBounded[string](8, nil)
	var cause error // written before Close, read after the loop
	go func() {
		defer lines.Close()
		_ = lines.Send(ctx, "the first line")
		cause = errors.New("the disk failed")
	}()

	values := lines.Values(ctx)
	for line := range values.All() {
		fmt.Println(line)
	}
	fmt.Println(cmp.Or(values.Err(), cause))
	// Output:
	// the first line
	// the disk failed
}

// Each job sends any number of results, in one batch.
func Example_flatMap() {
	ctx := context.Background()
	pages := source.Slice([]string{"a b", "c", "d e f"})
	words := sluice.NewBounded[string](64, nil)
	var cause error
	go func() {
		defer words.Close()
		cause = workers.Run(ctx, pages, 4, func(ctx context.Context, page string) error {
			_, err := words.SendBatch(ctx, strings.Fields(page))
			return err
		}, nil)
	}()

	values := words.Values(ctx)
	defer words.Close() // if the loop ends early, so do the workers
	fmt.Println(slices.Sorted(values.All()), cmp.Or(values.Err(), cause))
	// Output: [a b c d e f] <nil>
}

// The lists of one stage are single values for the next one, in order.
func Example_unbatch() {
	ctx := context.Background()
	fields := func(_ context.Context, page string) ([]string, error) { return strings.Fields(page), nil }
	pages := source.Slice([]string{"word", "a b", "c", "d e f"})
	lists := workers.Map(ctx, pages, 4, fields, &workers.MapOptions[string]{Ordered: true})

	words := source.Seq2(func(yield func(string, error) bool) {
		for list := range lists.All() {
			for _, word := range list {
				if !yield(word, nil) {
					return // closes lists, and with them pages
				}
			}
		}
		if err := lists.Err(); err != nil {
			yield("", err)
		}
	})
	for range 1 { // skip the heading; RecvBatch skips many at once
		if _, err := words.Recv(ctx); err != nil {
			break // there are no more: the next stage gets the same error
		}
	}
	fmt.Println(slices.Collect(words.Drain()))
	// Output: [a b c d e f]
}

// Each job has a time limit of its own, and so has its way into the queue.
func Example_timeLimits() {
	jobs := sluice.NewBounded[time.Duration](1, nil)
	submit := func(job time.Duration) error {
		ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
		defer cancel()
		return jobs.Send(ctx, job)
	}
	fmt.Println(submit(time.Hour))
	fmt.Println(submit(time.Hour)) // no room: it is not accepted, and will not run
	jobs.Close()

	err := workers.Run(context.Background(), jobs, 4, func(ctx context.Context, job time.Duration) error {
		ctx, cancel := context.WithTimeout(ctx, time.Millisecond)
		defer cancel()
		select {
		case <-time.After(job):
		case <-ctx.Done():
			fmt.Println("the job took too long") // an error returned here would end the pool
		}
		return nil
	}, nil)
	fmt.Println(err)
	// Output:
	// <nil>
	// context deadline exceeded
	// the job took too long
	// <nil>
}

// A window of fixed length yields what has come, and an empty batch if that is nothing.
func Example_windows() {
	events := sluice.NewBounded[int](1000, nil)
	_, _ = events.SendBatch(context.Background(), []int{1, 2, 3})

	buf := make([]int, 1000)
	window := time.NewTicker(time.Millisecond)
	defer window.Stop()
	for range 2 {
		<-window.C // or any other trigger
		n, err := events.TryRecvBatch(buf)
		if err != nil && err != sluice.ErrEmpty {
			break // closed and drained
		}
		fmt.Println(buf[:n])
	}
	// Output:
	// [1 2 3]
	// []
}
