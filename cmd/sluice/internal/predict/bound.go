package predict

import (
	"fmt"

	"github.com/sluice-go/sluice/bench/workload"
	"github.com/sluice-go/sluice/cmd/sluice/internal/format"
)

// A Bound is a throughput that the hardware does not exceed. No band and no
// ceiling of a report is above its bound.
type Bound struct {
	X   float64 `json:"ops_per_s"`
	Why string  `json:"why"`
}

// perCPU returns the highest throughput per CPU of the counts with at least that
// many CPUs, by the upper end of their intervals, or 0.
func perCPU(counts []Count, least int) float64 {
	best := 0.0
	for _, c := range counts {
		if c.Procs >= least {
			best = max(best, c.Hi/float64(c.Procs))
		}
	}
	return best
}

// Bound returns the bound of one channel on n CPUs: n times the best rate per
// CPU that was measured.
func (f *Forecast) Bound(n float64) Bound {
	rate := perCPU(f.Counts, 1)
	return Bound{n * rate, fmt.Sprintf("%s times %s, the best rate of one CPU", cpusText(n), format.Rate(rate))}
}

// laneBound returns the bound of lanes on n CPUs. If the same source measured
// lanes on several CPUs, that is n times their best rate per CPU. On one CPU
// lanes exchange no cache lines, so this count does not show what they carry.
func (f *Forecast) laneBound(n int, lanes []Count) Bound {
	rate := perCPU(lanes, 2)
	if rate == 0 {
		return f.Bound(float64(n))
	}
	return Bound{float64(n) * rate, fmt.Sprintf("%s times %s, the best rate per CPU of lanes measured here", cpusText(float64(n)), format.Rate(rate))}
}

// leastOwn is the floor of the time of one CPU that a value takes even in the
// largest batch, in ns: a store, a load, and the two loops around them take
// about two cycles at 4 GHz.
const leastOwn = 0.5

// batchBound returns the bound of batches of any size on n CPUs: a value takes
// its own time of a CPU, however many share a transfer. The fewest CPUs with
// both measurements show that time, because there goroutines wait least.
func (f *Forecast) batchBound(n int, batches []Count) Bound {
	own, measured := leastOwn, float64(n)*perCPU(batches, 1)
	for _, batch := range batches {
		if one, ok := countAt(f.Counts, batch.Procs); ok {
			own = max(leastOwn, float64(batch.Procs)*(1e9/batch.Hi-1e9/one.X/workload.BatchSize))
			break
		}
	}
	bound := float64(n) * 1e9 / own
	if bound < measured {
		return Bound{measured, fmt.Sprintf("%s times the best rate of one CPU with batches", cpusText(float64(n)))}
	}
	return Bound{bound, fmt.Sprintf("a value alone takes %s ns of a CPU", format.Figure(own))}
}

// capped returns the figure with nothing above the bound.
func (f Figure) capped(b Bound) Figure {
	f.X, f.Lo, f.Hi = min(f.X, b.X), min(f.Lo, b.X), min(f.Hi, b.X)
	return f
}

func cpusText(n float64) string {
	if n == 1 {
		return "1 CPU"
	}
	return fmt.Sprintf("%.3g CPUs", n)
}
