package plot

import (
	"math"
)

// logFrom is the ratio of the largest to the smallest figure from which a scale is
// logarithmic. Below it, a scale that starts at zero shows all figures well.
const logFrom = 4

// A scale maps figures to [0, 1].
type scale struct {
	lo, hi float64
	log    bool
}

// outlierRoom limits a scale to a multiple of the largest interval: a single
// repetition on a busy machine must not squeeze all others into a corner.
const outlierRoom = 1.5

// newScale returns a scale for all intervals and for the repetitions near them. It is
// logarithmic if figures are far apart, and, if log is true, whenever it can be. A linear
// scale starts at zero, so that lengths are proportional to the figures.
func newScale(values []Value, log bool) scale {
	lo, hi := math.Inf(1), math.Inf(-1)
	positive := true
	for _, v := range values {
		if v.Unknown {
			continue
		}
		lo, hi = min(lo, v.Mid, v.Lo), max(hi, v.Mid, v.Hi)
		positive = positive && v.Mid > 0 && v.Lo > 0
	}
	farLo, farHi := lo/outlierRoom, hi*outlierRoom
	if math.IsInf(lo, 1) { // nothing but repetitions
		farLo, farHi = 0, math.MaxFloat64
	}
	for _, v := range values {
		for _, one := range v.Each {
			if one >= farLo && one <= farHi {
				lo, hi = min(lo, one), max(hi, one)
			}
		}
	}
	switch {
	case hi <= 0 || math.IsInf(hi, 0):
		return scale{lo: 0, hi: 1}
	case positive && lo > 0 && (log || hi/lo >= logFrom):
		s := scale{lo: logFloor(lo), hi: logCeil(hi), log: true}
		if s.lo == s.hi {
			s.lo, s.hi = s.lo/2, s.hi*2
		}
		return s
	}
	return scale{lo: 0, hi: hi * 1.05}
}

// logFloor and logCeil return the next 1, 2 or 5 times a power of ten.
func logFloor(v float64) float64 {
	power := math.Pow(10, math.Floor(math.Log10(v)))
	for _, m := range []float64{5, 2} {
		if m*power <= v {
			return m * power
		}
	}
	return power
}

func logCeil(v float64) float64 {
	power := math.Pow(10, math.Floor(math.Log10(v)))
	for _, m := range []float64{1, 2, 5} {
		if m*power >= v {
			return m * power
		}
	}
	return 10 * power
}

// at returns the position of v, clamped to the scale.
func (s scale) at(v float64) float64 {
	var p float64
	if s.log {
		p = math.Log(v/s.lo) / math.Log(s.hi/s.lo)
	} else {
		p = (v - s.lo) / (s.hi - s.lo)
	}
	return min(1, max(0, p))
}

// holds reports whether v lies on the scale.
func (s scale) holds(v float64) bool { return v >= s.lo && v <= s.hi }

// maxTicks is the number of figures that fit along an upright axis.
const maxTicks = 8

// ticks returns the figures along an upright axis, at most maxTicks.
func (s scale) ticks() []float64 {
	return s.fitting(func(tick float64) (at, height float64) { return s.at(tick), 1 / (maxTicks - 0.5) })
}

// fitting returns the ticks whose figures do not touch. place returns the position
// of a tick and the width that its figure needs.
func (s scale) fitting(place func(tick float64) (at, width float64)) []float64 {
	fit := func(ticks []float64) bool {
		for i := 1; i < len(ticks); i++ {
			a, wide := place(ticks[i-1])
			b, broad := place(ticks[i])
			if b-a < (wide+broad)/2 {
				return false
			}
		}
		return true
	}
	var sets [][]float64
	if s.log {
		for _, steps := range [][]float64{{1, 2, 5}, {1, 3}, {1}} {
			sets = append(sets, s.decades(steps))
		}
	} else {
		for _, steps := range []float64{6, 4, 2, 1} {
			sets = append(sets, s.multiples(logCeil((s.hi-s.lo)/steps)))
		}
	}
	for _, ticks := range sets {
		if len(ticks) >= 2 && fit(ticks) {
			return ticks
		}
	}
	return []float64{s.lo, s.hi}
}

// multiples returns the multiples of step on a linear scale.
func (s scale) multiples(step float64) (ticks []float64) {
	for v := s.lo; v <= s.hi; v += step {
		ticks = append(ticks, v)
	}
	return ticks
}

// decades returns the given multiples of all powers of ten on the scale.
func (s scale) decades(steps []float64) []float64 {
	var ticks []float64
	for power := math.Pow(10, math.Floor(math.Log10(s.lo))); power <= s.hi; power *= 10 {
		for _, m := range steps {
			if v := m * power; v >= s.lo*0.999 && v <= s.hi*1.001 {
				ticks = append(ticks, v)
			}
		}
	}
	return ticks
}
