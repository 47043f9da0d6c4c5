package measure

import (
	"runtime"
	"runtime/debug"
	"time"
)

// A Queue is what Footprint needs of a channel of 8-byte values.
type Queue struct {
	Fill  func(lo, hi int) // sends lo … hi-1, received by nobody yet
	Empty func(n int)      // receives n values
}

// Units of a footprint. The first two are bytes for each value queued at the
// peak, the last is bytes in all: nothing is queued then.
const (
	BytesPeak    = "B/op-peak"
	BytesFull    = "B/op-full"
	BytesDrained = "B-drained"
)

// Footprint makes a queue, fills it with n values, empties it, and returns the
// heap memory it held: at the worst moment of filling, when full, and after the
// drain, still open. Stacks are not counted.
//
// The worst moment is found without racing the collector: it is filled in the
// given number of steps, and with collection off during a step, what was alive
// before it plus all that was allocated in it is the most that can have been
// held in it. Sixty-four steps catch a doubling buffer beside its half-sized
// predecessor within two per cent.
func Footprint(n, steps int, create func() Queue) []Figure {
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	settled() // what pools hold, and what is waited for by cleanups, goes with the second collection
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

// settled returns the bytes alive on the heap and the bytes ever allocated, once
// a helper goroutine of the channel has had the time to move what was sent.
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
