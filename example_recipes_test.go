package sluice_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/fan"
)

// Many senders, one receiver. Each sender has a lane of its own. The goroutine that
// started the senders closes the channel when they have ended.
func Example_fanIn() {
	ctx := context.Background()
	lines := sluice.NewSharded[string](1000, nil)
	defer lines.Close() // if the loop ends early, senders get ErrClosed

	var sources sync.WaitGroup
	for _, name := range []string{"disk", "network", "kernel"} {
		lane := lines.Lane()
		sources.Go(func() {
			defer lane.Close()
			for n := range 3 {
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

	received := map[string][]string{}
	values := lines.Values(ctx)
	for line := range values.All() {
		name, number, _ := strings.Cut(line, " ")
		received[name] = append(received[name], number) // in order for each source
	}
	if err := values.Err(); err != nil {
		fmt.Println("not all lines were received:", err)
	}
	fmt.Println(received)
	// Output: map[disk:[0 1 2] kernel:[0 1 2] network:[0 1 2]]
}

// Two channels, each closed by its own sender, become one.
func Example_fanInChannels() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel() // if the loop ends early, fan.In ends too, and closes disk and network
	disk, network := sluice.NewBounded[string](8, nil), sluice.NewBounded[string](8, nil)
	for _, source := range []*sluice.Bounded[string]{disk, network} {
		_, _ = source.SendBatch(ctx, []string{"first line", "second line"})
		source.Close()
	}

	lines := sluice.NewBounded[string](8, nil)
	go func() {
		defer lines.Close()
		if unsent, err := fan.In(ctx, lines, disk, network); err != nil {
			fmt.Println(len(unsent), "lines were received and not sent:", err)
		}
	}()

	n := 0
	for range lines.Values(ctx).All() {
		n++
	}
	fmt.Println(n, "lines")
	// Output: 4 lines
}

// A writer that never waits, and a reader that receives the newest value and never an
// older one.
func Example_freshestValue() {
	ctx := context.Background()
	price := sluice.NewBounded(1, &sluice.BoundedOptions[int]{Overflow: sluice.DropOldest})

	for _, now := range []int{101, 99, 100} { // faster than the reader
		_ = price.Send(ctx, now) // fails only after Close
	}
	price.Close()

	for now := range price.Values(ctx).All() {
		fmt.Println("now", now)
	}
	fmt.Println("missed", price.Stats().Dropped)
	// Output:
	// now 100
	// missed 2
}

// Two jobs at once, and one per millisecond after that. The token is received first: if
// the context ends that wait, no job is lost.
func Example_rateLimit() {
	ctx := context.Background()
	const burst, each = 2, time.Millisecond
	tokens := sluice.NewBounded(burst, &sluice.BoundedOptions[struct{}]{Overflow: sluice.DropNewest})
	for range burst {
		_ = tokens.TrySend(struct{}{})
	}
	start := time.Now()
	ticker := time.NewTicker(each)
	defer ticker.Stop()
	refill, end := context.WithCancel(ctx)
	defer end()
	go func() {
		for {
			select {
			case <-ticker.C:
				_ = tokens.TrySend(struct{}{}) // dropped if there is no room
			case <-refill.Done():
				return
			}
		}
	}()

	jobs := sluice.NewElastic[int](1000, nil)
	defer jobs.Close() // if the loop ends early, senders get ErrClosed
	go func() {
		defer jobs.Close()
		_, _ = jobs.SendBatch(ctx, []int{1, 2, 3, 4, 5})
	}()
	done := 0
	for {
		if _, err := tokens.Recv(ctx); err != nil {
			break // ctx is done
		}
		if _, err := jobs.Recv(ctx); err != nil {
			break // all jobs are done, or ctx is
		}
		done++
	}
	fmt.Println(done, "jobs, not too early:", time.Since(start) >= 3*each)
	// Output: 5 jobs, not too early: true
}

// Urgent jobs are done before normal ones, but normal ones have their turns.
func Example_priority() {
	ctx := context.Background()
	jobs := sluice.NewPriority(2, 64, &sluice.PriorityOptions[string]{MaxPassed: 3})
	urgent, normal := jobs.Level(0), jobs.Level(1)
	_, _ = normal.SendBatch(ctx, []string{"sweep", "paint"})
	_, _ = urgent.SendBatch(ctx, []string{"fire", "flood", "smoke", "quake"})
	jobs.Close()

	serve := func() error {
		defer jobs.Close() // if serve ends early, senders get ErrClosed
		values := jobs.Values(ctx)
		for job := range values.All() {
			fmt.Println(job)
		}
		return values.Err()
	}
	if err := serve(); err != nil {
		fmt.Println(err)
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

	_, _ = retries.SendAfter(ctx, 20*time.Millisecond, "upload, second attempt")
	_, _ = retries.SendAfter(ctx, 10*time.Millisecond, "login, second attempt")
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
