package main

import "time"

// Nothing to do.
var _ = register(scenario{
	Name: "standby",
	About: "64 workers wait for jobs, of which there are a hundred a second. All of them wait all the time, as " +
		"they should: the block profile is huge, and nothing is wrong.",
	Instead: idle,
	Ask:     []string{"block"},
	Right:   []string{nothing},
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
