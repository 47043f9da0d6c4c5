package moving

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/batch"
	"github.com/sluice-go/sluice/source"
	"github.com/sluice-go/sluice/workers"
)

// ExampleAll: whether all numbers are prime. The first one that is not ends the workers.
func Example_rillAll() {
	ctx := context.Background()
	numbers := source.Slice([]int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10})
	primes := workers.Map(ctx, numbers, 3, func(_ context.Context, n int) (bool, error) {
		return isPrime(n), nil
	}, nil)
	ok := true
	for prime := range primes.All() {
		if ok = prime; !ok {
			break
		}
	}
	fmt.Println("all:", ok)
	fmt.Println("error:", primes.Err())
	// Output:
	// all: false
	// error: <nil>
}

// ExampleAny: whether there is a prime number. The first one ends the workers.
func Example_rillAny() {
	ctx := context.Background()
	numbers := source.Slice([]int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10})
	primes := workers.Map(ctx, numbers, 3, func(_ context.Context, n int) (bool, error) {
		return isPrime(n), nil
	}, nil)
	ok := false
	for prime := range primes.All() {
		if ok = prime; ok {
			break
		}
	}
	fmt.Println("any:", ok)
	fmt.Println("error:", primes.Err())
	// Output:
	// any: true
	// error: <nil>
}

// ExampleBatch: batches of up to five numbers of a slow source.
func Example_rillBatch() {
	ctx := context.Background()
	numbers := source.Seq(func(yield func(int) bool) {
		for i := 0; i < 12 && yield(i); i++ {
			time.Sleep(time.Millisecond)
		}
	})

	show(batch.Receive(ctx, numbers, 5, &batch.Options[int]{Linger: time.Minute}))
	// Output:
	// [0 1 2 3 4]
	// [5 6 7 8 9]
	// [10 11]
	// error: <nil>
}

// ExampleCatch: numbers that cannot be parsed are left out.
func Example_rillCatch() {
	ctx := context.Background()
	words := source.Slice([]string{"1", "2", "3", "4", "5", "not a number 6", "7", "8", "9", "10"})
	numbers := workers.Map(ctx, words, 3, func(_ context.Context, word string) (*int, error) {
		n, err := strconv.Atoi(word)
		if errors.Is(err, strconv.ErrSyntax) {
			return nil, nil // this word is left out
		}
		return &n, err
	}, nil)
	for n := range numbers.All() {
		if n != nil {
			fmt.Println(*n)
		}
	}
	fmt.Println("error:", numbers.Err())
	// Unordered output:
	// 1
	// 2
	// 3
	// 4
	// 5
	// 7
	// 8
	// 9
	// 10
	// error: <nil>
}

// ExampleOrderedCatch: the same in order.
func Example_rillOrderedCatch() {
	ctx := context.Background()
	words := source.Slice([]string{"1", "2", "3", "4", "5", "not a number 6", "7", "8", "9", "10"})
	numbers := workers.Map(ctx, words, 3, func(_ context.Context, word string) (*int, error) {
		n, err := strconv.Atoi(word)
		if errors.Is(err, strconv.ErrSyntax) {
			return nil, nil // this word is left out
		}
		return &n, err
	}, &workers.MapOptions[string]{Ordered: true})
	for n := range numbers.All() {
		if n != nil {
			fmt.Print(*n, " ")
		}
	}
	fmt.Println("error:", numbers.Err())
	// Output: 1 2 3 4 5 7 8 9 10 error: <nil>
}

// ExampleErr: only the error matters.
func Example_rillErr() {
	ctx := context.Background()
	users := source.Slice([]*user{
		{id: 1, name: "foo"},
		{id: 2, name: "bar"},
		{id: 3},
		{id: 4, name: "baz"},
		{id: 5, name: "qux"},
		{id: 6, name: "quux"},
	})
	err := workers.Run(ctx, users, 2, saveUser, nil)
	fmt.Println("error:", err)
	// Output: error: a user needs a name
}

// ExampleFilter: the prime numbers.
func Example_rillFilter() {
	ctx := context.Background()
	numbers := source.Slice([]int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10})
	primes := workers.Map(ctx, numbers, 3, func(_ context.Context, n int) (*int, error) {
		if !isPrime(n) {
			return nil, nil
		}
		return &n, nil
	}, nil)
	for n := range primes.All() {
		if n != nil {
			fmt.Println(*n)
		}
	}
	fmt.Println("error:", primes.Err())
	// Unordered output:
	// 2
	// 3
	// 5
	// 7
	// error: <nil>
}

// ExampleOrderedFilter: the prime numbers, in order.
func Example_rillOrderedFilter() {
	ctx := context.Background()
	numbers := source.Slice([]int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10})
	primes := workers.Map(ctx, numbers, 3, func(_ context.Context, n int) (*int, error) {
		if !isPrime(n) {
			return nil, nil
		}
		return &n, nil
	}, &workers.MapOptions[int]{Ordered: true})
	for n := range primes.All() {
		if n != nil {
			fmt.Println(*n)
		}
	}
	fmt.Println("error:", primes.Err())
	// Output:
	// 2
	// 3
	// 5
	// 7
	// error: <nil>
}

// ExampleFilterMap: the squares of the prime numbers.
func Example_rillFilterMap() {
	ctx := context.Background()
	numbers := source.Slice([]int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10})
	squares := workers.Map(ctx, numbers, 3, func(_ context.Context, n int) (*int, error) {
		if !isPrime(n) {
			return nil, nil
		}
		squared := n * n
		return &squared, nil
	}, nil)
	for n := range squares.All() {
		if n != nil {
			fmt.Println(*n)
		}
	}
	fmt.Println("error:", squares.Err())
	// Unordered output:
	// 4
	// 9
	// 25
	// 49
	// error: <nil>
}

// ExampleOrderedFilterMap: the same in order.
func Example_rillOrderedFilterMap() {
	ctx := context.Background()
	numbers := source.Slice([]int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10})
	squares := workers.Map(ctx, numbers, 3, func(_ context.Context, n int) (*int, error) {
		if !isPrime(n) {
			return nil, nil
		}
		squared := n * n
		return &squared, nil
	}, &workers.MapOptions[int]{Ordered: true})
	for n := range squares.All() {
		if n != nil {
			fmt.Println(*n)
		}
	}
	fmt.Println("error:", squares.Err())
	// Output:
	// 4
	// 9
	// 25
	// 49
	// error: <nil>
}

// ExampleFirst: the first number that 4 divides.
func Example_rillFirst() {
	ctx := context.Background()
	numbers := source.Slice([]int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10})
	divisible := workers.Map(ctx, numbers, 3, func(_ context.Context, n int) (*int, error) {
		if n%4 != 0 {
			return nil, nil
		}
		return &n, nil
	}, &workers.MapOptions[int]{Ordered: true})
	for n := range divisible.All() {
		if n != nil {
			fmt.Println("first:", *n)
			break
		}
	}
	fmt.Println("error:", divisible.Err())
	// Output:
	// first: 4
	// error: <nil>
}

// ExampleFlatMap: three words for each number.
func Example_rillFlatMap() {
	ctx := context.Background()
	numbers := source.Slice([]int{1, 2, 3, 4, 5})
	words := workers.Map(ctx, numbers, 2, func(_ context.Context, n int) ([]string, error) {
		return []string{
			fmt.Sprint("foo", n),
			fmt.Sprint("bar", n),
			fmt.Sprint("baz", n),
		}, nil
	}, nil)
	n := 0
	for three := range words.All() {
		for range three {
			n++
		}
	}
	fmt.Println(n, "words, error:", words.Err())
	// Output: 15 words, error: <nil>
}

// ExampleOrderedFlatMap: the same in order.
func Example_rillOrderedFlatMap() {
	ctx := context.Background()
	numbers := source.Slice([]int{1, 2, 3, 4, 5})
	words := workers.Map(ctx, numbers, 2, func(_ context.Context, n int) ([]string, error) {
		return []string{
			fmt.Sprint("foo", n),
			fmt.Sprint("bar", n),
			fmt.Sprint("baz", n),
		}, nil
	}, &workers.MapOptions[int]{Ordered: true})
	for three := range words.All() {
		for _, word := range three {
			fmt.Print(word, " ")
		}
	}
	fmt.Println("error:", words.Err())
	// Output: foo1 bar1 baz1 foo2 bar2 baz2 foo3 bar3 baz3 foo4 bar4 baz4 foo5 bar5 baz5 error: <nil>
}

// ExampleForEach: three goroutines print squares.
func Example_rillForEach() {
	ctx := context.Background()
	numbers := source.Slice([]int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10})
	err := workers.Run(ctx, numbers, 3, func(_ context.Context, n int) error {
		fmt.Println(square(n))
		return nil
	}, nil)
	fmt.Println("error:", err)
	// Unordered output:
	// 1
	// 4
	// 9
	// 16
	// 25
	// 36
	// 49
	// 64
	// 81
	// 100
	// error: <nil>
}

// ExampleForEach_ordered: three goroutines compute squares, one prints them in order.
func Example_rillForEachOrdered() {
	ctx := context.Background()
	numbers := source.Slice([]int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10})
	squares := workers.Map(ctx, numbers, 3, func(_ context.Context, n int) (int, error) {
		return square(n), nil
	}, &workers.MapOptions[int]{Ordered: true})
	for squared := range squares.All() {
		fmt.Print(squared, " ")
	}
	fmt.Println("error:", squares.Err())
	// Output: 1 4 9 16 25 36 49 64 81 100 error: <nil>
}

// ExampleGenerate: a stream of values that a function computes.
func Example_rillGenerate() {
	ctx := context.Background()
	urls := source.Seq(func(yield func(string) bool) {
		for i := 0; i < 3 && yield(fmt.Sprintf("https://example.com/file-%d.txt", i)); i++ {
		}
	})
	show(sluice.NewValues(ctx, urls))
	// Output:
	// https://example.com/file-0.txt
	// https://example.com/file-1.txt
	// https://example.com/file-2.txt
	// error: <nil>
}

// ExampleGenerate_context: an endless stream, until its context ends.
func Example_rillGenerateContext() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	numbers := source.Seq(func(yield func(int) bool) {
		for i := 1; yield(i); i++ {
		}
	})
	defer numbers.Close() // a loop over Values leaves the source open
	values := sluice.NewValues(ctx, numbers)
	for n := range values.All() {
		fmt.Println(n)
		if n == 3 {
			cancel()
		}
	}
	fmt.Println("error:", values.Err())
	// Output:
	// 1
	// 2
	// 3
	// error: context canceled
}
