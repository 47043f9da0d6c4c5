package source_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"

	"github.com/sluice-go/sluice/batch"
	"github.com/sluice-go/sluice/source"
)

// The elements of a slice are taken in batches.
func ExampleSlice() {
	ctx := context.Background()
	files := source.Slice([]string{"a.log", "b.log", "c.log"})

	batches := batch.Receive(ctx, files, 2, nil)
	for files := range batches.All() {
		fmt.Println("upload", files)
	}
	fmt.Println(batches.Err())
	// Output:
	// upload [a.log b.log]
	// upload [c.log]
	// <nil>
}

// An endless iterator runs as far as its values are received.
func ExampleSeq() {
	ids := source.Seq(func(yield func(int) bool) {
		defer fmt.Println("stopped")
		for id := 1; yield(id); id++ {
		}
	})
	for range 2 {
		fmt.Println(ids.Recv(context.Background()))
	}
	ids.Close()
	_, err := ids.Recv(context.Background())
	fmt.Println(err)
	// Output:
	// 1 <nil>
	// 2 <nil>
	// stopped
	// sluice: channel closed
}

// An error of the iterator comes after the values before it.
func ExampleSeq2() {
	lines := source.Seq2(scan("first\nsecond\n\nthird\n"))
	batches := batch.Receive(context.Background(), lines, 10, nil)
	for lines := range batches.All() {
		fmt.Println(lines)
	}
	fmt.Println(batches.Err())
	// Output:
	// [first]
	// [second]
	// empty line
}

// scan yields the lines of a text, and an error at an empty one.
func scan(text string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		scanner := bufio.NewScanner(strings.NewReader(text))
		for scanner.Scan() {
			if scanner.Text() == "" {
				yield("", errors.New("empty line"))
				return
			}
			if !yield(scanner.Text(), nil) {
				return
			}
		}
		if err := scanner.Err(); err != nil {
			yield("", err)
		}
	}
}
