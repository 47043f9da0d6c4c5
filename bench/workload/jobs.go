package workload

import (
	"math"
	"sync"
	"time"
)

// Busy computes for the given number of turns: dependent multiplications,
// without memory accesses. It never returns 0.
//
//go:noinline
func Busy(turns int) uint64 {
	x := uint64(turns)
	for range turns {
		x = x*6364136223846793005 + 1442695040888963407
	}
	return x | 1
}

// Turns returns the number of turns of Busy that take about the given length, 0 for none.
func Turns(length time.Duration) int {
	if length == 0 {
		return 0
	}
	return max(1, int(math.Round(float64(length)/turnNs())))
}

// turnNs is the time of a turn in ns: the minimum of several runs, to exclude
// interference.
var turnNs = sync.OnceValue(func() float64 {
	const turns = 100_000
	least := math.Inf(1)
	for range 50 {
		began := time.Now()
		_ = Busy(turns)
		least = min(least, float64(time.Since(began))/turns)
	}
	return least
})
