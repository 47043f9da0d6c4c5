package sluice_test

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/sluice-go/sluice"
)

// A pipeline of built-in channels: where docs/moving.md begins.
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

// The same pipeline moved.
func Example_movingTo() {
	ctx := context.Background()
	lines := sluice.NewBounded[string](128, nil)

	go func() {
		defer lines.Close()
		for n := range 3 {
			if err := lines.Send(ctx, fmt.Sprint("line ", n)); err != nil {
				return // closed, or ctx is done: the line was not sent
			}
		}
	}()

	for line := range lines.Values(ctx).All() {
		fmt.Println(line)
	}
	if err := ctx.Err(); err != nil {
		fmt.Println("not all:", err)
	}
	// Output:
	// line 0
	// line 1
	// line 2
}

// The select of a consumer. A closed channel is left out, where a built-in one
// would be set to nil.
func Example_movingSelect() {
	ctx := context.Background()
	words, numbers := sluice.NewBounded[string](8, nil), sluice.NewBounded[int](8, nil)
	_ = words.TrySend("one")
	_ = numbers.TrySend(1)
	words.Close()
	numbers.Close()

	word, number := sluice.OnRecv[string](words), sluice.OnRecv[int](numbers)
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
