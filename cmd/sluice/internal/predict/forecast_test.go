package predict

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
)

// exactly returns counts of a law with an interval of ±2%.
func exactly(l Law, procs ...int) (counts []Point) {
	for _, p := range sweep(l, procs...) {
		counts = append(counts, Point{p.Procs, p.X, 0.98 * p.X, 1.02 * p.X, 9})
	}
	return counts
}

var (
	one      = Topology{CPUs: 64, LLC: 64, Socket: 64}
	oneCache = Limits{one, one}
	known    = NewPast(Published())
)

func TestForecast(t *testing.T) {
	law := Law{2e7, 0.3, 0.01}
	f := NewForecast(exactly(law, 1, 2, 8), oneCache, known)
	for _, tt := range []struct {
		n    int
		mode Mode
	}{{1, Measured}, {8, Measured}, {3, Interpolated}, {4, Interpolated}, {9, Extrapolated}, {16, Extrapolated}, {32, Extrapolated}} {
		got, err := f.At(tt.n)
		if err != nil || got.Mode != tt.mode || got.CPUs != tt.n || !(got.Lo < got.X && got.X < got.Hi) {
			t.Errorf("%d CPUs: %+v, %v, want %s", tt.n, got, err, tt.mode)
		}
		if x := law.At(tt.n); tt.mode == Measured && (got.X != x || got.Lo != 0.98*x || got.Hi != 1.02*x) || got.Lo > x || got.Hi < x {
			t.Errorf("%d CPUs: %+v, want around %v", tt.n, got, x)
		}
	}
	if f.Reach(1000) != 32 || f.Largest() != 8 {
		t.Errorf("reach %d, largest %d", f.Reach(1000), f.Largest())
	}
}

// A curve that was linear as far as it was measured may stay linear, and is
// expected to come near it; one that bends is not, and one that was flat stays far
// below.
func TestForecastLinear(t *testing.T) {
	for _, tt := range []struct {
		xs            []float64 // on 1, 2, 4 and 8 CPUs
		least, most   float64   // the figure for 32 CPUs, as a factor of four times the last
		linearInBand  bool
		nothingInBand bool // that nothing changes
	}{
		{[]float64{1, 2, 4, 8}, 0.7, 1, true, false},
		{[]float64{1, 1.95, 3.8, 7.4}, 0.7, 1, true, false},
		{[]float64{1, 1.8, 3, 4.5}, 0.3, 0.8, true, true},
		{[]float64{1, 0.9, 0.8, 0.8}, 0.15, 0.35, false, true},
		{[]float64{1, 0.5, 0.3, 0.2}, 0.05, 0.25, false, true},
	} {
		var measured []Point
		for i, x := range tt.xs {
			measured = append(measured, points(math.Exp2(float64(i)), 1e7*x)...)
		}
		got, err := NewForecast(measured, oneCache, known).At(32)
		last := measured[3].X
		if err != nil || got.X < tt.least*4*last || got.X > tt.most*4*last*1.001 {
			t.Errorf("%v: %+v, %v, want %v to %v of linear", tt.xs, got, err, tt.least, tt.most)
		}
		if linear := got.Hi >= 4*last; linear != tt.linearInBand {
			t.Errorf("%v: %+v has linear %v within its band", tt.xs, got, 4*last)
		}
		if nothing := got.Lo <= last && last <= got.Hi; nothing != tt.nothingInBand {
			t.Errorf("%v: %+v has no change %v within its band", tt.xs, got, last)
		}
	}
}

// No figure of a published curve, of any length, is above what its CPUs can do: their
// number times the best rate of one, or 5% more for one reading. Lanes are no better.
func TestNothingBeyondTheHardware(t *testing.T) {
	asked := 0
	for _, c := range Published() {
		if c.Points[0].Procs != 1 {
			continue
		}
		for length := 1; length <= len(c.Points); length++ {
			counts := c.Points[:length]
			f := NewForecast(counts, Limits{Topology{LLC: 1 << 20, Socket: 1 << 20}, Topology{LLC: 1 << 20, Socket: 1 << 20}}, known)
			rate := 0.0
			for _, p := range counts {
				rate = max(rate, p.X/float64(p.Procs))
			}
			for _, n := range []int{f.Largest() - 1, Near * f.Largest(), Far * f.Largest()} {
				figures := f.remedies(n, Swept{Single: counts})
				if figure, err := f.At(n); err == nil {
					figures = append(figures, Remedy{Figure: figure})
				}
				for _, r := range figures {
					asked++
					if linear := float64(n) * rate; r.X > 1.0501*linear || r.AtMost == "" && r.X > 1.0001*linear || r.Hi > 1.0501*linear || r.Lo > r.X || r.X > r.Hi {
						t.Errorf("%s, %d counts, on %d CPUs: %+v, linear %v", c.facts(), length, n, r, linear)
					}
				}
			}
		}
	}
	if asked < 1000 {
		t.Errorf("%d figures", asked)
	}
}

// Without a count of one CPU, nothing is known of what a CPU can do.
func TestForecastWithoutOneCPU(t *testing.T) {
	f := NewForecast(points(2, 5e6, 4, 1.1e7, 8, 2.8e7), oneCache, known) // superlinear
	if got, err := f.At(16); err != nil || got.Hi < 6e7 || math.IsInf(got.Hi, 1) {
		t.Errorf("%+v, %v", got, err)
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
	for _, tt := range []struct {
		name   string
		counts []Point
		limits Limits
		n      int
		is     error
		says   string
	}{
		{"more than four times as many", exactly(law, 1, 2, 4), oneCache, 17, ErrTooFar, "17 CPUs are more than 4 times the 4"},
		{"fewer than were measured", exactly(law, 2, 4, 8), oneCache, 1, ErrTooFar, "1 CPU, fewer than the 2"},
		{"in a hole", exactly(law, 1, 2, 16), oneCache, 8, ErrTooFar, "between 2 and 16"},
		{"another cache", exactly(law, 1, 2, 4), split(8, 64), 9, ErrNewBoundary, "more than the 8 that share a last-level cache"},
		{"another socket", exactly(law, 1, 2, 4, 16), split(8, 32), 33, ErrNewBoundary, "more than the 32 that share a socket"},
		{"cache unknown", exactly(law, 1, 2, 4), split(0, 64), 5, ErrNewBoundary, "it is unknown how many CPUs share a last-level cache there. Set -llc"},
		{"socket unknown", exactly(law, 1, 2, 4), split(64, 0), 5, ErrNewBoundary, "it is unknown how many CPUs share a socket there. Set -socket"},
		{"two counts", exactly(law, 1, 2), oneCache, 4, ErrTooFew, "2 measured (want at least 3, such as 1, 2 and 4)"},
		{"noise", noisy, oneCache, 16, ErrTooNoisy, "the interval on 4 CPUs is ±5"},
	} {
		f := NewForecast(tt.counts, tt.limits, known)
		got, err := f.At(tt.n)
		if !errors.Is(err, tt.is) || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s: %+v, error %v, want one with %q", tt.name, got, err, tt.says)
		}
		if reach := f.Reach(1000); reach >= tt.n && tt.n > f.Largest() {
			t.Errorf("%s: the reach is %d", tt.name, reach)
		}
	}
}

// There are figures beyond a measured boundary.
func TestForecastAcrossMeasured(t *testing.T) {
	split := Topology{CPUs: 64, LLC: 8, Socket: 64}
	f := NewForecast(exactly(laws[1].law, 1, 2, 4, 8, 16), Limits{split, split}, known)
	if _, err := f.At(32); err != nil || f.Reach(1000) != 64 {
		t.Errorf("reach %d, error %v", f.Reach(1000), err)
	}
	// The target has a larger cache than the measured machine.
	small := Topology{CPUs: 4, LLC: 4, Socket: 4}
	f = NewForecast(exactly(laws[1].law, 1, 2, 4), Limits{small, one}, known)
	if _, err := f.At(16); err != nil || f.Reach(1000) != 16 {
		t.Errorf("reach %d, error %v", f.Reach(1000), err)
	}
}

// The peak is the highest figure; counts whose bands overlap its band may be as
// good.
func TestPeakOf(t *testing.T) {
	figure := func(cpus int, x, lo, hi float64) Figure { return Figure{cpus, x, lo, hi, Measured} }
	for _, tt := range []struct {
		figures      []Figure
		at, from, to int
		end          bool
	}{
		{[]Figure{figure(1, 90, 90, 95), figure(2, 100, 80, 110), figure(4, 70, 69, 71)}, 2, 1, 2, false},
		{[]Figure{figure(1, 90, 90, 95), figure(2, 100, 80, 110)}, 2, 1, 2, true},
		{[]Figure{figure(1, 90, 88, 95), figure(2, 30, 20, 40)}, 1, 1, 1, false},
		{[]Figure{figure(2, 50, 50, 50), figure(4, 50, 50, 50)}, 2, 2, 4, false},
	} {
		if p := peakOf(tt.figures); p.CPUs != tt.at || p.From != tt.from || p.To != tt.to || p.AtEnd != tt.end {
			t.Errorf("%v: %+v", tt.figures, p)
		}
	}
}

// Lanes that the same source measured are a curve like any other.
func TestLanes(t *testing.T) {
	f := NewForecast(exactly(Law{2e7, 1.5, 0.02}, 1, 2, 4, 8), oneCache, known)
	measured := exactly(Law{1e7, 0, 0}, 1, 2, 4, 8)
	for _, tt := range []struct {
		name     string
		n        int
		measured []Point
		mode     Mode
		most     float64
		says     string
	}{
		{"measured", 8, measured, Measured, 8e7, ""},
		{"predicted from lanes", 16, measured, Extrapolated, 16e7, ""},
		{"of too few counts", 16, measured[2:], Extrapolated, 16 * 1.02e7, "16 CPUs times 10.2 M/s, the best rate of lanes on several CPUs"},
		{"not measured", 16, nil, Extrapolated, 16 * 1.02 * 2e7, "16 CPUs times 20.4 M/s, the best rate of one CPU"},
	} {
		got := f.lanes(tt.n, tt.measured)
		if len(got) != 1 || got[0].Mode != tt.mode || got[0].AtMost != tt.says || got[0].What != fmt.Sprint(tt.n, " lanes") || got[0].X > 1.001*tt.most || got[0].X < 0.8*tt.most {
			t.Errorf("%s: %+v, want %s, about %v, %q", tt.name, got, tt.mode, tt.most, tt.says)
		}
	}
	if got := NewForecast(exactly(laws[1].law, 2, 4, 8), oneCache, known).lanes(8, nil); len(got) > 0 {
		t.Errorf("without a count of one CPU: %+v", got)
	}
}

// On two CPUs, a value takes 200 ns alone, and 5.625 ns in a batch of 64: 2.5 ns are
// its own.
func TestBatches(t *testing.T) {
	f := NewForecast([]Point{{1, 1e9 / 32, 1e9 / 32, 1e9 / 32, 9}, {2, 5e6, 4e6, 6e6, 9}}, oneCache, known)
	batches := []Point{{1, 1e9 / 3, 1e9 / 3, 1e9 / 3, 9}, {2, 1e9 / 5.625, 1e9 / 6, 1e9 / 5, 9}}
	got := f.batches(2, batches)
	if len(got) != 3 || !closeTo(got[0].X, 1e9/(200.0/8+2.5), 1e-9) || !closeTo(got[2].X, 1e9/(200.0/512+2.5), 1e-9) || !strings.Contains(got[2].AtMost, "2.50 ns of each value") {
		t.Fatalf("%+v", got)
	}
	if c := batches[1]; got[1].X != c.X || got[1].Lo != c.Lo || got[1].Hi != c.Hi || got[1].Mode != Measured || got[1].AtMost != "" {
		t.Errorf("batches of 64: %+v, want the measured ones", got[1])
	}
	// An own cost of less than half a nanosecond of a CPU is noise.
	slow := NewForecast([]Point{{2, 1e6, 1e6, 1e6, 9}}, oneCache, known)
	if got := slow.batches(2, []Point{{2, 1e8, 1e8, 1e8, 9}}); !closeTo(got[2].X, 1e9/(1000.0/512+leastOwn/2), 1e-9) {
		t.Errorf("batches of 512: %+v", got[2])
	}
	if got := f.batches(2, nil); len(got) > 0 {
		t.Errorf("without a measurement: %+v", got)
	}
	if got := f.batches(4, batches); len(got) > 0 {
		t.Errorf("on 4 CPUs: %+v", got)
	}
}
