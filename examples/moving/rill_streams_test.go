package moving

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/fan"
	"github.com/sluice-go/sluice/source"
	"github.com/sluice-go/sluice/workers"
)

// ExampleMap: squares, in any order.
func Example_rillMap() {
	ctx := context.Background()
	numbers := source.Slice([]int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10})
	squares := workers.Map(ctx, numbers, 3, func(_ context.Context, n int) (int, error) {
		return square(n), nil
	}, nil)
	sorted := slices.Sorted(squares.All())
	fmt.Println(sorted, squares.Err())
	// Output: [1 4 9 16 25 36 49 64 81 100] <nil>
}

// ExampleOrderedMap: squares in order.
func Example_rillOrderedMap() {
	ctx := context.Background()
	numbers := source.Slice([]int{1, 2, 3})
	squares := workers.Map(ctx, numbers, 3, func(_ context.Context, n int) (int, error) {
		return square(n), nil
	}, &workers.MapOptions[int]{Ordered: true})
	show(squares)
	// Output:
	// 1
	// 4
	// 9
	// error: <nil>
}

// ExampleMapReduce: how often each word occurs.
func Example_rillMapReduce() {
	ctx := context.Background()
	re := regexp.MustCompile(`\w+`)
	text := "To be, or not to be: that is the question."
	words := source.Slice(re.FindAllString(text, -1))
	lower := workers.Map(ctx, words, 3, func(_ context.Context, word string) (string, error) {
		return strings.ToLower(word), nil
	}, nil)
	counts := map[string]int{}
	for word := range lower.All() {
		counts[word]++
	}
	fmt.Println(counts)
	fmt.Println("error:", lower.Err())
	// Output:
	// map[be:2 is:1 not:1 or:1 question:1 that:1 the:1 to:2]
	// error: <nil>
}

// ExampleMerge: three streams become one.
func Example_rillMerge() {
	ctx := context.Background()
	numbers1 := source.Slice([]int{1, 2, 3, 4, 5})
	numbers2 := source.Slice([]int{6, 7, 8, 9, 10})
	numbers3 := source.Slice([]int{11, 12})
	numbers, failed := sluice.NewBounded[int](16, nil), make(chan error, 1)
	go func() {
		defer numbers.Close()
		_, err := fan.In(ctx, numbers, numbers1, numbers2, numbers3)
		failed <- err
	}()
	fmt.Println(slices.Sorted(numbers.Values(ctx).All()))
	fmt.Println("error:", <-failed)
	// Output:
	// [1 2 3 4 5 6 7 8 9 10 11 12]
	// error: <nil>
}

// ExampleReduce: the sum of all numbers.
func Example_rillReduce() {
	ctx := context.Background()
	numbers := source.Slice([]int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10})
	var sum atomic.Int64
	err := workers.Run(ctx, numbers, 3, func(_ context.Context, n int) error {
		sum.Add(int64(n))
		return nil
	}, nil)
	fmt.Println("sum:", sum.Load())
	fmt.Println("error:", err)
	// Output:
	// sum: 55
	// error: <nil>
}

// ExampleTee: two goroutines get all numbers: one keeps the odd ones, the other doubles
// and adds up.
func Example_rillTee() {
	ctx := context.Background()
	numbers := source.Slice([]int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10})
	numbers1, numbers2 := sluice.NewBounded[int](16, nil), sluice.NewBounded[int](16, nil)
	var wg sync.WaitGroup
	wg.Go(func() {
		defer numbers1.Close()
		defer numbers2.Close()
		if err := fan.Out(ctx, numbers, numbers1, numbers2); err != nil {
			fmt.Println("error:", err)
		}
	})

	wg.Go(func() {
		err := workers.Run(ctx, numbers1, 3, func(_ context.Context, n int) error {
			if n%2 != 0 {
				fmt.Println("odd:", n)
			}
			return nil
		}, nil)
		fmt.Println("odd, error:", err)
	})

	wg.Go(func() {
		doubled := workers.Map(ctx, numbers2, 3, func(_ context.Context, n int) (int, error) {
			return 2 * n, nil
		}, nil)
		sum := 0
		for n := range doubled.All() {
			sum += n
		}
		fmt.Println("sum:", sum, "error:", doubled.Err())
	})
	wg.Wait()
	// Unordered output:
	// odd: 1
	// odd: 3
	// odd: 5
	// odd: 7
	// odd: 9
	// odd, error: <nil>
	// sum: 110 error: <nil>
}

// ExampleToSlice: the results as a slice.
func Example_rillToSlice() {
	ctx := context.Background()
	numbers := source.Slice([]int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10})
	squares := workers.Map(ctx, numbers, 3, func(_ context.Context, n int) (int, error) {
		return square(n), nil
	}, &workers.MapOptions[int]{Ordered: true})
	slice := slices.Collect(squares.All())
	fmt.Println(slice)
	fmt.Println("error:", squares.Err())
	// Output:
	// [1 4 9 16 25 36 49 64 81 100]
	// error: <nil>
}

// ExampleUnbatch: the values of a stream of slices, as a stream of its own.
func Example_rillUnbatch() {
	ctx := context.Background()
	batches := source.Slice([][]int{
		{1, 2, 3},
		{4, 5},
		{6, 7, 8, 9},
		{10},
	})
	values := sluice.NewValues(ctx, batches)
	numbers := source.Seq2(func(yield func(int, error) bool) {
		for batch := range values.All() {
			for _, n := range batch {
				if !yield(n, nil) {
					return
				}
			}
		}
		if err := values.Err(); err != nil {
			yield(0, err)
		}
	})
	fmt.Println(slices.Collect(sluice.NewValues(ctx, numbers).All()))
	// Output: [1 2 3 4 5 6 7 8 9 10]
}

// ExampleFromSeq: a stream from an iterator.
func Example_rillFromSeq() {
	ctx := context.Background()
	numbers := source.Seq(slices.Values([]int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}))
	squares := workers.Map(ctx, numbers, 3, func(_ context.Context, n int) (int, error) {
		return square(n), nil
	}, nil)
	fmt.Println(slices.Sorted(squares.All()), squares.Err())
	// Output: [1 4 9 16 25 36 49 64 81 100] <nil>
}

// ExampleFromSeq2: a stream from an iterator that can fail.
func Example_rillFromSeq2() {
	ctx := context.Background()
	numbers := source.Seq2(func(yield func(int, error) bool) {
		for i := 1; i <= 10; i++ {
			if !yield(i, nil) {
				return
			}
		}
	})
	squares := workers.Map(ctx, numbers, 3, func(_ context.Context, n int) (int, error) {
		return square(n), nil
	}, nil)
	fmt.Println(slices.Sorted(squares.All()), squares.Err())
	// Output: [1 4 9 16 25 36 49 64 81 100] <nil>
}

// ExampleToSeq2: a loop over results that can fail.
func Example_rillToSeq2() {
	ctx := context.Background()
	numbers := source.Slice([]int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10})
	squares := workers.Map(ctx, numbers, 3, func(_ context.Context, n int) (int, error) {
		return square(n), nil
	}, nil)
	sum := 0
	for squared := range squares.All() {
		sum += squared
	}
	if err := squares.Err(); err != nil {
		fmt.Println("error:", err)
	}
	fmt.Println("sum:", sum)
	// Output: sum: 385
}
