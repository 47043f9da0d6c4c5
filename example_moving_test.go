package sluice_test

import (
	"context"
	"fmt"

	"github.com/sluice-go/sluice"
)

// A pipeline of a built-in channel has moved to a Bounded.
func Example_movingTo() {
	ctx := context.Background()
	lines := sluice.NewBounded[string](128, nil)
	defer lines.Close() // if the loop ends early, the sender gets ErrClosed

	go func() {
		defer lines.Close()
		for n := range 3 {
			if err := lines.Send(ctx, fmt.Sprint("line ", n)); err != nil {
				return // closed, or ctx is done: the line was not sent
			}
		}
	}()

	values := lines.Values(ctx)
	for line := range values.All() {
		fmt.Println(line)
	}
	if err := values.Err(); err != nil {
		fmt.Println("not all lines were received:", err)
	}
	// Output:
	// line 0
	// line 1
	// line 2
}

// The select loop of a service, after one of its channels has moved. The other cases stay, and
// so does the body of the case.
func Example_movingLoopTo() {
	serve := func(limits <-chan int, stop <-chan struct{}, messages *sluice.Bounded[string]) {
		defer messages.Close() // after stop, senders get ErrClosed
		limit := 5
		for {
			select {
			case limit = <-limits:
			case <-stop:
				return
			case _, ok := <-messages.Ready():
				for message := range messages.Drain() {
					if len(message) > limit {
						continue
					}
					fmt.Println(message)
				}
				if !ok {
					return
				}
			}
		}
	}

	messages := sluice.NewBounded[string](128, nil)
	for _, message := range []string{"one", "much too long", "two"} {
		_ = messages.Send(context.Background(), message) // there is room
	}
	messages.Close()
	serve(nil, nil, messages)
	// Output:
	// one
	// two
}
