package main

import (
	"fmt"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluice-go/sluice/bench/paced"
	"github.com/sluice-go/sluice/bench/rounds"
)

// A load is how values are sent: see the comment of the command.
type load struct {
	name  string
	wait  bool // for a subscriber without room
	alone bool // one value at a time
	stuck bool // one subscriber more that never receives
}

var loads = []load{
	{name: "wait", wait: true},
	{name: "drop"},
	{name: "one at a time", alone: true},
	{name: "one at a time, one stuck", alone: true, stuck: true},
}

// A cell is a load with a number of subscribers.
type cell struct {
	load
	subscribers int
}

func (c cell) name() string { return fmt.Sprintf("%s %d", c.load.name, c.subscribers) }

// choose returns the cells whose name matches.
func choose(match *regexp.Regexp) (chosen []cell) {
	for _, l := range loads {
		for _, n := range []int{1, 10, 1000, 10_000} {
			if c := (cell{l, n}); match.MatchString(c.name()) {
				chosen = append(chosen, c)
			}
		}
	}
	return chosen
}

// A figure is the cost of a run.
type figure struct {
	delivery float64 // ns for each value and subscriber that received it
	cpu      float64 // CPU time of the process, likewise
	publish  float64 // ns of a publish
	share    float64 // of the values that reached a subscriber that receives
	bytes    float64 // memory per subscriber, before the first value
}

// A line is the measurement of a cell: the medians of the rounds of each way.
type line struct {
	cell
	figures [len(ways)]figure
}

// measure measures the cell at the current GOMAXPROCS.
func (s settings) measure(c cell) (line, error) {
	var all [len(ways)][]figure
	n := max(20, s.received/c.subscribers)
	for round := range s.Rounds + 1 {
		for i := range ways {
			if round%2 == 1 { // so that no way always follows the same one
				i = len(ways) - 1 - i
			}
			f, err := run(ways[i].make(c.wait), c, n)
			if err != nil {
				return line{}, fmt.Errorf("%s: %w", ways[i].name, err)
			}
			if round > 0 { // the first one warms up
				all[i] = append(all[i], f)
			}
		}
	}
	l := line{cell: c}
	for i := range ways {
		median := func(of func(figure) float64) float64 {
			var fs []float64
			for _, f := range all[i] {
				fs = append(fs, of(f))
			}
			return rounds.Median(fs)
		}
		l.figures[i] = figure{
			delivery: median(func(f figure) float64 { return f.delivery }),
			cpu:      median(func(f figure) float64 { return f.cpu }),
			publish:  median(func(f figure) float64 { return f.publish }),
			share:    median(func(f figure) float64 { return f.share }),
			bytes:    median(func(f figure) float64 { return f.bytes }),
		}
	}
	return l, nil
}

// run sends n values once.
func run(w way, c cell, n int) (figure, error) {
	before := heap()
	inboxes := make([]inbox, c.subscribers)
	for i := range inboxes {
		inboxes[i] = w.join()
	}
	bytes := heap() - before
	if c.stuck {
		w.join()
	}
	var received, missing atomic.Int64
	round := make(chan struct{}, 1)
	var all sync.WaitGroup
	for _, in := range inboxes {
		all.Go(func() {
			got := int64(0)
			for _, ok := in.recv(); ok; _, ok = in.recv() {
				if got++; c.alone && missing.Add(-1) == 0 {
					round <- struct{}{}
				}
			}
			received.Add(got)
		})
	}
	for range 3 {
		time.Sleep(time.Millisecond) // until they wait
	}
	v, publishing := new([2]uint64), time.Duration(0)
	used, began := paced.Used(), time.Now()
	for range n {
		missing.Store(int64(c.subscribers))
		at := time.Now()
		w.publish(v)
		publishing += time.Since(at)
		if c.alone {
			<-round
		}
	}
	w.end()
	all.Wait()
	took, cpu := time.Since(began), paced.Used().Since(used).CPU
	got, full := float64(received.Load()), float64(n)*float64(c.subscribers)
	if got > full || got < full && (c.wait || c.alone) || got == 0 {
		return figure{}, fmt.Errorf("%.0f of %.0f values arrived", got, full)
	}
	return figure{
		delivery: float64(took) / got, cpu: float64(cpu) / got, publish: float64(publishing) / float64(n),
		share: got / full, bytes: bytes / float64(c.subscribers),
	}, nil
}

// heap returns the size of the live heap.
func heap() float64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc)
}

const heading = "cell                             way        ns/delivery  CPU ns   publish ns  received  bytes/subscriber"

func (l line) String() string {
	var b strings.Builder
	for i, f := range l.figures {
		fmt.Fprintf(&b, "%-32s %-10s %11.1f %7.1f %12.0f %8.1f%% %17.0f\n", l.name(), ways[i].name, f.delivery, f.cpu, f.publish, 100*f.share, f.bytes)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// markdown returns the section of one GOMAXPROCS; facts is the list of what was measured
// where.
func (s settings) markdown(facts string, procs int, lines []line) string {
	var b strings.Builder
	fmt.Fprintf(&b, "## Broadcast, GOMAXPROCS=%d\n\n%s", procs, facts)
	fmt.Fprintf(&b, "- rounds: %d of about %d values received; figures are medians\n\n", s.Rounds, s.received)
	b.WriteString("One publisher and many subscribers, which queue 128 values each. `channels`: a mutex and a map of built-in channels. " +
		"`rings`: a Bounded for each subscriber. `hub`: package hub. A delivery is one value for one subscriber; CPU is the CPU time of the " +
		"process for each, and publish the time that the publisher needs for one value. Received is the share of the values that reached the " +
		"subscribers that receive. `wait`: the publisher sends all the time and waits for who has no room. `drop`: who has no room misses " +
		"values. `one at a time`: the publisher sends when all have received the last value, so all are parked. `one stuck`: one subscriber " +
		"more never receives.\n\n")
	b.WriteString("| load, subscribers |")
	for _, column := range []string{"delivery ns", "CPU ns", "publish µs", "received", "bytes"} {
		for _, w := range ways {
			fmt.Fprintf(&b, " %s: %s |", w.name, column)
		}
	}
	b.WriteString("\n|---|" + strings.Repeat("--:|", 5*len(ways)) + "\n")
	for _, l := range lines {
		fmt.Fprintf(&b, "| %s |", l.name())
		for _, column := range []func(figure) string{
			func(f figure) string { return fmt.Sprintf("%.1f", f.delivery) },
			func(f figure) string { return fmt.Sprintf("%.1f", f.cpu) },
			func(f figure) string { return fmt.Sprintf("%.2f", f.publish/1000) },
			func(f figure) string { return fmt.Sprintf("%.1f%%", 100*f.share) },
			func(f figure) string { return fmt.Sprintf("%.0f", f.bytes) },
		} {
			for _, f := range l.figures {
				fmt.Fprintf(&b, " %s |", column(f))
			}
		}
		b.WriteString("\n")
	}
	return b.String()
}
