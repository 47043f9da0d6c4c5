package moving

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/sluice-go/sluice/bridge"
	"github.com/sluice-go/sluice/source"
	"github.com/sluice-go/sluice/workers"
)

// Goal 2, handle panics gracefully: a panic of a goroutine is repeated in the one that
// started it, with the stack of the first.
func Example_concPanic() {
	defer func() {
		p := recover().(*workers.PanicError)
		fmt.Println(p.Value, len(p.Stack) > 0)
	}()
	_ = workers.Run(context.Background(), source.Slice([]int{1}), 1, func(context.Context, int) error {
		panic("no such index")
	}, nil)
	// Output: no such index true
}

// Spawn a set of goroutines and wait for them to finish.
func Example_concSet() {
	var calls atomic.Int64
	_ = workers.Run(context.Background(), source.Slice(make([]int, 10)), 10, func(context.Context, int) error {
		calls.Add(1)
		return nil
	}, nil)
	fmt.Println(calls.Load())
	// Output: 10
}

// Process each element of a stream in a static pool of goroutines. The stream is a
// built-in channel, and stays one.
func Example_concStream() {
	process := func(stream chan int, handle func(int)) error {
		return workers.Run(context.Background(), bridge.NewReceiver(stream), 10, func(_ context.Context, n int) error {
			handle(n)
			return nil
		}, nil)
	}
	stream := make(chan int, 3)
	for n := range 3 {
		stream <- n
	}
	close(stream)
	var sum atomic.Int64
	err := process(stream, func(n int) { sum.Add(int64(n)) })
	fmt.Println(sum.Load(), err)
	// Output: 3 <nil>
}

// Process each element of a slice in a static pool of goroutines.
func Example_concSlice() {
	process := func(values []int, handle func(int)) error {
		return workers.Run(context.Background(), source.Slice(values), 10, func(_ context.Context, n int) error {
			handle(n)
			return nil
		}, nil)
	}
	var sum atomic.Int64
	err := process([]int{1, 2, 3}, func(n int) { sum.Add(int64(n)) })
	fmt.Println(sum.Load(), err)
	// Output: 6 <nil>
}

// Concurrently map a slice.
func Example_concMapSlice() {
	concMap := func(input []int, f func(int) int) []int {
		results := workers.Map(context.Background(), source.Slice(input), 10, func(_ context.Context, n int) (int, error) {
			return f(n), nil
		}, &workers.MapOptions[int]{Ordered: true})
		return slices.Collect(results.All())
	}
	fmt.Println(concMap([]int{1, 2, 3}, square))
	// Output: [1 4 9]
}

// Process an ordered stream concurrently, from one built-in channel to another.
func Example_concMapStream() {
	mapStream := func(in, out chan int, f func(int) int) error {
		ctx := context.Background()
		results := workers.Map(ctx, bridge.NewReceiver(in), 10, func(_ context.Context, n int) (int, error) {
			return f(n), nil
		}, &workers.MapOptions[int]{Ordered: true})
		for result := range results.All() {
			out <- result
		}
		return results.Err()
	}
	in, out := make(chan int, 3), make(chan int, 3)
	for n := range 3 {
		in <- n
	}
	close(in)
	err := mapStream(in, out, square)
	fmt.Println(<-out, <-out, <-out, err)
	// Output: 0 1 4 <nil>
}
