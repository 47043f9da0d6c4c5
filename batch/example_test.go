package batch_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/batch"
	"github.com/sluice-go/sluice/source"
)

// Readings that arrive one at a time are written in batches of at most three. No reading waits
// longer than 50 ms for others.
func ExampleReceive() {
	ctx := context.Background()
	readings := sluice.NewBounded[int](1000, nil)
	for reading := range 5 {
		_ = readings.TrySend(reading)
	}
	readings.Close()

	batches := batch.Receive(ctx, readings, 3, &batch.Options[int]{Linger: 50 * time.Millisecond})
	for readings := range batches.All() {
		fmt.Println("insert", readings) // the slice is used again: copy what should stay
	}
	if err := batches.Err(); err != nil {
		fmt.Println("not all readings were written:", err)
	}
	// Output:
	// insert [0 1 2]
	// insert [3 4]
}

// Requests have at most 16 bytes, and each line adds a newline. A line that no request has room
// for is dropped, and the lines around it are sent.
func ExampleReceive_maxBytes() {
	ctx := context.Background()
	lines := source.Slice([]string{"GET /", "PUT /a", "a line that is far too long", "GET /b", "GET /"})

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
	files := source.Slice([]string{"one", "two", "thousand", "four"})

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
	files := sluice.NewBounded[int](100, nil) // their lengths

	b := batch.NewSender(files, 1000, &batch.Options[int]{
		MaxBytes: 10,
		Size:     func(length int) int { return length },
		TooLarge: batch.Fail,
	})
	for _, length := range []int{5, 6, 24, 3} {
		var tooLarge *batch.TooLargeError
		if err := b.Send(ctx, length); errors.As(err, &tooLarge) {
			fmt.Println(tooLarge.Size, "bytes are refused")
		}
		fmt.Println(files.Len(), "sent,", b.Len(), "held")
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
	readings := sluice.NewRendezvous[int](nil)

	b := batch.NewSender(readings, 1000, &batch.Options[int]{Linger: time.Millisecond})
	_ = b.Send(ctx, 451)
	_ = b.Send(ctx, 449)

	for range 2 { // no other call of b is needed
		reading, _ := readings.Recv(ctx)
		fmt.Println(reading)
	}
	// Output:
	// 451
	// 449
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
	readings := sluice.NewBounded[int](1, nil)

	b := batch.NewSender(readings, 100, nil)
	_ = b.Send(ctx, 451)
	fmt.Println(b.Flush(ctx), readings.Len())

	_ = b.Send(ctx, 449)
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
	readings := sluice.NewBounded[int](10, nil)
	batches := batch.Receive(context.Background(), readings, 100, &batch.Options[int]{Linger: time.Hour})
	go func() {
		_, _ = readings.SendBatch(context.Background(), []int{451, 449})
		batches.Flush() // such as at a signal, or when the source is idle
	}()
	for readings := range batches.All() {
		fmt.Println(readings)
		break
	}
	// Output: [451 449]
}
