package hubchannel

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/sluice-go/sluice/internal/suite"
)

// TestStorm has publishers that reach the bound, subscribers that nack and ack from other
// goroutines, and others that come and go. A lost wake-up is a test that does not end.
func TestStorm(t *testing.T) {
	const publishers, subscribers, guests = 3, 3, 20
	each := suite.Rounds(200, 1000)
	for _, config := range []Config{
		{}, {Capacity: 1}, {Capacity: 7, OutputChannelBuffer: 3}, {OutputChannelBuffer: 10},
		{Capacity: 2, BlockPublishUntilSubscriberAck: true},
	} {
		t.Run(fmt.Sprintf("%+v", config), func(t *testing.T) {
			t.Parallel()
			p := New(config, nil)
			orders := make([][]string, subscribers)
			var working sync.WaitGroup
			for i := range orders {
				messages, err := p.Subscribe(context.Background(), "topic")
				if err != nil {
					t.Fatal(err)
				}
				working.Go(func() {
					orders[i] = collect(messages, publishers*each, int(config.OutputChannelBuffer))
				})
			}
			for i := range publishers {
				working.Go(func() {
					for k := range each {
						if err := p.Publish("topic", message.NewMessage(fmt.Sprint(i, " ", k), nil)); err != nil {
							t.Error(err)
						}
					}
				})
			}
			working.Go(func() {
				for range guests {
					ctx, cancel := context.WithCancel(context.Background())
					messages, err := p.Subscribe(ctx, "topic")
					if err != nil {
						t.Error(err)
					}
					if m := len(orders); rand.IntN(m) > 0 {
						select {
						case m := <-messages:
							m.Nack()
						default:
						}
					}
					cancel()
					for range messages {
					}
				}
			})
			working.Wait()
			if err := p.Close(); err != nil {
				t.Error(err)
			}
			checkOrders(t, orders, each)
		})
	}
}

// collect receives n messages, acks them, and returns their order. Up to ahead of them are unacked
// while the next one is received. It nacks some if they come one at a time, and expects them again at once.
func collect(messages <-chan *message.Message, n, ahead int) (order []string) {
	acks := make(chan *message.Message, ahead)
	var acking sync.WaitGroup
	acking.Go(func() {
		for m := range acks {
			m.Ack()
		}
	})
	for len(order) < n {
		m := <-messages
		for ahead == 0 && rand.IntN(4) == 0 {
			m.Nack()
			again := <-messages
			if again.UUID != m.UUID {
				return append(order, "after a nack of "+m.UUID+": "+again.UUID)
			}
			m = again
		}
		order = append(order, m.UUID)
		acks <- m
	}
	close(acks)
	acking.Wait()
	return order
}

// checkOrders: all subscribers have the same order, which keeps the order of each publisher.
func checkOrders(t *testing.T, orders [][]string, each int) {
	t.Helper()
	next := map[int]int{}
	for k, uuid := range orders[0] {
		var publisher, number int
		if _, err := fmt.Sscan(uuid, &publisher, &number); err != nil || number != next[publisher] {
			t.Fatalf("%q in place %d; want number %d", uuid, k, next[publisher])
		}
		next[publisher]++
		for i, other := range orders {
			if len(other) != len(orders[0]) || other[k] != uuid {
				t.Fatalf("subscriber %d has another order", i)
			}
		}
	}
}
