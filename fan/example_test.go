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
	indoors, outdoors := sluice.NewBounded[int](9, nil), sluice.NewBounded[int](9, nil)
	readings := sluice.NewBounded[int](1, nil)

	for _, sensor := range []*sluice.Bounded[int]{indoors, outdoors} {
		_ = sensor.TrySend(20)
		_ = sensor.TrySend(22)
		sensor.Close()
	}
	go func() {
		defer readings.Close()
		if unsent, err := fan.In(ctx, readings, indoors, outdoors); err != nil {
			fmt.Println(len(unsent), "readings were not sent:", err)
		}
	}()

	n, sum := 0, 0
	for reading := range readings.Values(ctx).All() {
		n, sum = n+1, sum+reading
	}
	fmt.Println(n, "readings, on average", sum/n)
	// Output: 4 readings, on average 21
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
