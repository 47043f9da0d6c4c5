package sluice_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/batch"
)

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
