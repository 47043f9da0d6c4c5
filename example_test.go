package sluice_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/inspect"
)

// The first example: a queue that grows with a burst, up to a limit that its
// author has to name, and gives the memory back.
func Example() {
	ctx := context.Background()
	lines := sluice.NewElastic[string](1_000_000, nil)

	go func() {
		defer lines.Close()
		for n := range 3 {
			if err := lines.Send(ctx, fmt.Sprintf("line %d", n)); err != nil {
				return // closed, or ctx is done: the line was not sent
			}
		}
	}()

	values := lines.Values(ctx)
	for line := range values.All() {
		fmt.Println(line)
	}
	fmt.Println(values.Err()) // nil: lines was closed, and no line is missing
	// Output:
	// line 0
	// line 1
	// line 2
	// <nil>
}

// A Send that returns nil was taken by a receiver: there is no buffer in which
// a value could be forgotten.
func ExampleRendezvous() {
	ctx := context.Background()
	orders := sluice.NewRendezvous[string](nil)

	served := make(chan struct{})
	go func() {
		defer close(served)
		order, _ := orders.Recv(ctx)
		fmt.Println("cooking", order)
	}()

	if err := orders.Send(ctx, "soup"); err != nil {
		fmt.Println(err)
	}
	<-served
	fmt.Println(orders.TrySend("cake")) // nobody waits for it
	// Output:
	// cooking soup
	// sluice: channel full
}

// A channel that has a name is listed as long as anybody uses it: here, who waits for
// what, when a program seems to hang.
func ExampleChannels() {
	ctx, cancel := context.WithCancel(context.Background())
	orders := sluice.NewBounded[string](2, &sluice.BoundedOptions[string]{Name: "orders"})
	done := make(chan error)
	for _, order := range []string{"soup", "tea", "cake"} {
		go func() { done <- orders.Send(ctx, order) }() // the last one finds no room
	}
	<-done
	<-done

	for _, channel := range inspect.Channels() {
		if channel.Name != "orders" {
			continue
		}
		for {
			inside, ok := channel.Snapshot()
			if ok && len(inside.Senders) == 1 && inside.Senders[0] > 0 {
				fmt.Printf("%s: %d of %d queued, waiting to send: %d\n",
					channel.Kind, inside.Stats.Len, inside.Stats.Cap, inside.Stats.SendersWaiting)
				break
			}
			time.Sleep(time.Millisecond) // it is on its way to sleep
		}
	}
	cancel()
	fmt.Println(<-done)
	// Output:
	// Bounded: 2 of 2 queued, waiting to send: 1
	// context canceled
}

// With one slot and DropOldest a Bounded is a mailbox that holds the freshest
// value. OnDrop sees what was displaced.
func ExampleBounded_mailbox() {
	ctx := context.Background()
	position := sluice.NewBounded(1, &sluice.BoundedOptions[int]{
		Overflow: sluice.DropOldest,
		OnDrop:   func(old int) { fmt.Println("missed", old) },
	})

	for _, at := range []int{10, 20, 30} {
		if err := position.Send(ctx, at); err != nil { // never waits
			fmt.Println(err)
		}
	}
	latest, _ := position.Recv(ctx)
	fmt.Println("at", latest)
	// Output:
	// missed 10
	// missed 20
	// at 30
}

// A full channel that must not hold up its senders says so.
func ExampleBounded_TrySend() {
	jobs := sluice.NewBounded[string](1, nil)
	for _, job := range []string{"first", "second"} {
		if err := jobs.TrySend(job); errors.Is(err, sluice.ErrFull) {
			fmt.Println(job, "is refused")
		}
	}
	// Output:
	// second is refused
}

// A receiver that takes what has come together pays for one hand-over, not for
// one for each value.
func ExampleElastic_RecvBatch() {
	ctx := context.Background()
	readings := sluice.NewElastic[int](sluice.Unlimited, nil)

	if _, err := readings.SendBatch(ctx, []int{1, 2, 3, 4, 5}); err != nil {
		fmt.Println(err)
	}
	readings.Close()

	batch := make([]int, 3)
	for {
		n, err := readings.RecvBatch(ctx, batch)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(batch[:n])
	}
	// Output:
	// [1 2 3]
	// [4 5]
	// sluice: channel closed
}

// A bound in bytes as well as in values: what is queued never takes more.
func ExampleNewElastic_limitBytes() {
	messages := sluice.NewElastic(1000, &sluice.ElasticOptions[string]{
		LimitBytes: 10,
		Size:       func(message string) int { return len(message) },
	})
	for _, message := range []string{"seven..", "four", "ok.", "much too long"} {
		fmt.Println(messages.TrySend(message))
	}
	// Output:
	// <nil>
	// sluice: channel full
	// <nil>
	// sluice: value larger than the byte limit
}

// The wait ends with its context. The value that could not be sent is the
// caller's again: it will never be delivered.
func ExampleBounded_Send_cancelled() {
	full := sluice.NewBounded[int](1, nil)
	if err := full.TrySend(1); err != nil {
		fmt.Println(err)
	}

	ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
	defer cancel()
	fmt.Println(full.Send(ctx, 2))
	fmt.Println(full.Len(), "queued")
	// Output:
	// context deadline exceeded
	// 1 queued
}

// Close may come from anywhere and any number of times. What is buffered stays
// receivable.
func ExampleBounded_Close() {
	ctx := context.Background()
	c := sluice.NewBounded[string](4, nil)
	_ = c.Send(ctx, "last words") // there is room: it cannot fail
	c.Close()
	c.Close()

	fmt.Println(c.Send(ctx, "too late"))
	fmt.Println(c.Recv(ctx))
	_, err := c.Recv(ctx)
	fmt.Println(errors.Is(err, sluice.ErrClosed))
	// Output:
	// sluice: channel closed
	// last words <nil>
	// true
}

// Err reports why a loop ended. This one ended because of its context, so some values may be
// missing; it is nil after a loop that received everything.
func ExampleBounded_Values() {
	ctx, cancel := context.WithCancel(context.Background())
	c := sluice.NewBounded[int](4, nil)
	_, _ = c.SendBatch(ctx, []int{1, 2})
	cancel()

	values := c.Values(ctx)
	for v := range values.All() { // queued values are received without a wait
		fmt.Println(v)
	}
	fmt.Println(values.Err())
	// Output:
	// 1
	// 2
	// context canceled
}

// Ready goes into a select beside built-in channels.
func ExampleElastic_Ready() {
	events := sluice.NewElastic[string](100, nil)
	quit := make(chan struct{})
	for _, event := range []string{"open", "write"} {
		_ = events.TrySend(event) // the limit is far away
	}

	select {
	case <-events.Ready():
		for {
			event, err := events.TryRecv()
			if err != nil { // ErrEmpty: back to the select
				break
			}
			fmt.Println(event)
		}
	case <-quit:
	}
	// Output:
	// open
	// write
}

// One consistent view: what was sent is received, dropped or queued.
func ExampleBounded_Stats() {
	ctx := context.Background()
	c := sluice.NewBounded(8, &sluice.BoundedOptions[int]{Name: "readings"})
	_, _ = c.SendBatch(ctx, []int{1, 2, 3})
	_, _ = c.Recv(ctx)

	s := c.Stats()
	fmt.Println(s.Name, s.Sent, "sent", s.Received, "received", s.Len, "of", s.Cap, "queued", s.HighWater, "at most")
	// Output:
	// readings 3 sent 1 received 2 of 8 queued 3 at most
}

// A channel for many CPUs. What is sent on one lane, or with one key, comes out
// in order.
func ExampleSharded() {
	ctx := context.Background()
	clicks := sluice.NewSharded[string](1000, nil)

	mine := clicks.Lane() // one for each goroutine that sends much
	for _, page := range []string{"a", "b", "c"} {
		if err := mine.Send(ctx, page); err != nil {
			fmt.Println(err)
		}
	}
	mine.Close()
	clicks.Close()

	buf := make([]string, 64)
	for {
		n, err := clicks.RecvBatch(ctx, buf)
		if err != nil {
			fmt.Println(err)
			break
		}
		fmt.Println(buf[:n])
	}
	// Output:
	// [a b c]
	// sluice: channel closed
}

// What belongs together goes into one lane by its key, whoever sends it.
func ExampleSharded_SendKey() {
	ctx := context.Background()
	payments := sluice.NewSharded[string](1000, &sluice.ShardedOptions[string]{Lanes: 4})

	const account = 4711
	_ = payments.SendKey(ctx, account, "deposit")
	_ = payments.SendKey(ctx, account, "withdrawal")
	payments.Close()

	for payment := range payments.Values(ctx).All() {
		fmt.Println(payment)
	}
	// Output:
	// deposit
	// withdrawal
}
