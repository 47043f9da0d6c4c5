package jetstream_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"

	"github.com/sluice-go/sluice/jetstream"
	"github.com/sluice-go/sluice/workers"
)

// A channel is used like any other. With a URL, the servers and the receivers can be
// on other machines.
func Example() {
	ctx := context.Background()
	c, err := jetstream.Open(ctx, &jetstream.Options[string]{Name: "greetings"})
	if err != nil {
		panic(err)
	}
	defer c.Shutdown(ctx)
	if err := c.Send(ctx, "hello"); err != nil {
		panic(err)
	}
	if _, err := c.SendBatch(ctx, []string{"and", "goodbye"}); err != nil {
		panic(err)
	}
	c.Close() // for every process
	values := c.Values(ctx)
	for v := range values.All() {
		fmt.Println(v)
	}
	if err := values.Err(); err != nil {
		panic(err)
	}
	// Output:
	// hello
	// and
	// goodbye
}

// Without a URL, Open starts a server in the process, and Dir is where it stores the
// values: they are there after a restart.
func ExampleOpen() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "orders-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	options := &jetstream.Options[string]{Name: "orders", Dir: dir}
	for _, order := range []string{"tea", "coffee"} {
		c, err := jetstream.Open(ctx, options) // as after a restart
		if err != nil {
			panic(err)
		}
		if err := c.Send(ctx, order); err != nil {
			panic(err)
		}
		fmt.Println(c.Len(), "stored")
		if err := c.Shutdown(ctx); err != nil {
			panic(err)
		}
	}
	// Output:
	// 1 stored
	// 2 stored
}

// Jobs that must survive the death of a worker are received as deliveries: failed
// jobs are redelivered, and moved to the dead letters after MaxDeliver attempts.
func ExampleAckEach() {
	ctx := context.Background()
	c, err := jetstream.Open(ctx, &jetstream.Options[int]{
		Name: "jobs", MaxDeliver: 2, NackDelay: -1, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		panic(err)
	}
	defer c.Shutdown(ctx)
	if _, err := c.SendBatch(ctx, []int{20, 0}); err != nil {
		panic(err)
	}
	c.Close()
	err = workers.Run(ctx, c.Deliveries(), 1, jetstream.AckEach(func(_ context.Context, n int) error {
		if n == 0 {
			return errors.New("division by zero")
		}
		fmt.Println(100 / n)
		return nil
	}), nil)
	if err != nil {
		panic(err)
	}
	dead, err := c.DeadLetters(ctx)
	if err != nil {
		panic(err)
	}
	defer dead.Shutdown(ctx)
	d, err := dead.Deliveries().Recv(ctx)
	if err != nil {
		panic(err)
	}
	fmt.Println(d.Value, d.Reason)
	_ = d.Ack()
	// Output:
	// 5
	// 0 delivered 2 times: Nack in the last attempt
}

// Four streams share the values. Those of each account arrive in order, at any number of
// receivers, in any number of processes.
func ExampleOpenKeyed() {
	ctx := context.Background()
	account := func(v string) string { key, _, _ := strings.Cut(v, ":"); return key }
	c, err := jetstream.OpenKeyed(ctx, 4, account, &jetstream.Options[string]{Name: "payments", Ordered: true})
	if err != nil {
		panic(err)
	}
	defer c.Shutdown(ctx)
	if _, err := c.SendBatch(ctx, []string{"anna:open", "anna:pay"}); err != nil {
		panic(err)
	}
	if err := c.Send(ctx, "anna:close"); err != nil {
		panic(err)
	}
	c.Close()
	values := c.Values(ctx)
	for v := range values.All() {
		fmt.Println(v)
	}
	if err := values.Err(); err != nil {
		panic(err)
	}
	// Output:
	// anna:open
	// anna:pay
	// anna:close
}
