package main

import "time"

// A timer for each value.
var _ = register(scenario{
	Name: "heartbeats",
	About: "A listener adds up what the machines of a fleet report, and would call somebody if no report came for a " +
		"minute: in the select of each round it asks time.After for a new timer, which nobody ever hears of again.",
	Channels: true,
	Sites:    []site{{selecting, "main.(*fleet).listen"}},
	Right:    []string{reuseTimer},
	stretches: map[string]stretch{
		asFound:    func(s *service, items int) uint64 { return runFleet(s, items, 256, (*fleet).listen) },
		buffer:     func(s *service, items int) uint64 { return runFleet(s, items, 4096, (*fleet).listen) },
		reuseTimer: func(s *service, items int) uint64 { return runFleet(s, items, 256, (*fleet).listenByOneTimer) },
	},
})

const (
	reportWork = 40          // steps for each report
	silence    = time.Minute // that somebody is called after
)

type fleet struct {
	reports chan uint64
	done    *counter
	calls   int
}

func runFleet(s *service, items, capacity int, listen func(*fleet) uint64) uint64 {
	f := &fleet{reports: make(chan uint64, capacity), done: s.counter()}
	go f.report(items)
	return listen(f)
}

func (f *fleet) report(items int) {
	for n := range items {
		f.reports <- grind(uint64(n), reportWork)
	}
	close(f.reports)
}

func (f *fleet) listen() (digest uint64) {
	for {
		select {
		case report, more := <-f.reports:
			if !more {
				return digest
			}
			digest += grind(report, reportWork)
			f.done.add(1)
		case <-time.After(silence):
			f.calls++
		}
	}
}

// listenByOneTimer sets one timer anew in each round.
func (f *fleet) listenByOneTimer() (digest uint64) {
	quiet := time.NewTimer(silence)
	defer quiet.Stop()
	for {
		select {
		case report, more := <-f.reports:
			if !more {
				return digest
			}
			digest += grind(report, reportWork)
			f.done.add(1)
		case <-quiet.C:
			f.calls++
		}
		quiet.Reset(silence)
	}
}
