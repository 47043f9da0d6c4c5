package main

import "time"

// An idle pool.
var _ = register(scenario{
	Name: "standby",
	About: "64 workers wait for a hundred jobs per second. They wait nearly all the time, as they should: " +
		"the block profile is huge although nothing is wrong.",
	Instead: idle,
	Ask:     []string{"block"},
	Right:   []string{noChange},
	Harmful: []string{cancelWait},
	builds: map[string]build{
		asFound: func(s *service) { startStandby(s, 0) },
		buffer:  func(s *service) { startStandby(s, 1024) },
	},
})

const (
	standbyWorkers = 64
	standbyPause   = 10 * time.Millisecond
)

type standby struct {
	jobs chan uint64
}

func startStandby(s *service, capacity int) {
	p := &standby{jobs: make(chan uint64, capacity)}
	for range standbyWorkers {
		go p.worker(s.counter())
	}
	go p.accept()
}

func (p *standby) accept() {
	for n := uint64(0); ; n++ {
		time.Sleep(standbyPause)
		p.jobs <- n
	}
}

func (p *standby) worker(done *counter) {
	for v := range p.jobs {
		sink(grind(v, 5000))
		done.add(1)
	}
}
