package sluice_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sluice-go/sluice"
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
	for line := range lines.Values(ctx).All() {
		name, number, _ := strings.Cut(line, " ")
		received[name] = append(received[name], number) // in order for each source
	}
	fmt.Println(received)
	// Output: map[disk:[0 1 2] kernel:[0 1 2] network:[0 1 2]]
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
	_, _ = jobs.SendBatch(ctx, []int{1, 2, 3, 4, 5})
	jobs.Close()
	done := 0
	for {
		if _, err := tokens.Recv(ctx); err != nil {
			break
		}
		if _, err := jobs.Recv(ctx); err != nil {
			break
		}
		done++
	}
	fmt.Println(done, "jobs, not too early:", time.Since(start) >= 3*each)
	// Output: 5 jobs, not too early: true
}

// Urgent jobs are done before normal ones. If there are no urgent jobs, the first job to
// arrive is done.
func Example_priority() {
	ctx := context.Background()
	urgent, normal := sluice.NewBounded[string](8, nil), sluice.NewBounded[string](8, nil)
	_, _ = normal.SendBatch(ctx, []string{"sweep", "paint"})
	_, _ = urgent.SendBatch(ctx, []string{"fire", "flood"})
	urgent.Close()
	normal.Close()

	open := []sluice.Case{sluice.OnRecv[string](urgent), sluice.OnRecv[string](normal)}
	for len(open) > 0 {
		job, err := urgent.TryRecv()
		if err != nil { // nothing urgent now
			chosen, err := sluice.Select(ctx, open...)
			if chosen == nil {
				break // ctx is done
			}
			if errors.Is(err, sluice.ErrClosed) {
				open = slices.DeleteFunc(open, func(c sluice.Case) bool { return c == chosen })
				continue
			}
			job = chosen.(*sluice.RecvCase[string]).Value
		}
		fmt.Println(job)
	}
	// Output:
	// fire
	// flood
	// sweep
	// paint
}
