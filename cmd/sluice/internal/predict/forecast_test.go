package predict

import (
	"errors"
	"math"
	"strings"
	"testing"
)

// exactly returns counts of a law with an interval of ±2%.
func exactly(l Law, procs ...int) (counts []Count) {
	for _, p := range sweep(l, procs...) {
		counts = append(counts, Count{p.Procs, p.X, 0.98 * p.X, 1.02 * p.X, 9})
	}
	return counts
}

var (
	one      = Topology{CPUs: 64, LLC: 64, Socket: 64}
	oneCache = Limits{one, one}
	testBand = Bands{inside: {0.9, 1.1, 5}, gap: {0.8, 1.2, 5}, near: {0.5, 1.5, 5}, far: {0.25, 2, 5}}
)

func TestForecast(t *testing.T) {
	law := Law{2e7, 0.3, 0.01}
	f := NewForecast(exactly(law, 1, 2, 8), oneCache, testBand)
	at := func(n float64) float64 { return law.At(n) }
	halfway := func(n float64) float64 { return math.Sqrt(at(n) * at(8)) }
	for _, tt := range []struct {
		n, x, lo, hi float64
		mode         Mode
	}{
		{1, at(1), 0.98 * at(1), 1.02 * at(1), Measured},
		{8, at(8), 0.98 * at(8), 1.02 * at(8), Measured},
		{1.5, between(Point{1, at(1)}, Point{2, at(2)}, 1.5), 0.9, 1.1, Interpolated},
		{4, math.Sqrt(at(2) * at(8)), 0.8, 1.2, Interpolated}, // halfway between 2 and 8, in logarithms
		{9, halfway(9), 0.5, 1.5, Extrapolated},
		{16, halfway(16), 0.5, 1.5, Extrapolated},
		{17, halfway(17), 0.25, 2, Extrapolated},
		{32, halfway(32), 0.25, 2, Extrapolated},
	} {
		if tt.mode != Measured {
			tt.lo, tt.hi = tt.lo*tt.x, tt.hi*tt.x
		}
		got, err := f.At(tt.n)
		if err != nil || got.Mode != tt.mode || !closeTo(got.X, tt.x, 1e-6) || !closeTo(got.Lo, tt.lo, 1e-6) || !closeTo(got.Hi, tt.hi, 1e-6) || got.CPUs != tt.n {
			t.Errorf("%v CPUs: %+v, %v, want %+v", tt.n, got, err, tt)
		}
	}
	if f.Reach() != 32 || f.Largest() != 8 {
		t.Errorf("reach %d, largest %d", f.Reach(), f.Largest())
	}
}

// A curve that was linear as far as it was measured may stay linear, whatever the bands of
// published curves say; one that bends may not.
func TestForecastLinear(t *testing.T) {
	for _, tt := range []struct {
		xs   []float64 // on 1, 2, 4 and 8 CPUs, in units of 1e7/s
		high float64   // as a factor of the linear rate on 32 CPUs; 0 for the band's end
	}{
		{[]float64{1, 2, 4, 8}, 1},
		{[]float64{1, 1.95, 3.8, 7.4}, 1},
		{[]float64{1, 1.95, 3.4, 6.5}, 0},
	} {
		var counts []Count
		for i, x := range tt.xs {
			counts = append(counts, Count{1 << i, 1e7 * x, 1e7 * x, 1e7 * x, 9})
		}
		f := NewForecast(counts, oneCache, testBand)
		got, err := f.At(32)
		want := tt.high * 4 * 1e7 * tt.xs[3]
		if want == 0 {
			want = testBand[far].Hi * got.X
		}
		if err != nil || !closeTo(got.Hi, want, 1e-6) || got.Lo > got.X || got.X > got.Hi {
			t.Errorf("%v: %+v, %v, want at most %v", tt.xs, got, err, want)
		}
	}
}

func TestForecastRefuses(t *testing.T) {
	law := laws[4].law
	split := func(llc, socket int) Limits {
		split := Topology{CPUs: 64, LLC: llc, Socket: socket}
		return Limits{split, split}
	}
	noisy := exactly(law, 1, 2, 4, 8)
	noisy[2].Hi *= 1.5
	tests := []struct {
		name   string
		counts []Count
		limits Limits
		n      float64
		is     error
		says   string
	}{
		{"more than four times as many", exactly(law, 1, 2, 4), oneCache, 17, ErrTooFar, "17 CPUs are more than 4 times the 4"},
		{"fewer than were measured", exactly(law, 2, 4, 8), oneCache, 1, ErrTooFar, "1 CPU, fewer than the 2"},
		{"in a hole", exactly(law, 1, 2, 16), oneCache, 8, ErrTooFar, "between 2 and 16"},
		{"another cache", exactly(law, 1, 2, 4), split(8, 64), 9, ErrNewBoundary, "more than the 8 that share a last-level cache"},
		{"another socket", exactly(law, 1, 2, 4, 16), split(8, 32), 33, ErrNewBoundary, "more than the 32 that share a socket"},
		{"cache unknown", exactly(law, 1, 2, 4), split(0, 64), 5, ErrNewBoundary, "it is unknown how many CPUs share a last-level cache there: set -llc"},
		{"socket unknown", exactly(law, 1, 2, 4), split(64, 0), 5, ErrNewBoundary, "it is unknown how many CPUs share a socket there: set -socket"},
		{"two counts", exactly(law, 1, 2), oneCache, 4, ErrTooFew, "2 measured (want at least 3, such as 1, 2 and 4)"},
		{"noise", noisy, oneCache, 16, ErrTooNoisy, "the interval on 4 CPUs is ±5"},
	}
	for _, tt := range tests {
		f := NewForecast(tt.counts, tt.limits, testBand)
		got, err := f.At(tt.n)
		if !errors.Is(err, tt.is) || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s: %+v, error %v, want one with %q", tt.name, got, err, tt.says)
		}
		if reach := f.Reach(); float64(reach) >= tt.n && tt.n > float64(f.Largest()) {
			t.Errorf("%s: the reach is %d", tt.name, reach)
		}
	}
}

// There are figures beyond a measured boundary.
func TestForecastAcrossMeasured(t *testing.T) {
	split := Topology{CPUs: 64, LLC: 8, Socket: 64}
	f := NewForecast(exactly(laws[1].law, 1, 2, 4, 8, 16), Limits{split, split}, testBand)
	if _, err := f.At(32); err != nil || f.Reach() != 64 {
		t.Errorf("reach %d, error %v", f.Reach(), err)
	}
	// The target has a larger cache than the measured machine.
	small := Topology{CPUs: 4, LLC: 4, Socket: 4}
	f = NewForecast(exactly(laws[1].law, 1, 2, 4), Limits{small, one}, testBand)
	if _, err := f.At(16); err != nil || f.Reach() != 16 {
		t.Errorf("reach %d, error %v", f.Reach(), err)
	}
}

// The peak is the highest figure; counts whose bands overlap its band may be as
// good.
func TestForecastPeak(t *testing.T) {
	for _, tt := range []struct {
		law  Law
		up   int
		cpus float64
		mode Mode
	}{
		{Law{1e7, 2, 0}, 16, 1, Measured},
		{Law{1e7, 0, 0.001}, 16, 16, Extrapolated},
		{Law{1e7, 0, 0.01}, 8, 8, Measured},
		{Law{1e7, 0.2, 0.06}, 8, 4, Measured},
	} {
		f := NewForecast(exactly(tt.law, 1, 2, 4, 8), oneCache, testBand)
		peak := f.Peak(tt.up)
		if peak.CPUs != tt.cpus || peak.Mode != tt.mode {
			t.Errorf("%+v up to %d: peak at %v, %s, want %v, %s", tt.law, tt.up, peak.CPUs, peak.Mode, tt.cpus, tt.mode)
		}
		for n := 1; n <= tt.up; n++ {
			figure, err := f.At(float64(n))
			if err != nil || figure.X > peak.X {
				t.Errorf("%+v: %+v, %v is above the peak of %v", tt.law, figure, err, peak.X)
			}
			if within := peak.From <= n && n <= peak.To; figure.Hi >= peak.Lo && !within {
				t.Errorf("%+v: %d CPUs may be as good, and are not from %d to %d", tt.law, n, peak.From, peak.To)
			}
		}
	}
	// The band of the best figure counts, too: 95 may be as good as 100 if 100
	// may be 80.
	wide := NewForecast([]Count{{1, 90, 90, 95, 9}, {2, 100, 80, 110, 9}, {4, 70, 69, 71, 9}}, oneCache, testBand)
	if peak := wide.Peak(4); peak.CPUs != 2 || peak.From != 1 || peak.AtEnd {
		t.Errorf("with 90 to 95 beside 80 to 110: %+v", peak)
	}
	if peak := wide.Peak(2); !peak.AtEnd {
		t.Error("the largest count is called a peak")
	}
	// No other figure is near.
	f := NewForecast(exactly(Law{1e7, 2, 0}, 1, 2, 4, 8), oneCache, testBand)
	if peak := f.Peak(16); peak.From != 1 || peak.To != 1 {
		t.Errorf("as good as one CPU: %d to %d", peak.From, peak.To)
	}
}
