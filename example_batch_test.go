package sluice_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sluice-go/sluice"
)

// Lines that come one by one are written in batches: of at most three here, and no
// line waits longer than 50 ms for others.
func ExampleBatches() {
	ctx := context.Background()
	lines := sluice.NewElastic[string](1_000_000, nil)
	for _, line := range []string{"a", "b", "c", "d", "e"} {
		_ = lines.TrySend(line)
	}
	lines.Close()

	for batch := range sluice.Batches(ctx, lines, 3, 50*time.Millisecond) {
		fmt.Println("insert", batch) // batch is used again: copy what should stay
	}
	if ctx.Err() == nil {
		fmt.Println("closed, and all is written")
	}
	// Output:
	// insert [a b c]
	// insert [d e]
	// closed, and all is written
}

// With a linger of 0 a batch is what has come together meanwhile.
func ExampleBatches_withoutLinger() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	jobs := sluice.NewBounded[int](100, nil)
	_, _ = jobs.SendBatch(ctx, []int{1, 2, 3, 4, 5})

	for batch := range sluice.Batches(ctx, jobs, 64, 0) {
		fmt.Println(batch)
		cancel() // what is queued is still yielded; the loop would wait next
	}
	fmt.Println(ctx.Err())
	// Output:
	// [1 2 3 4 5]
	// context canceled
}

// A sender that has one value at a time pays for the channel once a batch. Its last
// values are sent by Close, which does not close the channel: others may use it.
func ExampleBatcher() {
	ctx := context.Background()
	readings := sluice.NewBounded[int](1024, nil)

	b := sluice.NewBatcher(readings, 4, 0)
	for i := range 10 {
		if err := b.Send(ctx, i); err != nil {
			fmt.Println(i, "was not accepted:", err)
		}
	}
	fmt.Println(readings.Len(), "sent,", b.Len(), "held")
	if err := b.Close(ctx); err != nil {
		fmt.Println(err, b.Unsent())
	}
	fmt.Println(readings.Len(), "sent")
	// Output:
	// 8 sent, 2 held
	// 10 sent
}

// With a linger nothing is held for longer, though the owner may have nothing more
// to send for a while.
func ExampleNewBatcher_linger() {
	ctx := context.Background()
	events := sluice.NewRendezvous[string](nil)

	b := sluice.NewBatcher(events, 1000, time.Millisecond)
	_ = b.Send(ctx, "started")
	_ = b.Send(ctx, "ready")

	for range 2 { // no other call of b is needed
		event, _ := events.Recv(ctx)
		fmt.Println(event)
	}
	// Output:
	// started
	// ready
}

// A flush that fails loses nothing: a value was refused, or it was sent, or it is
// handed back.
func ExampleBatcher_Unsent() {
	ctx := context.Background()
	jobs := sluice.NewBounded[int](2, &sluice.BoundedOptions[int]{Overflow: sluice.Reject})

	b := sluice.NewBatcher(jobs, 4, 0)
	for i := 1; i <= 4; i++ {
		if err := b.Send(ctx, i); errors.Is(err, sluice.ErrFull) {
			fmt.Println(i, "is refused")
		}
	}
	fmt.Println(jobs.Len(), "sent,", b.Unsent(), "handed back")
	// Output:
	// 4 is refused
	// 2 sent, [3] handed back
}

// What is held can be sent at any moment; under a context that is done the values
// stay.
func ExampleBatcher_Flush() {
	ctx, cancel := context.WithCancel(context.Background())
	lines := sluice.NewBounded[string](1, nil)

	b := sluice.NewBatcher(lines, 100, 0)
	_ = b.Send(ctx, "first")
	fmt.Println(b.Flush(ctx), lines.Len())

	_ = b.Send(ctx, "second")
	cancel()
	fmt.Println(b.Flush(ctx), b.Len())
	// Output:
	// <nil> 1
	// context canceled 1
}

// What there is room for can be sent without waiting.
func ExampleBatcher_TrySend() {
	lines := sluice.NewBounded[int](3, nil)
	b := sluice.NewBatcher(lines, 2, 0)
	for i := range 10 {
		if err := b.TrySend(i); err != nil {
			fmt.Println(i, err)
			break
		}
	}
	// Output:
	// 4 sluice: channel full
}
