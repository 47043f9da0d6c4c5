package predict

import (
	"math"
)

// BatchShortfall is the factor between the ceiling of batches and their
// measured throughput: 1.7 to 2, with two Ps, batches of 64, on a machine of 2
// CPUs, Go 1.26.8. A batch has more to copy than a value, and moves another
// cache line.
const BatchShortfall = 2.0

// A Ceiling is the upper limit of a remedy's throughput on a number of CPUs.
// Its band extends down to the throughput that such remedies reached.
type Ceiling struct {
	Figure
	Parts int `json:"parts"` // lanes, or values in a batch
}

// Lanes returns the ceiling of s lanes on n CPUs: min(s, n) times the
// throughput of one channel on n/s CPUs. It fails if the latter has no figure.
// The band extends down by the factor shortfall.
func (f *Forecast) Lanes(s, n int, shortfall float64) (Ceiling, error) {
	one, err := f.At(math.Max(1, float64(n)/float64(s)))
	if err != nil {
		return Ceiling{}, err
	}
	parts := float64(min(s, n))
	return Ceiling{Figure{float64(n), parts * one.X, parts * one.Lo / shortfall, parts * one.Hi, one.Mode}, s}, nil
}

// Batches returns the ceiling of batches of b values on n CPUs: the time per
// value is the transfer cost divided by b, plus the value's own cost, in ns.
func (f *Forecast) Batches(b, n int, own float64) (Ceiling, error) {
	one, err := f.At(float64(n))
	if err != nil {
		return Ceiling{}, err
	}
	batched := func(x float64) float64 { return 1e9 / (1e9/x/float64(b) + own) }
	return Ceiling{Figure{float64(n), batched(one.X), batched(one.Lo) / BatchShortfall, batched(one.Hi), one.Mode}, b}, nil
}

// OwnCost returns the own cost of a value in ns: its time in batches of b on
// one CPU, minus its share of the transfer cost.
func OwnCost(batched, single Count, b int) float64 {
	return max(0, 1e9/batched.X-1e9/single.X/float64(b))
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
