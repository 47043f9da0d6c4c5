package main

import "time"

// An intended limit.
var _ = register(scenario{
	Name: "limiter",
	About: "Before each call, workers wait for a tick of a rate limiter or for the end. The limit of a " +
		"thousand calls per second is intended, and so is the wait.",
	Instead: idle,
	Right:   []string{noChange},
	Harmful: []string{moreReceivers, buffer},
	builds: map[string]build{
		asFound: func(s *service) { startLimiter(s, 0) },
		buffer:  func(s *service) { startLimiter(s, 64) },
	},
})

type limiter struct {
	tick  *time.Ticker
	calls chan uint64
	quit  chan struct{}
}

func startLimiter(s *service, capacity int) {
	l := &limiter{tick: time.NewTicker(time.Millisecond), calls: make(chan uint64, capacity), quit: make(chan struct{})}
	go l.accept()
	for range 8 {
		go l.worker(s.counter())
	}
}

func (l *limiter) accept() {
	for n := uint64(0); ; n++ {
		l.calls <- n
	}
}

func (l *limiter) worker(done *counter) {
	for {
		select {
		case <-l.tick.C:
			sink(grind(<-l.calls, 10_000))
			done.add(1)
		case <-l.quit:
			return
		}
	}
}
