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
	jobs := sluice.NewBounded[int](1000, nil)

	old := make(chan int) // of a producer that is not moved yet
	go func() {
		defer close(old)
		for job := range 3 {
			old <- job
		}
	}()
	go func() {
		defer jobs.Close()
		if unsent, err := bridge.FromChan(ctx, jobs, old); err != nil {
			fmt.Println(len(unsent), "unsent:", err)
		}
	}()

	out, rest := bridge.ToChan(ctx, jobs) // for a consumer that is not moved yet
	for job := range out {
		fmt.Println(job)
	}
	fmt.Println(rest())
	// Output:
	// 0
	// 1
	// 2
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
	ch := make(chan int, 8) // stays
	jobs := bridge.NewSender(ch)
	go func() {
		defer jobs.Close()
		for job := range 5 {
			if err := jobs.Send(ctx, job); err != nil {
				return // an error instead of a panic if ch is closed
			}
		}
	}()

	batches := batch.Receive(ctx, bridge.NewReceiver(ch), 2, &batch.Options[int]{Linger: time.Hour})
	for jobs := range batches.All() {
		fmt.Println(jobs)
	}
	// Output:
	// [0 1]
	// [2 3]
	// [4]
}

// A value that the channel refuses is returned with the error.
func ExampleFromChan() {
	in := make(chan int, 3)
	in <- 1
	in <- 2
	close(in)

	mailbox := sluice.NewBounded(1, &sluice.BoundedOptions[int]{Overflow: sluice.Reject})
	fmt.Println(bridge.FromChan(context.Background(), mailbox, in))
	// Output: [2] sluice: channel full
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
