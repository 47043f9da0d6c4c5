package host

import (
	"math"
	"runtime"
	"sync/atomic"
	"time"
)

// A measurement is the fastest of many parts of about 10 µs each, because
// another process may have used one of the cores during a part.
const (
	transferParts = 20
	transferTurns = 100
)

// lineTransfer returns the time of a cache line transfer from one core to another
// in ns, the price of all memory that two goroutines share: two goroutines count
// alternately, each waiting for the other's count. It is NaN if no two goroutines
// run at once.
//
// The scheduler of a virtual machine may place it on cores that are close to
// each other or far apart, and the cost of shared memory then differs by a
// factor of two to four. A figure means little without the transfer time.
func lineTransfer() float64 {
	if runtime.GOMAXPROCS(0) < 2 || runtime.NumCPU() < 2 {
		return math.NaN()
	}
	var count atomic.Uint64
	take := func(mine, end uint64) {
		for turn := mine; turn < end; turn += 2 {
			for spins := 1; count.Load() != turn; spins++ {
				if spins%1000 == 0 {
					runtime.Gosched() // the other goroutine is not running
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
