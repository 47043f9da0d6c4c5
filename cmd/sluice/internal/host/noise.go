package host

import (
	"fmt"
	"math"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/sluice-go/sluice/bench/cacheline"
)

// Noise is how evenly the machine works when it is given nothing but a loop.
type Noise struct {
	Threads int     `json:"threads"`       // that ran the loop at once
	LoopNs  float64 `json:"loop_ns"`       // median time of the loop, of all threads
	Spread  float64 `json:"spread"`        // of the loop: from its tenth to its ninetieth percentile, by the median
	GapNs   float64 `json:"worst_gap_ns"`  // the longest that a loop took beyond the median
	LineNs  float64 `json:"line_ns"`       // a cache line's way between two cores, 0 with one core
	ClockNs float64 `json:"clock_ns"`      // the smallest step of the clock
	CallNs  float64 `json:"clock_call_ns"` // what asking it takes
}

// loopTime is about how long one turn of the loop takes: long beside the asking
// for the time, short beside a time slice.
const loopTime = 20 * time.Microsecond

// maxThreads bounds how many CPUs are watched: a machine of hundreds is known well
// enough by these.
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
	for range 9 { // each is the best of 20, over in a millisecond
		lines = append(lines, cacheline.Transfer())
	}
	slices.Sort(lines)
	if middle := lines[len(lines)/2]; !math.IsNaN(middle) {
		noise.LineNs = middle
	}
	return noise
}

// judge fills in what the times of the loop say, those of each thread by itself:
// the spread is that of the worst thread.
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
			continue // the clock is coarser than the loop, and tells nothing
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

// String reads "loop of 20 µs: spread 1.3%, worst gap 0.2 ms; …".
func (n Noise) String() string {
	line := "not known"
	if n.LineNs > 0 {
		line = fmt.Sprintf("%.0f ns", n.LineNs)
	}
	return fmt.Sprintf("a loop of %.1f µs on %d threads varies by %.1f%%, worst gap %.2f ms; a cache line between cores %s; clock step %.0f ns",
		n.LoopNs/1e3, n.Threads, 100*n.Spread, n.GapNs/1e6, line, n.ClockNs)
}

// Levels from which on a machine is not what it was: the loop shows the speed of
// the cores and who shares them, the line how far apart they are. A virtual machine
// that moves makes a line two to four times as dear.
const (
	speedLevel = 0.05
	lineLevel  = 0.5
)

// Changed says what changed on the machine between two readings.
func (n Noise) Changed(later Noise) []string {
	var changes []string
	say := func(what, unit string, before, after, per, level float64) {
		if before > 0 && after > 0 && math.Abs(after/before-1) > level {
			changes = append(changes, fmt.Sprintf("%s took %.3g %s before the first point and %.3g %s after the last",
				what, before/per, unit, after/per, unit))
		}
	}
	say("the same loop", "µs", n.LoopNs, later.LoopNs, 1e3, max(speedLevel, n.Spread, later.Spread))
	say("a cache line between cores", "ns", n.LineNs, later.LineNs, 1, lineLevel)
	return changes
}

// work is the loop: each turn needs the one before it, and no memory.
func work(turns int) uint64 {
	x := uint64(88172645463325252)
	for range turns {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
	}
	return x
}

// loopTurns returns how many turns take about loopTime.
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

// loops times the loop again and again, and returns each time in ns.
func loops(turns int, watching time.Duration) []float64 {
	times := make([]float64, 0, 2*watching/loopTime)
	for began, now := time.Now(), time.Now(); now.Sub(began) < watching; {
		x := work(turns)
		then := time.Now()
		runtime.KeepAlive(x)
		times = append(times, float64(then.Sub(now).Nanoseconds()))
		now = then
	}
	return times
}

// clock returns the smallest step of the clock that was seen, 0 if it stood still,
// and what a call of it takes.
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
