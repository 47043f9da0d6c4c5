package bridge_test

import (
	"context"
	"fmt"
	"runtime"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/batch"
	"github.com/sluice-go/sluice/bridge"
)

// The middle of a pipeline uses package sluice; its neighbors still use built-in
// channels.
func Example() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	lines := sluice.NewBounded[string](1000, nil)

	old := make(chan string) // of a producer that is not moved yet
	go func() {
		defer close(old)
		for n := range 3 {
			old <- fmt.Sprint("line ", n)
		}
	}()
	go func() {
		defer lines.Close()
		if unsent, err := bridge.FromChan(ctx, lines, old); err != nil {
			fmt.Println(len(unsent), "unsent:", err)
		}
	}()

	out, rest := bridge.ToChan(ctx, lines) // for a consumer that is not moved yet
	for line := range out {
		fmt.Println(line)
	}
	fmt.Println(rest())
	// Output:
	// line 0
	// line 1
	// line 2
	// [] <nil>
}

// Senders of a built-in channel that stays get a context in each wait, and an error instead of
// a panic when it is closed.
func ExampleNewSender() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
	defer cancel()
	ch := make(chan string, 1) // stays
	lines := bridge.NewSender(ch)
	fmt.Println(lines.Send(ctx, "a"))
	fmt.Println(lines.Send(ctx, "b")) // full, and nobody receives

	close(ch)
	fmt.Println(lines.TrySend("c"))
	// Output:
	// <nil>
	// context deadline exceeded
	// sluice: channel closed
}

// A built-in channel that stays is received from in batches.
func ExampleNewReceiver() {
	ctx := context.Background()
	ch := make(chan string, 8) // stays
	lines := bridge.NewSender(ch)
	go func() {
		defer lines.Close()
		for n := range 5 {
			if err := lines.Send(ctx, fmt.Sprint("line ", n)); err != nil {
				return // an error instead of a panic if ch is closed
			}
		}
	}()

	batches := batch.Receive(ctx, bridge.NewReceiver(ch), 2, &batch.Options[string]{Linger: time.Hour})
	for lines := range batches.All() {
		fmt.Println(lines)
	}
	// Output:
	// [line 0 line 1]
	// [line 2 line 3]
	// [line 4]
}

// A value that the channel refuses is returned with the error.
func ExampleFromChan() {
	in := make(chan string, 3)
	in <- "a"
	in <- "b"
	close(in)

	mailbox := sluice.NewBounded(1, &sluice.BoundedOptions[string]{Overflow: sluice.Reject})
	fmt.Println(bridge.FromChan(context.Background(), mailbox, in))
	// Output: [b] sluice: channel full
}

// A select over built-in channels receives from a channel of package sluice. Its context
// ends the stream, and rest returns the value that was on its way.
func ExampleToChan() {
	ctx, cancel := context.WithCancel(context.Background())
	jobs := sluice.NewBounded[int](10, nil)
	_, _ = jobs.SendBatch(ctx, []int{1, 2, 3})

	values, rest := bridge.ToChan(ctx, jobs)
	select {
	case job := <-values:
		fmt.Println("job", job)
	case <-time.After(time.Minute):
		fmt.Println("no job for a minute")
	}
	for jobs.Len() > 1 { // 2 is on its way
		runtime.Gosched()
	}
	cancel()
	fmt.Println(rest())
	fmt.Println(jobs.TrySend(4))
	// Output:
	// job 1
	// [2] context canceled
	// sluice: channel closed
}

// A Pipe provides built-in channels to code that needs them.
func ExampleNewPipe() {
	pipe := bridge.NewPipe(sluice.NewElastic[int](sluice.Unlimited, nil))
	go func() {
		for n := range 3 {
			pipe.In <- n // does not wait for the reader
		}
		close(pipe.In)
	}()
	for n := range pipe.Out {
		fmt.Println(n)
	}
	// Output:
	// 0
	// 1
	// 2
}
