package hubchannel_test

import (
	"context"
	"fmt"

	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill/message"

	hubchannel "github.com/sluice-go/sluice/contrib/watermill"
)

func Example() {
	pubSub := hubchannel.New(hubchannel.Config{Capacity: 1000}, nil) // was gochannel.NewGoChannel
	defer pubSub.Close()
	messages, err := pubSub.Subscribe(context.Background(), "orders")
	if err != nil {
		panic(err)
	}
	for _, order := range []string{"one", "two", "three"} {
		if err := pubSub.Publish("orders", message.NewMessage(watermill.NewUUID(), []byte(order))); err != nil {
			panic(err)
		}
	}
	failures := 1
	for range 4 {
		m := <-messages
		if string(m.Payload) == "two" && failures > 0 {
			failures--
			fmt.Println("failed:", string(m.Payload))
			m.Nack() // it comes again, before the next one
			continue
		}
		fmt.Println("done:", string(m.Payload))
		m.Ack()
	}
	// Output:
	// done: one
	// failed: two
	// done: two
	// done: three
}
