package sluice_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/batch"
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
	pages := source.Slice([]string{"a b", "c", "d e f"})
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
	_, _ = words.Recv(ctx) // skips a value
	fmt.Println(slices.Collect(words.Drain()))
	// Output: [b c d e f]
}

// Each job has a time limit of its own.
func Example_timeLimits() {
	jobs := source.Slice([]time.Duration{time.Hour})
	err := workers.Run(context.Background(), jobs, 1, func(ctx context.Context, job time.Duration) error {
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

// Rows are inserted three at a time. No row waits longer than 50 ms for others. The
// first insert that fails ends the loop.
func Example_databaseBatches() {
	ctx := context.Background()
	insert := func(_ context.Context, rows []string) error { _, err := fmt.Println("insert", rows); return err }
	rows := sluice.NewElastic[string](1_000_000, nil)
	_, _ = rows.SendBatch(ctx, []string{"a", "b", "c", "d", "e"})
	rows.Close()

	write := func() error {
		batches := batch.Receive(ctx, rows, 3, &batch.Options[string]{Linger: 50 * time.Millisecond})
		for rows := range batches.All() { // the slice is reused: copy values that you keep
			if err := insert(ctx, rows); err != nil {
				return err // leaving the loop closes the channel: senders get ErrClosed
			}
		}
		return batches.Err()
	}
	if err := write(); err != nil {
		fmt.Println(err, "and still queued:", slices.Collect(rows.Drain()))
	}
	// Output:
	// insert [a b c]
	// insert [d e]
}

// While the server is away, files wait. Each file that will not be uploaded is deleted.
func ExampleNewAged() {
	ctx := context.Background()
	uploads := sluice.NewAged(2, &sluice.AgedOptions[string]{
		MaxAge:     time.Hour,         // older files are of no use
		StaleAfter: time.Minute,       // after an outage, new files first
		Overflow:   sluice.DropOldest, // beyond two
		OnUndelivered: func(file string, why sluice.Reason) {
			fmt.Println("delete", file, why)
		},
	})
	for _, file := range []string{"a", "b", "c", "d"} {
		_ = uploads.Send(ctx, file) // fails only after Close
	}

	upload := func() {
		defer uploads.Discard() // if it ends early
		if file, err := uploads.Recv(ctx); err == nil {
			fmt.Println("upload", file, "fails")
			return
		}
	}
	upload()
	// Output:
	// delete a Overflowed
	// delete b Overflowed
	// upload c fails
	// delete d Discarded
}

// A full queue rejects requests at once, while the caller can still try something else.
func Example_shedLoad() {
	ctx := context.Background()
	requests := sluice.NewBounded(2, &sluice.BoundedOptions[string]{Overflow: sluice.Reject})
	accept := func(request string) int {
		switch err := requests.Send(ctx, request); {
		case errors.Is(err, sluice.ErrFull):
			return 503 // busy: try again later
		case err != nil:
			return 500 // closed
		}
		return 202
	}
	for _, request := range []string{"a", "b", "c"} {
		fmt.Println(request, accept(request))
	}
	// Output:
	// a 202
	// b 202
	// c 503
}

// Urgent jobs are done before normal ones, but normal ones have their turns.
func Example_priority() {
	ctx := context.Background()
	jobs := sluice.NewPriority(2, 64, &sluice.PriorityOptions[string]{MaxPassed: 3})
	urgent, normal := jobs.Level(0), jobs.Level(1)
	_, _ = normal.SendBatch(ctx, []string{"sweep", "paint"})
	_, _ = urgent.SendBatch(ctx, []string{"fire", "flood", "smoke", "quake"})
	jobs.Close()

	for job := range jobs.Values(ctx).All() {
		fmt.Println(job)
	}
	// Output:
	// fire
	// flood
	// smoke
	// sweep
	// quake
	// paint
}

// Jobs are tried again after a while. Close keeps what is not due yet.
func Example_retries() {
	ctx := context.Background()
	retries := sluice.NewDelay[string](64, nil)
	defer retries.Close() // if the loop ends early, senders get ErrClosed

	now := time.Now()
	_, _ = retries.SendAt(ctx, now.Add(20*time.Millisecond), "upload, second attempt")
	_, _ = retries.SendAt(ctx, now.Add(10*time.Millisecond), "login, second attempt")
	unwanted, _ := retries.SendAfter(ctx, time.Hour, "report")
	if job, ok := unwanted.Cancel(); ok {
		fmt.Println("canceled:", job)
	}
	retries.Close() // what is not due yet stays, and the loop waits for it

	values := retries.Values(ctx)
	for job := range values.All() {
		fmt.Println(job)
	}
	fmt.Println(values.Err())
	// Output:
	// canceled: report
	// login, second attempt
	// upload, second attempt
	// <nil>
}

// Many senders, one receiver. Each sender has a lane of its own. The goroutine that
// started the senders closes the channel when they have ended.
func Example_fanIn() {
	ctx := context.Background()
	lines := sluice.NewSharded[string](1000, nil)
	defer lines.Close() // if the loop ends early, senders get ErrClosed

	var sources sync.WaitGroup
	for _, name := range []string{"disk", "kernel"} {
		lane := lines.Lane()
		sources.Go(func() {
			defer lane.Close()
			for n := range 2 {
				if err := lane.Send(ctx, fmt.Sprint(name, " ", n)); err != nil {
					return // closed, or ctx is done: the line was not sent
				}
			}
		})
	}
	go func() {
		sources.Wait()
		lines.Close()
	}()

	values := lines.Values(ctx)
	fmt.Println(slices.Sorted(values.All()), values.Err()) // received in order for each lane
	// Output: [disk 0 disk 1 kernel 0 kernel 1] <nil>
}

// One job starts per millisecond, however many workers there are.
func Example_rateLimit() {
	start := time.Now()
	const each = time.Millisecond
	ticker := time.NewTicker(each)
	defer ticker.Stop()
	err := workers.Run(context.Background(), source.Slice([]string{"a", "b", "c"}), 4, func(ctx context.Context, job string) error {
		select {
		case <-ticker.C:
			return nil // the work
		case <-ctx.Done():
			return ctx.Err() // the context ended, or another job failed
		}
	}, nil)
	fmt.Println(err, "not too early:", time.Since(start) >= 3*each)
	// Output: <nil> not too early: true
}
