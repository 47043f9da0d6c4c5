package hub_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/hub"
)

// Every subscription receives every price; each has a queue of its own.
func Example() {
	ctx := context.Background()
	prices := hub.New[int](64, &hub.Options{Replay: 1})

	type options = hub.SubscriptionOptions[int]
	history, _ := prices.Subscribe(&options{Overflow: sluice.DropOldest})             // up to 64 prices
	latest, _ := prices.Subscribe(&options{Overflow: sluice.DropOldest, Capacity: 1}) // only the last one
	for _, price := range []int{101, 99, 100} {
		_ = prices.Send(ctx, price) // fails only after Close
	}
	late, _ := prices.Subscribe(&options{Overflow: sluice.DropOldest, Replay: 1}) // from the last one on
	_ = prices.Send(ctx, 98)
	prices.Close()

	now, _ := latest.TryRecv()
	fmt.Println("now", now, "after", history.Len(), "prices")
	for price := range late.Values(ctx).All() {
		fmt.Println("late:", price)
	}
	// Output:
	// now 98 after 4 prices
	// late: 100
	// late: 98
}

// The capacity bounds the queue of each subscription. With DropOldest, a slow one misses the
// oldest values; senders never wait.
func ExampleNew() {
	ctx := context.Background()
	prices := hub.New[int](2, nil)
	slow, err := prices.Subscribe(&hub.SubscriptionOptions[int]{Overflow: sluice.DropOldest})
	if err != nil { // the hub is closed
		fmt.Println(err)
		return
	}
	for _, price := range []int{101, 99, 100, 98} {
		_ = prices.Send(ctx, price) // fails only after Close
	}
	prices.Close()

	for price := range slow.Values(ctx).All() {
		fmt.Println(price)
	}
	fmt.Println("missed:", slow.Stats().Dropped)
	// Output:
	// 100
	// 98
	// missed: 2
}

// A subscription that must not miss a value, and must not hold up the others either, is evicted
// when it is too slow. It reads why.
func ExampleSubscription_evicted() {
	ctx := context.Background()
	orders := hub.New[int](2, nil)
	slow, _ := orders.Subscribe(&hub.SubscriptionOptions[int]{Overflow: sluice.Evict})
	defer slow.Close()

	for order := range 3 {
		_ = orders.Send(ctx, order) // does not wait
	}

	values := slow.Values(ctx)
	for order := range values.All() {
		fmt.Println("order", order)
	}
	if err := values.Err(); errors.Is(err, hub.ErrEvicted) {
		fmt.Println(err)
	}
	// Output:
	// hub: subscription evicted: its queue of 2 values was full
}

// The account of a subscription.
func ExampleSubscription_Stats() {
	events := hub.New[string](2, nil)
	behind, _ := events.Subscribe(&hub.SubscriptionOptions[string]{Overflow: sluice.DropOldest})
	defer behind.Close()
	for _, e := range []string{"a", "b", "c"} {
		_ = events.TrySend(e)
	}
	s := behind.Stats()
	fmt.Println("sent", s.Sent, "dropped", s.Dropped, "queued", s.Len)
	// Output: sent 3 dropped 1 queued 2
}

// A publisher that counts who has each message also has to know who will not get it.
func ExampleSubscriptionOptions() {
	messages := hub.New[string](2, nil)
	slow, _ := messages.Subscribe(&hub.SubscriptionOptions[string]{
		Overflow:      sluice.DropOldest,
		OnUndelivered: func(m string, why sluice.Reason) { fmt.Println("not delivered:", m, why) },
	})
	for _, m := range []string{"a", "b", "c"} {
		_ = messages.TrySend(m)
	}
	m, _ := slow.TryRecv()
	fmt.Println("delivered:", m)
	slow.Close()
	// Output:
	// not delivered: a Overflowed
	// delivered: b
	// not delivered: c Discarded
}

// A subscription gets the values that it wants, and delays senders once, for a second.
func ExampleSubscriptionOptions_filter() {
	ctx := context.Background()
	prices := hub.New[int](64, nil)
	high, _ := prices.Subscribe(&hub.SubscriptionOptions[int]{
		Capacity:  2,
		Filter:    func(price int) bool { return price >= 100 },
		DropAfter: time.Second, // if it is stuck, it misses its oldest values
	})
	for _, price := range []int{99, 101, 98, 97, 102} {
		_ = prices.Send(ctx, price)
	}
	prices.Close()

	for price := range high.Values(ctx).All() {
		fmt.Println(price)
	}
	fmt.Println("missed", high.Stats().Dropped)
	// Output:
	// 101
	// 102
	// missed 0
}
