package doctor

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/profile"
)

// Captures are built by hand: ten seconds on two Ps of two cores, so that CPU
// seconds are ten times the cores in use.
const watched = 10 * time.Second

// A part fills in one profile.
type part func(*profile.Capture)

// service returns a capture of these parts.
func service(parts ...part) *profile.Capture {
	c := &profile.Capture{Target: "localhost:6060", Window: watched, GoVersion: "go1.26.8", GOMAXPROCS: 2, CPUs: 2}
	for _, fill := range parts {
		fill(c)
	}
	return c
}

// at returns an operation in a function of the example's package.
func at(op profile.Op, function string) profile.Site {
	return profile.Site{Op: op, At: profile.Frame{Function: "example.com/q." + function, File: "q.go", Line: len(function)}}
}

// shares of CPU time by category.
type shares map[profile.Category]float64

// on is CPU time at a site, as parts of the total.
type on struct {
	profile.Site
	time, lock, wake float64
}

// cpu is a CPU profile with the given number of cores, shares and sites.
func cpu(cores float64, spent shares, sites ...on) part {
	return func(c *profile.Capture) {
		total := cores * watched.Seconds()
		of := func(share float64) time.Duration { return secs(share * total) }
		p := &profile.CPU{Window: watched, Period: 10 * time.Millisecond, Total: secs(total), By: map[profile.Category]time.Duration{}}
		for category, share := range spent {
			p.By[category] = of(share)
		}
		for _, s := range sites {
			p.Sites = append(p.Sites, profile.CPUSite{Site: s.Site, Time: of(s.time), Lock: of(s.lock), Wake: of(s.wake)})
		}
		p.Users = []profile.UserTime{{Function: "example.com/q.work", Self: p.By[profile.UserCode], All: p.Total}}
		c.CPU = p
	}
}

func secs(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// metrics are two readings of runtime/metrics. wait is in seconds per second,
// and wakeups are per second, of which the runtime counts one in eight.
func metrics(wait, wakeups float64) part {
	return func(c *profile.Capture) {
		start := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
		reading := func(at time.Time, wait float64, n uint64) *profile.Reading {
			return &profile.Reading{At: at,
				Values:     map[string]float64{"/sync/mutex/wait/total:seconds": wait, "/gc/cycles/total:gc-cycles": wait * 10},
				Histograms: map[string]profile.Histogram{"/sched/latencies:seconds": {Counts: []uint64{n}, Bounds: []float64{0, 1}}},
			}
		}
		c.Metrics = &profile.Metrics{
			Before: reading(start, 100, 800),
			After:  reading(start.Add(watched), 100+wait*watched.Seconds(), 800+uint64(wakeups*watched.Seconds()/8)),
		}
	}
}

// mutex is a mutex profile: seconds waited per site.
func mutex(delays map[profile.Site]float64) part {
	return func(c *profile.Capture) { c.Mutex = contentions(delays) }
}

// block is a block profile: seconds waited per site, in a thousand waits.
func block(delays map[profile.Site]float64) part {
	return func(c *profile.Capture) { c.Block = contentions(delays) }
}

func contentions(delays map[profile.Site]float64) *profile.Contentions {
	all := &profile.Contentions{Window: watched}
	for site, delay := range delays {
		all.Sites = append(all.Sites, profile.Contention{Site: site, Count: 1000, Delay: secs(delay)})
	}
	return all
}

// staged are stages: the number of goroutines with a start function, and their
// parts of the CPU time in work and in operations.
func staged(all ...stagePart) part {
	return func(c *profile.Capture) {
		if c.Goroutines == nil {
			goroutinesAt()(c)
		}
		for _, s := range all {
			root := "example.com/q." + s.root
			of := func(share float64) time.Duration { return time.Duration(share * float64(c.CPU.Total)) }
			c.CPU.Stages = append(c.CPU.Stages, profile.CPUStage{Root: root, Work: of(s.work), Channel: of(s.channel)})
			here := profile.GoroutineSite{Site: at(profile.Other, s.root), In: s.n, Root: root}
			for i := range c.Goroutines.Sites {
				if site := &c.Goroutines.Sites[i]; site.At.Function == root {
					site.Root = root
					here.In -= site.In
				}
			}
			if here.In > 0 {
				c.Goroutines.Sites = append(c.Goroutines.Sites, here)
			}
		}
	}
}

type stagePart struct {
	root          string
	n             int
	work, channel float64
}

// goroutinesAt is both forms of one snapshot. Each capture has its own sites,
// because other parts change them.
func goroutinesAt(sites ...profile.GoroutineSite) part {
	return func(c *profile.Capture) {
		c.Goroutines = &profile.Goroutines{StatesKnown: true, InKnown: true, States: map[string]int{}, Sites: slices.Clone(sites)}
	}
}

// in is goroutines at a site, some waiting and the others runnable.
func in(site profile.Site, all, waiting int) profile.GoroutineSite {
	return profile.GoroutineSite{Site: site, In: all, Waiting: waiting, Runnable: all - waiting}
}

// woke is a trace with these pairs of wake-ups.
func woke(pairs ...profile.Pair) part {
	return func(c *profile.Capture) {
		c.Trace = &profile.Trace{Window: time.Second, Pairs: pairs}
		for _, p := range pairs {
			c.Trace.Sites = append(c.Trace.Sites, profile.TraceSite{Site: p.Sleeper, Parks: p.Count, Waited: time.Second})
		}
	}
}

func diagnose(parts ...part) *Diagnosis { return Diagnose(service(parts...), Reference()) }

// found returns the major finding of a kind, or nil.
func (d *Diagnosis) found(kind Kind) *Finding {
	for i := range d.Findings {
		if d.Findings[i].Kind == kind && !d.Findings[i].Minor {
			return &d.Findings[i]
		}
	}
	return nil
}

func near(t *testing.T, what string, got *float64, want float64) {
	t.Helper()
	if got == nil || math.Abs(*got-want) > 1e-6*max(1, math.Abs(want)) {
		t.Errorf("%s is %v, want %v", what, deref(got), want)
	}
}

// Sites of the examples.
var (
	send    = at(profile.Send, "(*Bus).Put")
	receive = at(profile.Range, "consume")
	choose  = at(profile.Select, "(*hub).loop")
	unlock  = at(profile.Lock, "(*cache).get")
	sink    = at(profile.IO, "(*store).write")
)

// Services of the examples, modeled after the scenarios of doctorlab.
var (
	hotService = []part{
		cpu(1.5, shares{profile.ChannelWork: 0.2, profile.ChannelLock: 0.7, profile.AfterPark: 0.04, profile.UserCode: 0.06},
			on{send, 0.5, 0.4, 0.01}, on{receive, 0.4, 0.3, 0.01}),
		goroutinesAt(in(send, 65, 0), in(receive, 1, 0)),
		metrics(0.4, 100_000),
		mutex(map[profile.Site]float64{send: 1, receive: 0.2}),
	}
	pipelineService = []part{
		cpu(1.1, shares{profile.ChannelWork: 0.3, profile.ChannelLock: 0.05, profile.AfterPark: 0.27, profile.UserCode: 0.38},
			on{send, 0.2, 0.03, 0.1}, on{receive, 0.15, 0.02, 0.05}),
		goroutinesAt(in(send, 1, 1), in(receive, 1, 0)),
		metrics(0.001, 3_000_000),
	}
	idlePool = []part{
		cpu(0.01, shares{profile.ChannelWork: 0.5, profile.AfterPark: 0.5}, on{receive, 0.5, 0, 0}),
		goroutinesAt(in(receive, 64, 64)),
		block(map[profile.Site]float64{receive: 610}),
		metrics(0, 200),
	}
)
