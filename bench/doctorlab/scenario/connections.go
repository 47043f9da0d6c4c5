package main

// One done channel in every select.
var _ = register(scenario{
	Name: "shared-done",
	About: "Eight connections each have a reader and a writer with their own channel between them, and all " +
		"sixteen goroutines select on the same done channel: every item takes its lock.",
	Channels: true,
	Sites:    []site{{selecting, "main.(*connection).read"}, {selecting, "main.(*connection).write"}},
	Right:    []string{separateDone, batch},
	builds: map[string]build{
		asFound: func(s *service) {
			done := make(chan struct{})
			startConnections(s, 64, func() chan struct{} { return done })
		},
		buffer: func(s *service) {
			done := make(chan struct{})
			startConnections(s, 4096, func() chan struct{} { return done })
		},
		// To end the service, the caller closes one channel per goroutine.
		separateDone: func(s *service) {
			startConnections(s, 64, func() chan struct{} { return make(chan struct{}) })
		},
		batch: connectionsInBatches,
	},
})

const (
	connections     = 8
	connectionBatch = 32
)

// A connection copies messages from its reader to its writer.
type connection struct {
	messages chan uint64
}

func startConnections(s *service, capacity int, done func() chan struct{}) {
	for range connections {
		c := &connection{messages: make(chan uint64, capacity)}
		go c.read(done())
		go c.write(done(), s.counter())
	}
}

func (c *connection) read(done <-chan struct{}) {
	for n := uint64(0); ; n++ {
		select {
		case c.messages <- grind(n, 5):
		case <-done:
			return
		}
	}
}

func (c *connection) write(done <-chan struct{}, count *counter) {
	for {
		select {
		case m := <-c.messages:
			sink(grind(m, 5))
			count.add(1)
		case <-done:
			return
		}
	}
}

func connectionsInBatches(s *service) {
	done := make(chan struct{})
	for range connections {
		batches := make(chan []uint64, 4)
		count := s.counter()
		go func() {
			for n := uint64(0); ; {
				messages := make([]uint64, connectionBatch)
				for i := range messages {
					messages[i] = grind(n, 5)
					n++
				}
				select {
				case batches <- messages:
				case <-done:
					return
				}
			}
		}()
		go func() {
			for {
				select {
				case messages := <-batches:
					for _, m := range messages {
						sink(grind(m, 5))
					}
					count.add(len(messages))
				case <-done:
					return
				}
			}
		}()
	}
}
