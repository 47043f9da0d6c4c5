package main

import "time"

// A timer per value.
var _ = register(scenario{
	Name: "heartbeats",
	About: "A listener aggregates the reports of a fleet of machines, and raises an alarm if there is no " +
		"report for a minute: the select of each iteration calls time.After, whose timer becomes " +
		"garbage.",
	Channels: true,
	Sites:    []site{{selecting, "main.(*fleet).listen"}},
	Right:    []string{reuseTimer},
	finite: map[string]finiteRun{
		asFound:    func(s *service, items int) uint64 { return runFleet(s, items, 256, (*fleet).listen) },
		buffer:     func(s *service, items int) uint64 { return runFleet(s, items, 4096, (*fleet).listen) },
		reuseTimer: func(s *service, items int) uint64 { return runFleet(s, items, 256, (*fleet).listenByOneTimer) },
	},
})

const (
	reportWork = 40          // steps per report
	silence    = time.Minute // before the alarm
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

// listenByOneTimer resets one timer in each iteration.
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
