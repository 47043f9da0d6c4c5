package predict

import (
	"errors"
	"math"
	"strings"
	"testing"
)

// closeTo reports whether got is want within the given fraction.
func closeTo(got, want, within float64) bool {
	return got == want || math.Abs(got-want) <= within*math.Abs(want)
}

// sweep returns the points of a law at some counts.
func sweep(l Law, procs ...int) (all []Point) {
	for _, n := range procs {
		all = append(all, points(float64(n), l.At(n))...)
	}
	return all
}

// laws has every shape of a curve.
var laws = []struct {
	name string
	law  Law
	peak int // 0 without a peak
}{
	{"linear", Law{1e6, 0, 0}, 0},
	{"levels off", Law{3e7, 0.2, 0}, 0},
	{"peaks at 7", Law{2e7, 0.02, 0.02}, 7},
	{"peaks at one", Law{1e7, 0.6, 0.9}, 1},
	{"slower on two than on one", Law{3e7, 2.5, 0}, 1},
	{"slower on two, then worse", Law{3e7, 4, 0.3}, 1},
	{"pairs only", Law{5e5, 0, 0.001}, 32},
}

func TestFitFindsTheLaw(t *testing.T) {
	for _, tt := range laws {
		for _, procs := range [][]int{{1, 2, 4}, {1, 2, 4, 8, 16}, {1, 3, 5, 7, 64}, {2, 4, 8}} {
			got, err := Fit(sweep(tt.law, procs...))
			if err != nil {
				t.Fatalf("%s at %v: %v", tt.name, procs, err)
			}
			for _, n := range []int{1, 2, 6, 32, 128} {
				if !closeTo(got.At(n), tt.law.At(n), 1e-6) {
					t.Errorf("%s at %v: %+v gives %.4g on %d CPUs, want %.4g", tt.name, procs, got, got.At(n), n, tt.law.At(n))
				}
			}
			if !closeTo(got.Sigma, tt.law.Sigma, 1e-5) && math.Abs(got.Sigma-tt.law.Sigma) > 1e-9 {
				t.Errorf("%s at %v: σ %v, want %v", tt.name, procs, got.Sigma, tt.law.Sigma)
			}
		}
	}
}

// No other law in the neighborhood is nearer to points with noise.
func TestFitIsTheBest(t *testing.T) {
	for _, tt := range laws {
		points := sweep(tt.law, 1, 2, 4, 8, 16)
		for i, noise := range []float64{1.04, 0.93, 1.08, 0.98, 1.05} {
			points[i].X *= noise
		}
		best, err := Fit(points)
		if err != nil {
			t.Fatal(err)
		}
		for _, change := range []Law{{1.01, 1, 1}, {0.99, 1, 1}, {1, 1.02, 1}, {1, 0.98, 1}, {1, 1, 1.02}, {1, 1, 0.98}, {1.01, 1.01, 0.99}} {
			other := Law{best.Lambda * change.Lambda, best.Sigma * change.Sigma, best.Kappa * change.Kappa}
			if other.misfit(points) < best.misfit(points)-1e-4 {
				t.Errorf("%s: %+v misses by %.5f, and %+v only by %.5f", tt.name, best, best.misfit(points), other, other.misfit(points))
			}
		}
	}
}

func TestPeak(t *testing.T) {
	for _, tt := range laws {
		n := tt.law.Peak()
		if n != tt.peak {
			t.Errorf("%s: peak at %d, want %d", tt.name, n, tt.peak)
		}
		for other := 1; other < 200; other++ {
			if n > 0 && tt.law.At(other) > tt.law.At(n) {
				t.Errorf("%s: %g on %d CPUs is above the peak of %g", tt.name, tt.law.At(other), other, tt.law.At(n))
			}
			if n == 0 && tt.law.At(other+1) <= tt.law.At(other) {
				t.Errorf("%s: it does not rise at %d CPUs", tt.name, other)
			}
		}
	}
}

func TestFitRefuses(t *testing.T) {
	tests := []struct {
		name   string
		points []Point
		is     error
		says   string
	}{
		{"nothing", nil, ErrTooFew, "0 measured (want at least 3, such as 1, 2 and 4)"},
		{"two counts", points(1, 5, 2, 4), ErrTooFew, "2 measured"},
		{"up and down", points(1, 5, 2, 50, 3, 5, 4, 50, 5, 5), ErrTooNoisy, "quieter machine"},
	}
	for _, tt := range tests {
		_, err := Fit(tt.points)
		if err == nil || !strings.Contains(err.Error(), tt.says) || !errors.Is(err, tt.is) {
			t.Errorf("%s: error %v, want one with %q", tt.name, err, tt.says)
		}
	}
}
