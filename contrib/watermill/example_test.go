package hubchannel_test

import (
	"context"
	"fmt"

	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill/message"

	hubchannel "github.com/sluice-go/sluice/contrib/watermill"
)

func ExampleNew() {
	pubSub := hubchannel.New(hubchannel.Config{Capacity: 1000}, nil) // was gochannel.NewGoChannel
	orders, err := pubSub.Subscribe(context.Background(), "orders")
	if err != nil {
		fmt.Println(err)
	}
	for _, order := range []string{"one", "two", "three"} {
		if err := pubSub.Publish("orders", message.NewMessage(watermill.NewUUID(), []byte(order))); err != nil {
			fmt.Println(err)
		}
	}
	for attempt := range 4 {
		m := <-orders
		if attempt == 1 {
			fmt.Println("failed:", string(m.Payload))
			m.Nack() // so it comes again, before the next one
			continue
		}
		fmt.Println("done:", string(m.Payload))
		m.Ack()
	}
	fmt.Println(pubSub.Close())
	// Output:
	// done: one
	// failed: two
	// done: two
	// done: three
	// <nil>
}
