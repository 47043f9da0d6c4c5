package main

// One dispatcher with a channel per client.
var _ = register(scenario{
	Name: "broker",
	About: "A dispatcher sends each message to 24 clients, over an unbuffered channel per client. It waits " +
		"for each client's goroutine to run.",
	Channels: true,
	Sites:    []site{{send, "main.(*broker).dispatch"}, {receive, "main.(*subscriber).consume"}},
	Right:    []string{buffer, batch},
	builds: map[string]build{
		asFound: func(s *service) { startBroker(s, 0) },
		buffer:  func(s *service) { startBroker(s, 128) },
		batch:   brokerInBatches,
	},
})

const (
	subscribers = 24
	brokerBatch = 32
)

// A message goes to every client.
type message struct {
	topic, body uint64
}

type broker struct {
	clients [subscribers]*subscriber
}

type subscriber struct {
	inbox  chan message
	topics [16]uint64
}

func startBroker(s *service, capacity int) {
	b := new(broker)
	for i := range b.clients {
		b.clients[i] = &subscriber{inbox: make(chan message, capacity)}
		go b.clients[i].consume(s.counter())
	}
	go b.dispatch()
}

func (b *broker) dispatch() {
	for n := uint64(0); ; n++ {
		m := message{topic: n % 16, body: grind(n, 50)}
		for _, c := range b.clients {
			c.inbox <- m
		}
	}
}

func (c *subscriber) consume(done *counter) {
	for m := range c.inbox {
		c.topics[m.topic] += grind(m.body, 20)
		done.add(1)
	}
}

// brokerInBatches sends the same read-only slice to all clients.
func brokerInBatches(s *service) {
	var inboxes [subscribers]chan []message
	for i := range inboxes {
		inboxes[i] = make(chan []message)
		done := s.counter()
		go func() {
			var topics [16]uint64
			for messages := range inboxes[i] {
				for _, m := range messages {
					topics[m.topic] += grind(m.body, 20)
				}
				done.add(len(messages))
			}
		}()
	}
	go func() {
		for n := uint64(0); ; {
			messages := make([]message, brokerBatch)
			for i := range messages {
				messages[i] = message{topic: n % 16, body: grind(n, 50)}
				n++
			}
			for _, inbox := range inboxes {
				inbox <- messages
			}
		}
	}()
}
