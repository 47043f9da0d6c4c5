package fan_test

import (
	"context"
	"fmt"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/fan"
)

// Two channels, each closed by its own sender, become one. In does not close the
// channel that it sends to.
func ExampleIn() {
	ctx := context.Background()
	disk, network := sluice.NewBounded[string](9, nil), sluice.NewBounded[string](9, nil)
	log := sluice.NewBounded[string](1, nil)

	for _, source := range []*sluice.Bounded[string]{disk, network} {
		_ = source.TrySend("line")
		_ = source.TrySend("line")
		source.Close()
	}
	go func() {
		defer log.Close()
		if unsent, err := fan.In(ctx, log, disk, network); err != nil {
			fmt.Println(len(unsent), "lines were not sent:", err)
		}
	}()

	n := 0
	for range log.Values(ctx).All() {
		n++
	}
	fmt.Println(n, "lines")
	// Output: 4 lines
}

// The overflow policy of an output decides what happens if it is slow. Here latest is a
// mailbox that holds the freshest value.
func ExampleOut() {
	ctx := context.Background()
	prices := sluice.NewElastic[int](9, nil)
	history := sluice.NewElastic[int](9, nil)
	latest := sluice.NewBounded(1, &sluice.BoundedOptions[int]{Overflow: sluice.DropOldest})

	for _, price := range []int{101, 99, 100} {
		_ = prices.TrySend(price)
	}
	prices.Close()
	if err := fan.Out(ctx, prices, history, latest); err != nil {
		fmt.Println(err)
	}

	now, _ := latest.TryRecv()
	fmt.Println("now", now, "after", history.Len(), "prices")
	// Output: now 100 after 3 prices
}
