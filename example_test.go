package sluice_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/inspect"
)

// An Elastic grows during a burst, up to a limit that must be given, and returns the
// memory afterwards.
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

// If Send returns nil, a receiver has taken the value: there is no buffer in which it
// could be lost.
func ExampleNewRendezvous() {
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
	fmt.Println(orders.TrySend("cake")) // no receiver is waiting
	// Output:
	// cooking soup
	// sluice: channel full
}

// A channel with a name is registered until it is garbage. If a program seems to hang,
// its Stats show which channel the senders wait for.
func Example_namedChannels() {
	ctx, cancel := context.WithCancel(context.Background())
	orders := sluice.NewBounded[string](2, &sluice.BoundedOptions[string]{Name: "orders"})
	done := make(chan error)
	for _, order := range []string{"soup", "tea", "cake"} {
		go func() { done <- orders.Send(ctx, order) }() // the third one waits for room
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
			time.Sleep(time.Millisecond) // the sender is about to park
		}
	}
	cancel()
	fmt.Println(<-done)
	// Output:
	// Bounded: 2 of 2 queued, waiting to send: 1
	// context canceled
}

// A full Bounded makes its senders wait, so they are never more than its capacity ahead.
func ExampleNewBounded() {
	ctx := context.Background()
	jobs := sluice.NewBounded[int](2, nil)

	go func() {
		defer jobs.Close()
		for n := range 5 {
			if err := jobs.Send(ctx, n); err != nil { // closed, or ctx is done
				return
			}
		}
	}()

	for n := range jobs.Values(ctx).All() {
		fmt.Println("job", n)
	}
	// Output:
	// job 0
	// job 1
	// job 2
	// job 3
	// job 4
}

// NewValues loops over any Receiver, such as a parameter, which may lack the method Values.
func ExampleNewValues() {
	sum := func(ctx context.Context, numbers sluice.Receiver[int]) (total int, err error) {
		values := sluice.NewValues(ctx, numbers)
		for n := range values.All() {
			total += n
		}
		return total, values.Err()
	}

	numbers := sluice.NewElastic[int](1000, nil)
	for n := range 5 {
		_ = numbers.TrySend(n)
	}
	numbers.Close()
	fmt.Println(sum(context.Background(), numbers))
	// Output: 10 <nil>
}

// With one slot and DropOldest, a Bounded is a mailbox that holds the freshest value.
// OnUndelivered receives the values that were discarded.
func ExampleBounded_mailbox() {
	ctx := context.Background()
	position := sluice.NewBounded(1, &sluice.BoundedOptions[int]{
		Overflow:      sluice.DropOldest,
		OnUndelivered: func(old int, _ sluice.Reason) { fmt.Println("missed", old) },
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

// TrySend does not wait. If the channel is full, it returns ErrFull.
func ExampleBounded_TrySend() {
	jobs := sluice.NewBounded[string](1, nil)
	for _, job := range []string{"first", "second"} {
		if err := jobs.TrySend(job); errors.Is(err, sluice.ErrFull) {
			fmt.Println(job, "was rejected")
		}
	}
	// Output:
	// second was rejected
}

// RecvBatch receives all values that are queued, up to the size of the slice, for the
// price of one transfer.
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

// A limit in bytes, in addition to the limit in values.
func ExampleNewElastic_maxBytes() {
	messages := sluice.NewElastic(1000, &sluice.ElasticOptions[string]{
		MaxBytes: 10,
		Size:     func(message string) int { return len(message) },
	})
	for _, message := range []string{"seven..", "four", "ok.", "much too long"} {
		fmt.Println(messages.TrySend(message))
	}
	// Output:
	// <nil>
	// sluice: channel full
	// <nil>
	// sluice: larger than the limit
}

// Send stops waiting when its context is done. The value was not sent and will never be
// delivered.
func ExampleBounded_Send_canceled() {
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

// Close is idempotent and safe from any goroutine. Queued values can still be received.
func ExampleBounded_Close() {
	ctx := context.Background()
	c := sluice.NewBounded[string](4, nil)
	_ = c.Send(ctx, "last words") // there is room, so it cannot fail
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

// Err reports why a loop ended. This loop ended because of its context, so values may be
// missing. After a loop that received everything, Err is nil.
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

// Ready is a case in a select statement with built-in channels. Drain yields the values
// that are queued.
func ExampleElastic_Ready() {
	events := sluice.NewElastic[string](100, nil)
	quit := make(chan struct{})
	for _, event := range []string{"open", "write"} {
		_ = events.TrySend(event) // there is room
	}

	select {
	case <-events.Ready():
		for event := range events.Drain() {
			fmt.Println(event)
		}
	case <-quit:
	}
	// Output:
	// open
	// write
}

// Stats returns a consistent view: every value sent was received, dropped, or is queued.
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

// A Sharded reduces contention on many CPUs. Values sent on one lane, or with one key,
// arrive in order.
func ExampleNewSharded() {
	ctx := context.Background()
	clicks := sluice.NewSharded[string](1000, nil)

	mine := clicks.Lane() // one per goroutine that sends often
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

// Values with the same key go through the same lane, so they arrive in the order in which
// a goroutine sent them.
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

// What happens when a channel is full is its own choice; a send takes a context.
func Example_overflow() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()

	latest := sluice.NewBounded[int](2, &sluice.BoundedOptions[int]{Overflow: sluice.DropOldest})
	for n := range 5 {
		if err := latest.Send(ctx, n); err != nil { // closed, or ctx is done
			return
		}
	}
	latest.Close() // by any goroutine, any number of times; queued values can still be received

	for n := range latest.Values(ctx).All() {
		fmt.Println(n)
	}
	// Output:
	// 3
	// 4
}

// A full Priority drops what matters least: the newest value of the least urgent level.
func ExampleNewPriority() {
	ctx := context.Background()
	alarms := sluice.NewPriority(3, 2, &sluice.PriorityOptions[string]{
		Overflow:      sluice.DropLeastUrgent,
		OnUndelivered: func(alarm string, _ sluice.Reason) { fmt.Println("dropped:", alarm) },
	})
	_ = alarms.Level(2).Send(ctx, "disk 80% full")
	_ = alarms.Level(1).Send(ctx, "backup failed")
	_ = alarms.Level(0).Send(ctx, "no power")
	alarms.Close()
	for alarm := range alarms.Values(ctx).All() {
		fmt.Println(alarm)
	}
	// Output:
	// dropped: disk 80% full
	// no power
	// backup failed
}

// A value can be received when it is due, and canceled before.
func ExampleNewDelay() {
	ctx := context.Background()
	reminders := sluice.NewDelay[string](100, nil)
	tea, _ := reminders.SendAfter(ctx, 3*time.Minute, "tea is ready")
	_, _ = reminders.SendAfter(ctx, 10*time.Millisecond, "put the kettle on")
	fmt.Println(reminders.Recv(ctx)) // after 10 ms
	_, err := reminders.TryRecv()
	fmt.Println(err, reminders.Len())
	fmt.Println(tea.Cancel())
	// Output:
	// put the kettle on <nil>
	// sluice: channel empty 1
	// tea is ready true
}
