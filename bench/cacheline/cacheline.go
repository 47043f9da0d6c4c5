// Package cacheline times the way of a cache line between two cores: the price of
// all that two goroutines share.
//
// What may enter: that one figure. The comparisons and the lab both state it.
package cacheline

import (
	"math"
	"runtime"
	"sync/atomic"
	"time"
)

// A measurement is the fastest of so many parts of so many turns,
// some 10 µs each: a part in which somebody else had one of the cores says nothing.
const (
	transferParts = 20
	transferTurns = 100
)

// Transfer returns how long a cache line takes from one core to another, in ns:
// two goroutines count in turns, each waiting for the other's count. It is NaN
// where no two goroutines run at once.
//
// A virtual machine moves between cores that are near each other and cores that
// are not, and everything that two goroutines share is then two to four times
// as dear. A figure says little without it.
func Transfer() float64 {
	if runtime.GOMAXPROCS(0) < 2 || runtime.NumCPU() < 2 {
		return math.NaN()
	}
	var count atomic.Uint64
	take := func(mine, end uint64) {
		for turn := mine; turn < end; turn += 2 {
			for spins := 1; count.Load() != turn; spins++ {
				if spins%1000 == 0 {
					runtime.Gosched() // the other one is not running
				}
			}
			count.Store(turn + 1)
		}
	}
	go take(1, transferParts*transferTurns)
	fastest := time.Duration(math.MaxInt64)
	for part := range uint64(transferParts) {
		began := time.Now()
		take(part*transferTurns, (part+1)*transferTurns)
		fastest = min(fastest, time.Since(began))
	}
	return float64(fastest.Nanoseconds()) / transferTurns
}
