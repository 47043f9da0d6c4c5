package predict

import (
	"math"
)

// BatchShortfall is how far short of their ceiling batches were measured: 1.7 to
// 2 times, with two Ps, batches of 64, on a machine of 2 CPUs, Go 1.26.8. A
// batch is more to copy, and another cache line that moves, than a value.
const BatchShortfall = 2.0

// A Ceiling is the most that a remedy can give, in operations per second on so
// many CPUs. Its band reaches down to where remedies were seen to end.
type Ceiling struct {
	Figure
	Parts int `json:"parts"` // lanes, or values in a batch
}

// Lanes returns the ceiling of s lanes on n CPUs: min(s, n) times the
// throughput of one channel on n/s CPUs. It is refused where that is. The band
// goes down by the shortfall, as a factor.
func (f *Forecast) Lanes(s, n int, shortfall float64) (Ceiling, error) {
	one, err := f.At(math.Max(1, float64(n)/float64(s)))
	if err != nil {
		return Ceiling{}, err
	}
	parts := float64(min(s, n))
	return Ceiling{Figure{float64(n), parts * one.X, parts * one.Lo / shortfall, parts * one.Hi, one.Mode}, s}, nil
}

// Batches returns the ceiling of batches of b on n CPUs: the time of a hand-over
// divided by b, and what an item costs by itself, in ns.
func (f *Forecast) Batches(b, n int, own float64) (Ceiling, error) {
	one, err := f.At(float64(n))
	if err != nil {
		return Ceiling{}, err
	}
	batched := func(x float64) float64 { return 1e9 / (1e9/x/float64(b) + own) }
	return Ceiling{Figure{float64(n), batched(one.X), batched(one.Lo) / BatchShortfall, batched(one.Hi), one.Mode}, b}, nil
}

// OwnCost returns what an item costs by itself, in ns: what is left of its time
// in batches of b, alone on one CPU, after its share of the hand-over.
func OwnCost(batched, single Count, b int) float64 {
	return max(0, 1e9/batched.X-1e9/single.X/float64(b))
}

// LaneShortfall returns how far short of N times the throughput of one the
// published curves of separate parts end, as a factor: the larger of nine in ten
// of them, at their worst count.
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
