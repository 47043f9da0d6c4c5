package spill_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/spill"
)

// A channel of lines that uses 1 MiB of memory, and the disk for the rest.
func ExampleOpenElastic() {
	ctx := context.Background()
	lines, err := spill.OpenElastic(os.TempDir(), &spill.ElasticOptions[string]{MemoryLimit: 1 << 20})
	if err != nil {
		fmt.Println(err) // names the directory and the reason
		return
	}
	for n := range 100_000 {
		if err := lines.Send(ctx, fmt.Sprintf("line %d of a service that logs a lot", n)); err != nil {
			fmt.Println(err)
			return
		}
	}
	lines.Close()

	fmt.Println("queued:", lines.Len(), "some on disk:", lines.Stats().Disk.Bytes > 0)
	received := 0
	values := lines.Values(ctx)
	for range values.All() {
		received++
	}
	if err := values.Err(); err != nil {
		fmt.Println(err) // a block could not be read back
		return
	}
	fmt.Println("received:", received, "on disk:", lines.Stats().Disk.Bytes)
	// Output:
	// queued: 100000 some on disk: true
	// received: 100000 on disk: 0
}

// A queue of the latest 1000 lines, most of them on disk: a new line takes the place of the oldest.
func ExampleElasticOptions() {
	lines, err := spill.OpenElastic(os.TempDir(), &spill.ElasticOptions[string]{
		MemoryLimit: 1 << 10, // a few lines; the others are on disk
		Capacity:    1000,
		Overflow:    sluice.DropOldest,
		OnUndelivered: func(line string, why sluice.Reason) {
			if line == "line 0" {
				fmt.Println("dropped first:", line, why)
			}
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for n := range 1500 {
		if err := lines.Send(context.Background(), fmt.Sprint("line ", n)); err != nil {
			fmt.Println(err)
			return
		}
	}
	oldest, _ := lines.TryRecv()
	s := lines.Stats()
	fmt.Println(oldest, s.Sent, s.Dropped, lines.Len(), lines.Cap())
	// Output:
	// dropped first: line 0 Overflowed
	// line 500 1500 500 999 1000
}

// A queue of jobs that survives the process: jobs without an Ack are delivered again.
func ExampleOpenDurable() {
	ctx := context.Background()
	dir := filepath.Join(os.TempDir(), fmt.Sprint("jobs-", os.Getpid()))
	defer os.RemoveAll(dir)

	jobs, err := spill.OpenDurable[string](dir, nil)
	if err != nil {
		fmt.Println(err) // for example: in use by another process, or damaged
		return
	}
	if n, err := jobs.SendBatch(ctx, []string{"resize", "upload", "notify"}); err != nil {
		fmt.Println(n, err)
		return
	}
	first, _ := jobs.Recv(ctx)
	second, _ := jobs.Recv(ctx)
	fmt.Println(first.Value, first.Ack()) // deleted from disk
	fmt.Println(second.Value)             // the process ends before Ack
	_ = jobs.Shutdown()

	jobs, err = spill.OpenDurable[string](dir, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer jobs.Shutdown()
	jobs.Close() // no more sends
	values := jobs.Values(ctx)
	for job := range values.All() {
		fmt.Println("after reopening:", job.Value, job.Ack())
	}
	fmt.Println(values.Err())
	// Output:
	// resize <nil>
	// upload
	// after reopening: upload <nil>
	// after reopening: notify <nil>
	// <nil>
}

// A queue of readings for a server that may be away for days: it keeps the latest ones, up to a
// limit, and the program learns which ones were dropped.
func ExampleOpenDurable_overflow() {
	ctx := context.Background()
	dir := filepath.Join(os.TempDir(), fmt.Sprint("readings-", os.Getpid()))
	defer os.RemoveAll(dir)

	readings, err := spill.OpenDurable(dir, &spill.DurableOptions[string]{
		Capacity: 3,
		Overflow: sluice.DropOldest,
		MaxAge:   24 * time.Hour, // older ones are of no use to the server
		OnUndelivered: func(v string, why sluice.Reason) {
			fmt.Println("dropped:", v, why)
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer readings.Shutdown()
	for hour := range 5 {
		if err := readings.Send(ctx, fmt.Sprint("reading ", hour)); err != nil {
			fmt.Println(err) // the disk, not the limit
			return
		}
	}
	first, _ := readings.Recv(ctx)
	fmt.Println("received:", first.Value, first.Ack(), "queued:", readings.Len())
	// Output:
	// dropped: reading 0 Overflowed
	// dropped: reading 1 Overflowed
	// received: reading 2 <nil> queued: 2
}

// Receive plain values from a Durable: each is acknowledged as it is received.
func ExampleDurable_AutoAck() {
	ctx := context.Background()
	dir := filepath.Join(os.TempDir(), fmt.Sprint("mails-", os.Getpid()))
	defer os.RemoveAll(dir)

	mails, err := spill.OpenDurable[string](dir, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer mails.Shutdown()
	if _, err := mails.SendBatch(ctx, []string{"welcome", "invoice"}); err != nil {
		fmt.Println(err)
		return
	}
	mails.Close()
	values := mails.AutoAck().Values(ctx)
	for mail := range values.All() {
		fmt.Println(mail)
	}
	fmt.Println("in flight:", mails.InFlight(), "error:", values.Err())
	// Output:
	// welcome
	// invoice
	// in flight: 0 error: <nil>
}

// Wait for a queue on disk and for a channel in memory at the same time.
func ExampleElastic_select() {
	ctx := context.Background()
	lines, err := spill.OpenElastic[string](os.TempDir(), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	signals := sluice.NewBounded[string](1, nil)
	line, signal := sluice.OnRecv(lines), sluice.OnRecv(signals)

	if err := lines.Send(ctx, "a line"); err != nil {
		fmt.Println(err)
		return
	}
	for range 2 {
		chosen, err := sluice.Select(ctx, line, signal)
		if err != nil {
			fmt.Println(err)
			return
		}
		switch chosen {
		case line:
			fmt.Println("received", line.Value)
			_ = signals.Send(ctx, "rotate")
		case signal:
			fmt.Println("signal", signal.Value)
		}
	}
	// Output:
	// received a line
	// signal rotate
}

// A loop over a backlog ends where its body looks at the context: a receive that finds a value
// returns it even if its context is done.
func ExampleDurable_Values() {
	ctx, stop := context.WithCancel(context.Background()) // in a program: signal.NotifyContext
	defer stop()
	dir := filepath.Join(os.TempDir(), fmt.Sprint("orders-", os.Getpid()))
	defer os.RemoveAll(dir)

	orders, err := spill.OpenDurable[string](dir, &spill.DurableOptions[string]{OnDamage: spill.SetDamageAside})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer orders.Shutdown()
	if _, err := orders.SendBatch(ctx, []string{"a", "b", "c"}); err != nil {
		fmt.Println(err)
		return
	}
	values := orders.Values(ctx)
	for order := range values.All() {
		fmt.Println(order.Value)
		if err := order.Ack(); err != nil && !errors.Is(err, spill.ErrReopened) { // ErrReopened: it comes again
			fmt.Println(err)
			return
		}
		stop() // Ctrl-C
		if ctx.Err() != nil {
			break
		}
	}
	fmt.Println("left:", orders.Len())
	// Output:
	// a
	// left: 2
}

// A producer and a consumer that go on after a full disk, damage, and kill -9.
func ExampleOpenDurable_outage() {
	ctx, stop := context.WithCancel(context.Background()) // in a program: signal.NotifyContext
	defer stop()
	dir := filepath.Join(os.TempDir(), fmt.Sprint("orders-", os.Getpid()))
	defer os.RemoveAll(dir)

	orders, err := spill.OpenDurable(dir, &spill.DurableOptions[string]{OnDamage: spill.SetDamageAside})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer orders.Shutdown()
	again := func(f func() error) error { // while the disk is full
		for {
			err := f()
			if !spill.IsDiskFull(err) || ctx.Err() != nil {
				return err
			}
			time.Sleep(time.Second)
		}
	}

	go func() { // the producer
		defer orders.Close()
		for i := range 3 {
			if err := again(func() error { return orders.Send(ctx, fmt.Sprint("order ", i)) }); err != nil {
				fmt.Println("not stored:", err)
				return
			}
		}
	}()

	for ctx.Err() == nil { // the consumer
		d, err := orders.Recv(ctx)
		var bad *spill.RecordError
		switch {
		case err == nil:
			fmt.Println(d.Value)
			err = again(d.Ack)
		case errors.As(err, &bad): // the codec cannot decode it, for example after a change of the type
			fmt.Printf("cannot decode %q\n", bad.Raw) // keep it elsewhere
			err = again(bad.Drop)
		}
		if err != nil && !errors.Is(err, spill.ErrReopened) { // ErrReopened: after damage, the value comes again
			fmt.Println("the end:", err) // ErrClosed: all were received; ErrFailed: start the program again; or Ctrl-C
			break
		}
	}
	if r := orders.Repaired(); r.Err != nil {
		fmt.Println("damage:", r) // what was lost, if anything
	}
	fmt.Println("left:", orders.Len()+orders.InFlight())
	// Output:
	// order 0
	// order 1
	// order 2
	// the end: sluice: channel closed
	// left: 0
}

// A record that the codec cannot decode is an error of each receive until its Drop.
func ExampleRecordError() {
	ctx := context.Background()
	dir := filepath.Join(os.TempDir(), fmt.Sprint("prices-", os.Getpid()))
	defer os.RemoveAll(dir)
	old, err := spill.OpenDurable[json.Number](dir, nil) // what an earlier version of the program stored
	if err != nil {
		fmt.Println(err)
		return
	}
	_ = old.Send(ctx, "12.50")
	_ = old.Shutdown()

	cents, err := spill.OpenDurable[int](dir, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer cents.Shutdown()
	_ = cents.Send(ctx, 1400)

	var bad *spill.RecordError
	if _, err := cents.Recv(ctx); errors.As(err, &bad) {
		fmt.Printf("cannot decode %s\n", bad.Raw)
		_ = bad.Drop()
	}
	d, _ := cents.Recv(ctx)
	fmt.Println("cents:", d.Value, d.Ack())
	// Output:
	// cannot decode 12.50
	// cents: 1400 <nil>
}
