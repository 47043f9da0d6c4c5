package sluice_test

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/sluice-go/sluice"
)

// A worker takes requests while it has room for results, and delivers results
// while it has some: whichever can proceed first. The cases are made once.
func ExampleSelect() {
	ctx := context.Background()
	requests := sluice.NewElastic[int](100, nil)
	results := sluice.NewRendezvous[string](nil)

	go func() {
		defer results.Close()
		in := sluice.OnRecv[int](requests)
		out := sluice.OnSend(results, "")
		cases := []sluice.Case{in} // and out, when there is something to send
		for len(cases) > 0 {
			chosen, err := sluice.Select(ctx, cases...)
			switch {
			case chosen == nil:
				return // ctx is done
			case chosen == in && err == nil:
				out.Value += fmt.Sprint("<", in.Value, ">")
				cases = []sluice.Case{in, out}
			case chosen == in: // closed, and drained: only the rest is to be sent
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

// With Default a Select does not wait.
func ExampleDefault() {
	jobs := sluice.NewBounded[string](8, nil)
	job := sluice.OnRecv[string](jobs)

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

// A receive case that is chosen with ErrClosed has nothing more to come, and is
// left out from then on.
func ExampleOnRecv() {
	ctx := context.Background()
	letters, numbers := sluice.NewBounded[string](4, nil), sluice.NewBounded[int](4, nil)
	_ = letters.TrySend("a")
	_ = numbers.TrySend(1)
	letters.Close()
	numbers.Close()

	letter, number := sluice.OnRecv[string](letters), sluice.OnRecv[int](numbers)
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

// What a send case sends may be changed from one Select to the next.
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
	fmt.Println(left.Len(), right.Len()) // whoever had room
	// Output: 2 2
}
