package workers_test

import (
	"bufio"
	"context"
	"fmt"
	"iter"
	"strconv"
	"strings"
	"time"

	"github.com/sluice-go/sluice/batch"
	"github.com/sluice-go/sluice/source"
	"github.com/sluice-go/sluice/workers"
)

// Read, parse in several goroutines, write in batches, all in the order of the lines.
// The first error, of any stage, ends all of them: a stage that ends early closes the
// one before it, and its own error arrives at the one after it.
func Example_pipeline() {
	ctx := context.Background()
	parse := func(_ context.Context, line string) (int, error) { return strconv.Atoi(line) }
	write := func(numbers []int) error { // up to two
		for _, n := range numbers {
			fmt.Println("write", n)
		}
		return nil
	}

	lines := source.Seq2(scan(strings.NewReader("12\n7\n30\nx\n8\n")))
	numbers := workers.Map(ctx, lines, 4, parse, &workers.MapOptions[string]{Ordered: true})
	batches := batch.Receive(ctx, numbers, 2, &batch.Options[int]{Linger: 50 * time.Millisecond})
	for numbers := range batches.All() {
		if err := write(numbers); err != nil {
			fmt.Println("the loop ends, and with it the stages before it:", err)
			break
		}
	}
	fmt.Println(batches.Err())
	// Output:
	// write 12
	// write 7
	// write 30
	// strconv.Atoi: parsing "x": invalid syntax
}

// scan yields the lines of r, and the error that ends them, if there is one.
func scan(r *strings.Reader) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		lines := bufio.NewScanner(r)
		for lines.Scan() {
			if !yield(lines.Text(), nil) {
				return
			}
		}
		if err := lines.Err(); err != nil {
			yield("", err)
		}
	}
}
