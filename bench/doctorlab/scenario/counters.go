package main

import "sync"

// An actor that is asked over a channel per request.
var _ = register(scenario{
	Name: "counters",
	About: "One goroutine owns a table of counters. Eight handlers send it a request with a new channel for the " +
		"response, as in the usual actor, and compute for half a microsecond between requests.",
	Channels: true,
	Sites: []site{{send, "main.(*counters).ask"}, {receive, "main.(*counters).ask"},
		{receive, "main.(*counters).loop"}, {send, "main.(*counters).loop"}},
	Right: []string{mutex},
	builds: map[string]build{
		asFound: func(s *service) { startCounters(s, 0, 1) },
		buffer:  func(s *service) { startCounters(s, 64, 1) },
		mutex:   countersLocked,
	},
})

// A countRequest adds to a counter.
type countRequest struct {
	key    uint64
	answer chan uint64
}

type counters struct {
	requests chan countRequest
	table    map[uint64]uint64
	slots    int
}

func startCounters(s *service, capacity, slots int) {
	c := &counters{requests: make(chan countRequest, capacity), table: map[uint64]uint64{}, slots: slots}
	go c.loop()
	for i := range 8 {
		go counterHandler(uint64(i), c.ask, s.counter())
	}
}

func counterHandler(n uint64, add func(uint64) uint64, done *counter) {
	for {
		n = grind(n, 250)
		sink(add(n % 512))
		done.add(1)
	}
}

func (c *counters) ask(key uint64) uint64 {
	r := countRequest{key, make(chan uint64, c.slots)}
	c.requests <- r
	return <-r.answer
}

func (c *counters) loop() {
	for r := range c.requests {
		c.table[r.key]++
		r.answer <- c.table[r.key]
	}
}

func countersLocked(s *service) {
	var mu sync.Mutex
	table := map[uint64]uint64{}
	for i := range 8 {
		go counterHandler(uint64(i), func(key uint64) uint64 {
			mu.Lock()
			defer mu.Unlock()
			table[key]++
			return table[key]
		}, s.counter())
	}
}
