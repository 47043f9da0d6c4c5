package main

import "time"

// A goroutine leak in a receive: the close is missing.
var _ = register(scenario{
	Name: "subscriptions",
	About: "Each client gets a channel and a goroutine that ranges over it. When the client leaves, it is " +
		"removed from the table but its channel is never closed: the goroutine blocks forever.",
	Channels: true,
	Leak:     true,
	Sites:    []site{{receive, "main.(*subscription).deliver"}},
	Right:    []string{cancelWait},
	builds: map[string]build{
		asFound:    func(s *service) { startSubscriptions(s, false) },
		cancelWait: func(s *service) { startSubscriptions(s, true) },
	},
})

// The rate of new clients, and their lifetime in clients.
const (
	clientPause = 15 * time.Millisecond
	clientStay  = 10
)

type subscription struct {
	updates chan uint64
}

func startSubscriptions(s *service, closes bool) {
	done := s.counter()
	go func() {
		var table []*subscription
		for n := uint64(0); ; n++ {
			time.Sleep(clientPause)
			client := &subscription{updates: make(chan uint64, 1)}
			go client.deliver(done)
			table = append(table, client)
			if len(table) > clientStay {
				if closes {
					close(table[0].updates)
				}
				table = table[1:]
			}
			for _, c := range table {
				c.updates <- n
			}
		}
	}()
}

func (c *subscription) deliver(done *counter) {
	for update := range c.updates {
		sink(grind(update, 200))
		done.add(1)
	}
}
