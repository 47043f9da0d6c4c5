package plot

import "math"

// logFrom is the ratio of the largest to the smallest figure from which a scale is
// logarithmic. Below it, a scale that starts at zero shows all figures well.
const logFrom = 4

// A Scale maps figures to [0, 1]. Charts to compare have the same.
type Scale struct {
	lo, hi float64
	Log    bool // logarithmic
}

// outlierRoom limits a scale to a multiple of the largest interval: a single
// repetition on a busy machine must not squeeze all others into a corner.
const outlierRoom = 1.5

// edge is the room between the largest interval and the end of a scale.
const edge = 1.05

// NewScale returns a scale for all intervals and for the repetitions near them. It is
// logarithmic if figures are far apart. A linear scale starts at zero, so that lengths are
// proportional to the figures.
func NewScale(values []Value) Scale {
	lo, hi := math.Inf(1), math.Inf(-1)
	for _, v := range values {
		if v.Unknown {
			continue
		}
		lo, hi = min(lo, v.Mid, v.Lo), max(hi, v.Mid, v.Hi)
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
		return Scale{lo: 0, hi: 1}
	case lo > 0 && hi/lo >= logFrom:
		return Scale{lo: lo / edge, hi: hi * edge, Log: true}
	}
	return Scale{lo: 0, hi: hi * edge}
}

// logCeil returns the next 1, 2 or 5 times a power of ten.
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
func (s Scale) at(v float64) float64 {
	var p float64
	if s.Log {
		p = math.Log(v/s.lo) / math.Log(s.hi/s.lo)
	} else {
		p = (v - s.lo) / (s.hi - s.lo)
	}
	return min(1, max(0, p))
}

// holds reports whether v lies on the scale.
func (s Scale) holds(v float64) bool { return v >= s.lo && v <= s.hi }

// ticks returns the figures at an axis, round ones with at least that share of the axis
// between them: as many as have room, or else the first and the last.
func (s Scale) ticks(room float64) []float64 {
	var sets [][]float64
	if s.Log {
		for _, steps := range [][]float64{{1, 2, 5}, {1, 3}, {1}} {
			sets = append(sets, s.decades(steps))
		}
	} else {
		for _, steps := range []float64{4, 2, 1} {
			sets = append(sets, s.multiples(logCeil((s.hi-s.lo)/steps)))
		}
	}
	ends := []float64{s.lo, s.hi}
	if fine := sets[0]; len(fine) >= 2 {
		ends = []float64{fine[0], fine[len(fine)-1]}
	}
	for _, ticks := range append(sets, ends) {
		tight := len(ticks) < 2
		for i := 1; i < len(ticks); i++ {
			tight = tight || s.at(ticks[i])-s.at(ticks[i-1]) < room
		}
		if !tight {
			return ticks
		}
	}
	return []float64{s.lo, s.hi}
}

// multiples returns the multiples of step on a linear scale.
func (s Scale) multiples(step float64) (ticks []float64) {
	for v := s.lo; v <= s.hi; v += step {
		ticks = append(ticks, v)
	}
	return ticks
}

// decades returns the given multiples of all powers of ten on the scale.
func (s Scale) decades(steps []float64) (ticks []float64) {
	for power := math.Pow(10, math.Floor(math.Log10(s.lo))); power <= s.hi; power *= 10 {
		for _, m := range steps {
			if v := m * power; v >= s.lo*0.999 && v <= s.hi*1.001 {
				ticks = append(ticks, v)
			}
		}
	}
	return ticks
}
