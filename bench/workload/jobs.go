package workload

import (
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluice-go/sluice/bench/contender"
)

// proofEvery is the number of jobs per proof. A proof is a read-modify-write on
// memory that all workers share, which would be a large part of a short job.
const proofEvery = 64

// proof sums up the jobs that prove their execution.
type proof struct{ count, sum atomic.Uint64 }

// job returns a job of the given number of turns; every proofEvery-th job adds
// to the proof.
func (p *proof) job(turns int) func(v uint64) {
	return func(v uint64) {
		if Busy(turns) == 0 || v%proofEvery == 0 {
			p.count.Add(1)
			p.sum.Add(v)
		}
	}
}

// tally returns the proof of n jobs and its expected value.
func (p *proof) tally(n uint64) (got, want contender.Tally) {
	want = upTo((n + proofEvery - 1) / proofEvery)
	want.Sum *= proofEvery
	return contender.Tally{Count: p.count.Load(), Sum: p.sum.Load()}, want
}

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

// Backlog is n jobs of about the given length that are all queued when the
// workers begin: no worker waits for a producer, and the time beyond the jobs
// is the cost of receiving them.
func Backlog(workers int, length time.Duration) Workload {
	return Workload{
		Name:      fmt.Sprintf("%v jobs, %d workers, a backlog", length, workers),
		Capacity:  1,
		Senders:   1,
		Receivers: workers,
		pool:      true,
		run: func(w Workload, c contender.Contender, n uint64) (outcome, error) {
			pool := c.Make(int(n)).(contender.Pool)
			pool.Send(0, n)
			pool.Close()
			turns := Turns(length)
			var done proof
			began := time.Now()
			pool.Serve(w.Receivers, done.job(turns))
			o := outcome{elapsed: time.Since(began), items: n}
			o.tally, o.want = done.tally(n)
			return o, nil
		},
	}
}
