package measure

import (
	"runtime"
	"runtime/debug"
	"time"
)

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
