package predict

import (
	"math"

	"github.com/sluice-go/sluice/bench/workload"
)

// BatchShortfall is the factor between the ceiling of batches and their
// measured throughput: 1.7 to 2, with two Ps, batches of 64, on a machine of 2
// CPUs, Go 1.26.8. A batch has more to copy than a value, and moves another
// cache line.
const BatchShortfall = 2.0

// A Ceiling is the upper limit of a remedy's throughput on a number of CPUs, or
// a measured throughput. Its band extends down to the throughput that such
// remedies reached.
type Ceiling struct {
	Figure
	Parts int   `json:"parts"` // lanes, or values in a batch
	Bound Bound `json:"bound"` // of the hardware; X and Hi are at most that
	// Bounded is true if X is Bound.
	Bounded bool `json:"bounded,omitempty"`
}

func ceiling(figure Figure, parts int, bound Bound) Ceiling {
	const rounding = 1e-9
	return Ceiling{figure.capped(bound), parts, bound, figure.X > (1-rounding)*bound.X}
}

// Lanes returns the ceiling of s lanes on n CPUs: min(s, n) times the
// throughput of one channel on n/s CPUs. It fails if the latter has no figure.
// The band extends down by the factor shortfall. measured are lanes of the same
// source; a lane for each of n CPUs is one of them, if it was measured.
func (f *Forecast) Lanes(s, n int, measured []Count, shortfall float64) (Ceiling, error) {
	bound := f.laneBound(n, measured)
	if c, ok := countAt(measured, n); ok && s == n {
		return ceiling(Figure{float64(n), c.X, c.Lo, c.Hi, Measured}, s, bound), nil
	}
	one, err := f.At(math.Max(1, float64(n)/float64(s)))
	if err != nil {
		return Ceiling{}, err
	}
	parts := float64(min(s, n))
	return ceiling(Figure{float64(n), parts * one.X, parts * one.Lo / shortfall, parts * one.Hi, extrapolatedFrom(one)}, s, bound), nil
}

// extrapolatedFrom returns the mode of a ceiling that is derived from a figure:
// it is not measured.
func extrapolatedFrom(f Figure) Mode {
	if f.Mode == Measured {
		return Derived
	}
	return f.Mode
}

// Batches returns the ceiling of batches of b values on n CPUs: the time per
// value is the transfer cost divided by b, plus the value's own cost. measured
// are batches of [workload.BatchSize] of the same source, which has the own
// cost: without them, or without a figure of one channel on n CPUs, Batches
// fails.
func (f *Forecast) Batches(b, n int, measured []Count) (Ceiling, error) {
	one, err := f.At(float64(n))
	if err != nil {
		return Ceiling{}, err
	}
	own, ok := f.OwnCost(n, measured)
	if !ok {
		return Ceiling{}, ErrNoBatches
	}
	bound := f.batchBound(n, measured)
	batch, here := countAt(measured, n)
	if here && b == workload.BatchSize {
		return ceiling(Figure{float64(n), batch.X, batch.Lo, batch.Hi, Measured}, b, bound), nil
	}
	batched := func(x float64) float64 { return 1e9 / (1e9/x/float64(b) + own) }
	figure := Figure{float64(n), batched(one.X), batched(one.Lo) / BatchShortfall, batched(one.Hi), extrapolatedFrom(one)}
	if here && b < workload.BatchSize && batch.Hi < bound.X {
		bound = Bound{batch.Hi, "larger batches, measured, carry no more"}
	}
	return ceiling(figure, b, bound), nil
}

// OwnCost returns the own cost of a value on n CPUs in ns: the time between two
// values in batches, minus their share of the transfer cost, at the largest
// count up to n with both measurements, or else the smallest.
func (f *Forecast) OwnCost(n int, batches []Count) (ns float64, ok bool) {
	for _, batch := range batches {
		one, both := countAt(f.Counts, batch.Procs)
		if both && (!ok || batch.Procs <= n) {
			ns, ok = max(leastOwn/float64(batch.Procs), 1e9/batch.X-1e9/one.X/workload.BatchSize), true
		}
	}
	return ns, ok
}

// LaneShortfall returns the factor by which published curves of separate parts
// fall short of N times the throughput of one: the 90th percentile of their
// worst counts.
func LaneShortfall(curves []Curve) (factor float64, from int) {
	var w weighed
	for i := range curves {
		c := &curves[i]
		if c.Kind != Sharded || c.Points[0].Procs != 1 {
			continue
		}
		worst := 1.0
		for _, p := range c.Points {
			worst = max(worst, float64(p.Procs)*c.Points[0].X/p.X)
		}
		w.of = append(w.of, weighedMiss{miss: worst, weight: 1})
		w.total++
	}
	if len(w.of) == 0 {
		return 1, 0
	}
	w = w.sorted(func(miss float64) float64 { return miss })
	return w.quantile(0.9), len(w.of)
}
