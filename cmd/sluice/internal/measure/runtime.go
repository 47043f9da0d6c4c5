package measure

import (
	"bytes"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"runtime/pprof"
	"time"

	"github.com/google/pprof/profile"
)

// Figures that the runtime knows, besides a time: waits for locks, blocked goroutines, and
// the memory of a queue.

// LockWait is the unit of the time spent waiting for locks, in percent of the
// time of all Ps. It may exceed 100: many goroutines can wait for a sync.Mutex,
// and need no P meanwhile.
const LockWait = "%-lockwait"

// mutexWait is the runtime's metric: the total time that goroutines waited for
// a sync.Mutex, a sync.RWMutex or a runtime-internal lock, such as the lock of
// a built-in channel. It is an estimate: the runtime times one wait in eight.
const mutexWait = "/sync/mutex/wait/total:seconds"

// WithLockWait adds LockWait to the figures of each pass. The runtime counts
// for the whole process, so other goroutines should be idle.
func WithLockWait(pass func() (Reading, error)) func() (Reading, error) {
	return func() (Reading, error) {
		before := lockWait()
		reading, err := pass()
		if err == nil && reading.Elapsed > 0 {
			reading.Figures = append(reading.Figures,
				Figure{LockWait, lockWaitShare(lockWait()-before, reading.Elapsed, runtime.GOMAXPROCS(0))})
		}
		return reading, err
	}
}

// lockWait returns the seconds waited since the process started.
func lockWait() float64 {
	sample := []metrics.Sample{{Name: mutexWait}}
	metrics.Read(sample)
	return sample[0].Value.Float64()
}

// lockWaitShare returns the waited seconds in percent of the elapsed time of
// procs Ps.
func lockWaitShare(waited float64, elapsed time.Duration, procs int) float64 {
	return 100 * waited / (elapsed.Seconds() * float64(procs))
}

// Blocked runs work and returns the time that goroutines were blocked in it, by
// class, summed over all goroutines, from the runtime's block profile of every
// wait.
//
// A wait counts when it ends, from parking the goroutine to making it ready;
// the time until it runs again does not count. The profile does not include
// spinning, yielding and runtime-internal locks. Profiling slows work: time it
// in another pass.
//
// class receives the functions of a wait, the innermost first, and returns its
// class, or "" if the wait is not part of work. The profile covers the whole
// process. Blocked switches it off at the end, and two calls must not overlap.
func Blocked(work func() error, class func(functions []string) string) (map[string]time.Duration, error) {
	runtime.SetBlockProfileRate(1) // nanoseconds blocked for each sample: all of them
	defer runtime.SetBlockProfileRate(0)
	before, err := waits(class)
	if err != nil {
		return nil, err
	}
	if err := work(); err != nil {
		return nil, err
	}
	blocked, err := waits(class)
	for name := range blocked {
		// The profile grows from the start of the process.
		blocked[name] -= before[name]
	}
	return blocked, err
}

// waits adds up the block profile as it stands.
func waits(class func([]string) string) (map[string]time.Duration, error) {
	var encoded bytes.Buffer
	if err := pprof.Lookup("block").WriteTo(&encoded, 0); err != nil {
		return nil, err
	}
	p, err := profile.Parse(&encoded)
	if err != nil {
		return nil, err
	}
	total := make(map[string]time.Duration)
	for _, sample := range p.Sample {
		if name := class(functions(sample)); name != "" {
			total[name] += time.Duration(sample.Value[1]) // contentions/count, then delay/nanoseconds
		}
	}
	return total, nil
}

// functions returns the names of the functions of a sample, the innermost
// first, including inlined ones.
func functions(sample *profile.Sample) []string {
	var names []string
	for _, location := range sample.Location {
		for _, line := range location.Line {
			names = append(names, line.Function.Name)
		}
	}
	return names
}

// A Queue is a channel of 8-byte values, as Footprint uses it.
type Queue struct {
	Fill  func(lo, hi int) // sends lo … hi-1; no goroutine receives
	Empty func(n int)      // receives n values
}

// Units of a footprint. The first two are bytes per queued value; the last is
// the total number of bytes, with nothing queued.
const (
	BytesPeak    = "B/op-peak"
	BytesFull    = "B/op-full"
	BytesDrained = "B-drained"
)

// Footprint makes a queue, fills it with n values, empties it, and returns its
// heap memory: at the worst moment of filling, when full, and after the drain,
// still open. Stacks do not count.
//
// To find the worst moment without racing the collector, the queue is filled in
// the given number of steps with the collector off: the live memory before a
// step plus the allocations of the step bound the memory held in it. With 64
// steps a doubling buffer beside its half-sized predecessor is found within 2%.
func Footprint(n, steps int, create func() Queue) []Figure {
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	settled() // the second collection frees pools and objects with cleanups
	before, allocated := settled()
	queue := create()
	alive, peak := before, before
	for step := range steps {
		queue.Fill(step*n/steps, (step+1)*n/steps)
		nowAlive, nowAllocated := settled()
		peak = max(peak, alive+nowAllocated-allocated)
		alive, allocated = nowAlive, nowAllocated
	}
	queue.Empty(n)
	drained, _ := settled()
	runtime.KeepAlive(queue)
	return []Figure{
		{BytesPeak, above(peak, before) / float64(n)},
		{BytesFull, above(alive, before) / float64(n)},
		{BytesDrained, above(drained, before)},
	}
}

// settled returns the live and the total allocated bytes of the heap, after a
// pause in which a helper goroutine of the channel can move the sent values.
func settled() (alive, allocated uint64) {
	time.Sleep(100 * time.Microsecond)
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc, m.TotalAlloc
}

func above(bytes, base uint64) float64 {
	if bytes <= base {
		return 0
	}
	return float64(bytes - base)
}
