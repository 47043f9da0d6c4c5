package batch_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/batch"
)

// Lines that arrive one at a time are written in batches of at most three. No line waits
// longer than 50 ms for others.
func ExampleReceive() {
	ctx := context.Background()
	lines := sluice.NewBounded[string](1000, nil)
	for _, line := range []string{"a", "b", "c", "d", "e"} {
		_ = lines.TrySend(line)
	}
	lines.Close()

	batches := batch.Receive(ctx, lines, 3, &batch.Options[string]{Linger: 50 * time.Millisecond})
	for lines := range batches.All() {
		fmt.Println("insert", lines) // the slice is used again: copy what should stay
	}
	if err := batches.Err(); err != nil {
		fmt.Println("not all lines were written:", err)
	}
	// Output:
	// insert [a b c]
	// insert [d e]
}

// Requests have at most 16 bytes, and each line adds a newline. A line that no request has room
// for is dropped, and the lines around it are sent.
func ExampleReceive_maxBytes() {
	ctx := context.Background()
	lines := sluice.NewBounded[string](1000, nil)
	for _, line := range []string{"GET /", "PUT /a", "a line that is far too long", "GET /b", "GET /"} {
		_ = lines.TrySend(line)
	}
	lines.Close()

	requests := batch.Receive(ctx, lines, 1000, &batch.Options[string]{
		Linger:        50 * time.Millisecond,
		MaxBytes:      16,
		Size:          func(line string) int { return len(line) + 1 },
		TooLarge:      batch.Drop,
		OnUndelivered: func(line string, _ sluice.Reason) { fmt.Println("too long:", line) },
	})
	for lines := range requests.All() {
		fmt.Printf("send %q\n", lines)
	}
	if err := requests.Err(); err != nil {
		fmt.Println(err, requests.TakeRest())
	}
	fmt.Println(requests.Dropped(), "dropped")
	// Output:
	// too long: a line that is far too long
	// send ["GET /" "PUT /a"]
	// send ["GET /b" "GET /"]
	// 1 dropped
}

// With Fail, a value that is too large ends the loop. TakeRest returns it, and the values that
// the loop had received behind it.
func ExampleBatches_TakeRest() {
	ctx := context.Background()
	files := sluice.NewBounded[string](100, nil)
	_, _ = files.SendBatch(ctx, []string{"one", "two", "thousand", "four"})

	batches := batch.Receive(ctx, files, 10, &batch.Options[string]{MaxBytes: 6, TooLarge: batch.Fail})
	for files := range batches.All() {
		fmt.Println(files)
	}
	fmt.Println(batches.Err())
	fmt.Println(batches.TakeRest())
	// Output:
	// [one two]
	// batch: a value of 8 bytes is above the limit of 6 bytes per batch
	// [thousand four]
}

// A Sender flushes before a value would exceed the limit. A value that is too large is refused.
func ExampleNewSender_maxBytes() {
	ctx := context.Background()
	messages := sluice.NewBounded[string](100, nil)

	b := batch.NewSender(messages, 1000, &batch.Options[string]{MaxBytes: 10, TooLarge: batch.Fail})
	for _, message := range []string{"first", "second", "a third that is too long", "4th"} {
		var tooLarge *batch.TooLargeError
		if err := b.Send(ctx, message); errors.As(err, &tooLarge) {
			fmt.Println(tooLarge.Size, "bytes are refused")
		}
		fmt.Println(messages.Len(), "sent,", b.Len(), "held")
	}
	// Output:
	// 0 sent, 1 held
	// 1 sent, 1 held
	// 24 bytes are refused
	// 1 sent, 1 held
	// 1 sent, 2 held
}

// Without a linger, a batch is the values that are queued at that moment.
func ExampleReceive_withoutLinger() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	jobs := sluice.NewBounded[int](100, nil)
	_, _ = jobs.SendBatch(ctx, []int{1, 2, 3, 4, 5})

	batches := batch.Receive(ctx, jobs, 64, nil)
	for jobs := range batches.All() {
		fmt.Println(jobs)
		cancel() // queued values would still be yielded; but now the loop has to wait
	}
	fmt.Println(batches.Err())
	// Output:
	// [1 2 3 4 5]
	// context canceled
}

// A Sender pays for the channel once per batch. Close sends the last values. It does not
// close the channel, which others may use.
func ExampleSender() {
	ctx := context.Background()
	readings := sluice.NewBounded[int](1024, nil)

	b := batch.NewSender(readings, 4, nil)
	for i := range 10 {
		if err := b.Send(ctx, i); err != nil {
			fmt.Println(i, "was not accepted:", err)
		}
	}
	fmt.Println(readings.Len(), "sent,", b.Len(), "held")
	if err := b.Close(ctx); err != nil {
		fmt.Println(err, b.TakeUnsent())
	}
	fmt.Println(readings.Len(), "sent")
	// Output:
	// 8 sent, 2 held
	// 10 sent
}

// With a linger, no value is held for longer, even if the owner makes no other call.
func ExampleNewSender_linger() {
	ctx := context.Background()
	events := sluice.NewRendezvous[string](nil)

	b := batch.NewSender(events, 1000, &batch.Options[string]{Linger: time.Millisecond})
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

// A flush that fails loses no value: each one was refused, was sent, or can be taken
// back.
func ExampleSender_TakeUnsent() {
	ctx := context.Background()
	jobs := sluice.NewBounded[int](2, &sluice.BoundedOptions[int]{Overflow: sluice.Reject})

	b := batch.NewSender(jobs, 4, nil)
	for i := 1; i <= 4; i++ {
		if err := b.Send(ctx, i); errors.Is(err, sluice.ErrFull) {
			fmt.Println(i, "is refused")
		}
	}
	fmt.Println(jobs.Len(), "sent,", b.TakeUnsent(), "taken back")
	// Output:
	// 4 is refused
	// 2 sent, [3] taken back
}

// Flush sends the values that are held. If its context is done, the values stay.
func ExampleSender_Flush() {
	ctx, cancel := context.WithCancel(context.Background())
	lines := sluice.NewBounded[string](1, nil)

	b := batch.NewSender(lines, 100, nil)
	_ = b.Send(ctx, "first")
	fmt.Println(b.Flush(ctx), lines.Len())

	_ = b.Send(ctx, "second")
	cancel()
	fmt.Println(b.Flush(ctx), b.Len())
	// Output:
	// <nil> 1
	// context canceled 1
}

// TrySend sends what the channel has room for, without waiting.
func ExampleSender_TrySend() {
	lines := sluice.NewBounded[int](3, nil)
	b := batch.NewSender(lines, 2, nil)
	for i := range 10 {
		if err := b.TrySend(i); err != nil {
			fmt.Println(i, err)
			break
		}
	}
	// Output:
	// 4 sluice: channel full
}

// A sender fills slices itself, and each goes to the receiver without a copy. It comes back
// when the receiver has finished with it.
func ExampleSender_SendSlice() {
	ctx := context.Background()
	readings := sluice.NewBounded[int](1024, nil)

	go func() {
		defer readings.Close()
		b := batch.NewSender(readings, 64, nil)
		var vs []int
		var err error
		for i := range 150 {
			if vs = append(vs, i); len(vs) == 64 {
				if vs, err = b.SendSlice(ctx, vs); err != nil {
					fmt.Println(len(vs), "were not sent:", err)
					return
				}
			}
		}
		_, _ = b.SendSlice(ctx, vs)
	}()

	sum := 0
	for vs := range batch.Receive(ctx, readings, 64, nil).All() {
		for _, v := range vs {
			sum += v
		}
	}
	fmt.Println(sum)
	// Output: 11175
}

// A batch that lingers is completed by another goroutine.
func ExampleBatches_Flush() {
	lines := sluice.NewBounded[string](10, nil)
	batches := batch.Receive(context.Background(), lines, 100, &batch.Options[string]{Linger: time.Hour})
	go func() {
		_, _ = lines.SendBatch(context.Background(), []string{"a", "b"})
		batches.Flush() // such as at a signal, or when the source is idle
	}()
	for lines := range batches.All() {
		fmt.Println(lines)
		break
	}
	// Output: [a b]
}
