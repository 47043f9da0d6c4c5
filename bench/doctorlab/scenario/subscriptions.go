package main

import "time"

// Goroutines that wait for a close that never comes.
var _ = register(scenario{
	Name: "subscriptions",
	About: "Each client that comes gets a channel and a goroutine that ranges over it. When the client goes, it is " +
		"taken out of the table, and nobody closes the channel: the goroutine stays for ever.",
	Channels: true,
	Leak:     true,
	Sites:    []site{{receive, "main.(*subscription).deliver"}},
	Right:    []string{cancelWait},
	builds: map[string]build{
		asFound:    func(s *service) { startSubscriptions(s, false) },
		cancelWait: func(s *service) { startSubscriptions(s, true) },
	},
})

// How often a client comes, and for how many others it stays.
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
