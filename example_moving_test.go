package sluice_test

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/sluice-go/sluice"
)

// A pipeline of built-in channels: the starting point of docs/moving.md.
func Example_movingFrom() {
	ctx := context.Background()
	lines := make(chan string, 128)

	go func() {
		defer close(lines)
		for n := range 3 {
			select {
			case lines <- fmt.Sprint("line ", n):
			case <-ctx.Done():
				return
			}
		}
	}()

	for line := range lines {
		fmt.Println(line)
	}
	// Output:
	// line 0
	// line 1
	// line 2
}

// The same pipeline on a Bounded.
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

// The select loop of a service, with built-in channels only.
func Example_movingLoopFrom() {
	serve := func(limits <-chan int, stop <-chan struct{}, messages <-chan string) {
		limit := 5
		for {
			select {
			case limit = <-limits:
			case <-stop:
				return
			case message, ok := <-messages:
				if !ok {
					return
				}
				if len(message) > limit {
					continue
				}
				fmt.Println(message)
			}
		}
	}

	messages := make(chan string, 128)
	for _, message := range []string{"one", "much too long", "two"} {
		messages <- message
	}
	close(messages)
	serve(nil, nil, messages)
	// Output:
	// one
	// two
}

// The same loop after one of its channels has moved. The other cases stay, and so does
// the body of the case.
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

// A loop over two channels that have both moved. A closed channel is left out, where a
// built-in one would be set to nil.
func Example_movingSelect() {
	ctx := context.Background()
	words, numbers := sluice.NewBounded[string](8, nil), sluice.NewBounded[int](8, nil)
	_ = words.TrySend("one")
	_ = numbers.TrySend(1)
	words.Close()
	numbers.Close()

	word, number := sluice.OnRecv(words), sluice.OnRecv(numbers)
	total, text := 0, ""
	for open := []sluice.Case{word, number}; len(open) > 0; {
		chosen, err := sluice.Select(ctx, open...)
		switch {
		case chosen == nil:
			return // ctx is done
		case errors.Is(err, sluice.ErrClosed):
			open = slices.DeleteFunc(open, func(c sluice.Case) bool { return c == chosen })
		case chosen == word:
			text += word.Value
		case chosen == number:
			total += number.Value
		}
	}
	fmt.Println(text, total)
	// Output: one 1
}
