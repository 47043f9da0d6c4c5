package host

import (
	"fmt"
	"math"
	"runtime"
	"slices"
	"sync"
	"time"
)

// Noise describes how evenly the machine runs a simple loop.
type Noise struct {
	Threads int     `json:"threads"`       // running the loop
	LoopNs  float64 `json:"loop_ns"`       // median time of the loop over all threads
	Spread  float64 `json:"spread"`        // from the 10th to the 90th percentile of the loop, relative to the median
	GapNs   float64 `json:"worst_gap_ns"`  // the longest loop, minus the median
	LineNs  float64 `json:"line_ns"`       // transfer of a cache line between two cores; 0 with one core
	ClockNs float64 `json:"clock_ns"`      // the smallest step of the clock
	CallNs  float64 `json:"clock_call_ns"` // the time of reading it
}

// loopTime is the approximate time of the loop: long compared with reading the
// clock, short compared with a time slice.
const loopTime = 20 * time.Microsecond

// maxThreads limits the number of watched CPUs: they represent a machine of
// hundreds well enough.
const maxThreads = 64

// MeasureNoise watches the machine for about the given time. GOMAXPROCS should be
// the number of CPUs.
func MeasureNoise(watching time.Duration) Noise {
	noise := Noise{Threads: min(runtime.NumCPU(), runtime.GOMAXPROCS(0), maxThreads)}
	noise.ClockNs, noise.CallNs = clock()
	turns := loopTurns()
	perThread := make([][]float64, noise.Threads)
	var all sync.WaitGroup
	for i := range perThread {
		all.Go(func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			perThread[i] = loops(turns, watching)
		})
	}
	all.Wait()
	noise.judge(perThread)
	var lines []float64
	// Each is the best of 20, over in a millisecond; on a busy machine all of
	// them could take longer than the loop.
	for began := time.Now(); len(lines) < 9 && (len(lines) == 0 || time.Since(began) < watching); {
		lines = append(lines, lineTransfer())
	}
	slices.Sort(lines)
	if middle := lines[len(lines)/2]; !math.IsNaN(middle) {
		noise.LineNs = middle
	}
	return noise
}

// judge fills in the results of the loop. Each thread is judged by itself, and
// the spread is the worst thread's.
func (n *Noise) judge(perThread [][]float64) {
	var medians []float64
	for _, times := range perThread {
		if len(times) == 0 {
			continue
		}
		slices.Sort(times)
		at := func(share float64) float64 { return times[int(share*float64(len(times)-1))] }
		median := at(0.5)
		if median <= 0 {
			continue // the clock is coarser than the loop
		}
		medians = append(medians, median)
		n.Spread = max(n.Spread, (at(0.9)-at(0.1))/median)
		n.GapNs = max(n.GapNs, at(1)-median)
	}
	if len(medians) > 0 {
		slices.Sort(medians)
		n.LoopNs = medians[len(medians)/2]
	}
}

// String returns a sentence without its period: "a loop of 20.0 µs on 2 threads
// varies by 1.3%, worst gap 0.20 ms; …".
func (n Noise) String() string {
	line := "unknown"
	if n.LineNs > 0 {
		line = fmt.Sprintf("%.0f ns", n.LineNs)
	}
	return fmt.Sprintf("a loop of %.1f µs on %d threads varies by %.1f%%, worst gap %.2f ms; a cache line between cores %s; clock step %.0f ns",
		n.LoopNs/1e3, n.Threads, 100*n.Spread, n.GapNs/1e6, line, n.ClockNs)
}

// Levels above which a machine has changed. The loop shows the speed of the
// cores and their other users, the line their distance. Migrating a virtual
// machine makes a line two to four times as expensive.
const (
	speedLevel = 0.05
	lineLevel  = 0.5
)

// Changed describes the changes of the machine between two readings.
func (n Noise) Changed(later Noise) []string {
	var changes []string
	report := func(what, unit string, before, after, per, level float64) {
		if before > 0 && after > 0 && math.Abs(after/before-1) > level {
			changes = append(changes, fmt.Sprintf("%s took %.3g %s before the first point and %.3g %s after the last",
				what, before/per, unit, after/per, unit))
		}
	}
	report("the same loop", "µs", n.LoopNs, later.LoopNs, 1e3, max(speedLevel, n.Spread, later.Spread))
	report("a cache line between cores", "ns", n.LineNs, later.LineNs, 1, lineLevel)
	return changes
}

// work is the loop: each turn depends on the one before it, and uses no memory.
func work(turns int) uint64 {
	x := uint64(88172645463325252)
	for range turns {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
	}
	return x
}

// loopTurns returns the number of turns that take about loopTime.
func loopTurns() int {
	const probe = 1000
	fastest := time.Duration(math.MaxInt64)
	for range 100 {
		began := time.Now()
		x := work(probe)
		fastest = min(fastest, max(1, time.Since(began)))
		runtime.KeepAlive(x)
	}
	return max(1, int(probe*loopTime/fastest))
}

// loops times the loop repeatedly and returns each time in ns.
func loops(turns int, watching time.Duration) []float64 {
	times := make([]float64, 0, 2*watching/loopTime)
	began := time.Now()
	for now := began; now.Sub(began) < watching; { // at least once, however late the thread runs again
		x := work(turns)
		then := time.Now()
		runtime.KeepAlive(x)
		times = append(times, float64(then.Sub(now).Nanoseconds()))
		now = then
	}
	return times
}

// clock returns the smallest observed step of the clock, 0 if it stood still,
// and the time of a call.
func clock() (step, call float64) {
	const calls = 10_000
	smallest := time.Duration(math.MaxInt64)
	began := time.Now()
	now := began
	for range calls {
		then := time.Now()
		if passed := then.Sub(now); passed > 0 {
			smallest = min(smallest, passed)
		}
		now = then
	}
	if smallest == math.MaxInt64 {
		smallest = 0
	}
	return float64(smallest.Nanoseconds()), float64(now.Sub(began).Nanoseconds()) / calls
}
