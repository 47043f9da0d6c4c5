package fan_test

import (
	"context"
	"fmt"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/fan"
)

func ExampleIn() {
	ctx := context.Background()
	disk, network := sluice.NewElastic[string](9, nil), sluice.NewElastic[string](9, nil)
	log := sluice.NewBounded[string](1, nil)

	for _, source := range []*sluice.Elastic[string]{disk, network} {
		_ = source.TrySend("line")
		_ = source.TrySend("line")
		source.Close()
	}
	go func() {
		defer log.Close()
		if unsent, err := fan.In(ctx, log, disk, network); err != nil {
			fmt.Println(len(unsent), "lines are left:", err)
		}
	}()

	n := 0
	for range log.Values(ctx).All() {
		n++
	}
	fmt.Println(n, "lines")
	// Output: 4 lines
}

// What becomes of a slow subscriber is up to its channel: this one is a mailbox
// that holds the freshest value.
func ExampleOut() {
	ctx := context.Background()
	prices := sluice.NewElastic[int](9, nil)
	history := sluice.NewElastic[int](9, nil)
	latest := sluice.NewBounded(1, &sluice.BoundedOptions[int]{Overflow: sluice.DropOldest})

	for _, price := range []int{101, 99, 100} {
		_ = prices.TrySend(price)
	}
	prices.Close()
	if v, missed, err := fan.Out(ctx, prices, history, latest); err != nil {
		fmt.Println(v, "did not reach", len(missed), "subscribers:", err)
	}

	now, _ := latest.TryRecv()
	fmt.Println("now", now, "after", history.Len(), "prices")
	// Output: now 100 after 3 prices
}
