package sluice_test

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/sluice-go/sluice"
)

// A worker receives requests and sends results in one goroutine, whichever can proceed
// first. The cases are made once.
func ExampleSelect() {
	ctx := context.Background()
	requests := sluice.NewElastic[int](100, nil)
	results := sluice.NewRendezvous[string](nil)

	go func() {
		defer results.Close()
		in := sluice.OnRecv(requests)
		out := sluice.OnSend(results, "")
		cases := []sluice.Case{in} // and out, while there is a result to send
		for len(cases) > 0 {
			chosen, err := sluice.Select(ctx, cases...)
			switch {
			case chosen == nil:
				return // ctx is done
			case chosen == in && err == nil:
				out.Value += fmt.Sprint("<", in.Value, ">")
				cases = []sluice.Case{in, out}
			case chosen == in: // closed and drained: only the result is left
				cases = slices.DeleteFunc(cases, func(c sluice.Case) bool { return c == in })
			case chosen == out:
				out.Value = ""
				cases = slices.DeleteFunc(cases, func(c sluice.Case) bool { return c == out })
			}
		}
	}()

	for n := range 5 {
		_ = requests.Send(ctx, n)
	}
	requests.Close()
	all := ""
	for result := range results.Values(ctx).All() {
		all += result
	}
	fmt.Println(all)
	// Output: <0><1><2><3><4>
}

// With Default, Select does not wait.
func ExampleDefault() {
	jobs := sluice.NewBounded[string](8, nil)
	job := sluice.OnRecv(jobs)

	for range 2 {
		switch chosen, err := sluice.Select(context.Background(), job, sluice.Default); chosen {
		case job:
			fmt.Println("do", job.Value, err)
		case sluice.Default:
			fmt.Println("nothing to do")
			_ = jobs.TrySend("the dishes")
		}
	}
	// Output:
	// nothing to do
	// do the dishes <nil>
}

// A receive case that is chosen with ErrClosed delivers no more values: leave it out of
// the next Select.
func ExampleOnRecv() {
	ctx := context.Background()
	letters, numbers := sluice.NewBounded[string](4, nil), sluice.NewBounded[int](4, nil)
	_ = letters.TrySend("a")
	_ = numbers.TrySend(1)
	letters.Close()
	numbers.Close()

	letter, number := sluice.OnRecv(letters), sluice.OnRecv(numbers)
	var received []string
	for open := []sluice.Case{letter, number}; len(open) > 0; {
		chosen, err := sluice.Select(ctx, open...)
		switch {
		case err == sluice.ErrClosed:
			open = slices.DeleteFunc(open, func(c sluice.Case) bool { return c == chosen })
		case chosen == letter:
			received = append(received, letter.Value)
		case chosen == number:
			received = append(received, fmt.Sprint(number.Value))
		}
	}
	slices.Sort(received)
	fmt.Println(received)
	// Output: [1 a]
}

// The value of a send case may be changed between two calls of Select.
func ExampleOnSend() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
	defer cancel()
	left, right := sluice.NewBounded[int](2, nil), sluice.NewBounded[int](2, nil)
	toLeft, toRight := sluice.OnSend(left, 0), sluice.OnSend(right, 0)

	for n := range 4 {
		toLeft.Value, toRight.Value = n, n
		if _, err := sluice.Select(ctx, toLeft, toRight); err != nil {
			fmt.Println(err)
		}
	}
	fmt.Println(left.Len(), right.Len()) // each value went to a channel with room
	// Output: 2 2
}

// A loop that must stay prompt takes one value in each turn. A nil channel in the place of Ready
// pauses the case.
func Example_selectLoopPrompt() {
	ctx := context.Background()
	jobs := sluice.NewElastic[int](1000, nil)
	_, _ = jobs.SendBatch(ctx, []int{0, 1, 2, 3})
	jobs.Close()
	controls := make(chan string, 1)

	ready := jobs.Ready()
	for {
		select {
		case <-ctx.Done():
			return
		case control := <-controls:
			fmt.Println(control)
			if ready = jobs.Ready(); control == "pause" {
				ready = nil
			}
		case <-ready:
			job, err := jobs.TryRecv()
			if err == sluice.ErrClosed {
				return // closed and drained
			}
			if err != nil {
				continue // ErrEmpty: another receiver took the value
			}
			fmt.Println("job", job)
			if job == 1 {
				controls <- "pause"
				go func() { controls <- "resume" }()
				ready = nil // controls first, so that the output is always the same
			}
		}
	}
	// Output:
	// job 0
	// job 1
	// pause
	// resume
	// job 2
	// job 3
}
