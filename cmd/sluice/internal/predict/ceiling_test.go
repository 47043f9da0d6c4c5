package predict

import (
	"errors"
	"strings"
	"testing"
)

func TestLanes(t *testing.T) {
	law := Law{2e7, 1.5, 0.02}
	f := NewForecast(exactly(law, 1, 2, 4, 8), oneCache, testBand)
	for _, tt := range []struct {
		lanes, cpus int
		x           float64
		mode        Mode
	}{
		{2, 8, 2 * law.At(4), Derived},
		{8, 8, 8 * law.At(1), Derived},
		{16, 8, 8 * law.At(1), Derived}, // more lanes than CPUs do not help
		{2, 32, 2 * mustAt(t, f, 16), Extrapolated},
		{3, 8, 3 * mustAt(t, f, 8.0/3), Interpolated},
	} {
		got, err := f.Lanes(tt.lanes, tt.cpus, nil, 2)
		if err != nil || !closeTo(got.X, tt.x, 1e-6) || got.Mode != tt.mode || got.CPUs != float64(tt.cpus) || got.Parts != tt.lanes {
			t.Errorf("%d lanes on %d CPUs: %+v, %v, want %v, %s", tt.lanes, tt.cpus, got, err, tt.x, tt.mode)
		}
		if tt.mode == Derived && (!closeTo(got.Lo, 0.98*tt.x/2, 1e-6) || !closeTo(got.Hi, 1.02*tt.x, 1e-6)) {
			t.Errorf("%d lanes on %d CPUs: band %v to %v of %v", tt.lanes, tt.cpus, got.Lo, got.Hi, tt.x)
		}
	}
	if _, err := f.Lanes(2, 128, nil, 2); !errors.Is(err, ErrTooFar) {
		t.Errorf("2 lanes on 128 CPUs: error %v", err)
	}
}

// Lanes that the same source measured bound the ceiling: what one CPU carries
// alone does not count, nor what one channel carries on one CPU.
func TestLanesMeasured(t *testing.T) {
	f := NewForecast(exactly(Law{2e7, 1.5, 0.02}, 1, 2, 4, 8), oneCache, testBand)
	measured := []Count{{1, 3e7, 3e7, 3e7, 9}, {4, 2e7, 1.9e7, 2.1e7, 9}, {8, 4e7, 3.9e7, 4.1e7, 9}}
	got, err := f.Lanes(8, 8, measured, 2)
	if err != nil || got.X != 4e7 || got.Lo != 3.9e7 || got.Hi != 4.1e7 || got.Mode != Measured {
		t.Errorf("8 lanes on 8 CPUs: %+v, %v, want the measured ones", got, err)
	}
	got, err = f.Lanes(16, 16, measured, 2)
	if err != nil || !closeTo(got.X, 16*2.1e7/4, 1e-9) || !got.Bounded || !strings.Contains(got.Bound.Why, "of lanes measured here") {
		t.Errorf("16 lanes on 16 CPUs: %+v, %v, want 16 times a quarter of 21 M/s", got, err)
	}
}

func mustAt(t *testing.T, f *Forecast, n float64) float64 {
	t.Helper()
	figure, err := f.At(n)
	if err != nil {
		t.Fatal(err)
	}
	return figure.X
}

// On one CPU, a value takes 32 ns alone, and 3 ns in a batch of 64: 2.5 ns are
// its own. On two CPUs it is 200 ns, and 5.625 ns in a batch: 2.5 ns.
func TestBatches(t *testing.T) {
	f := NewForecast([]Count{{1, 1e9 / 32, 1e9 / 32, 1e9 / 32, 9}, {2, 5e6, 4e6, 6e6, 9}}, oneCache, testBand)
	batches := []Count{{1, 1e9 / 3, 1e9 / 3, 1e9 / 3, 9}, {2, 1e9 / 5.625, 1e9 / 6, 1e9 / 5, 9}}
	if own, ok := f.OwnCost(2, batches); !ok || !closeTo(own, 2.5, 1e-9) {
		t.Errorf("own cost %v, %v, want 2.5 ns", own, ok)
	}
	got, err := f.Batches(64, 2, batches)
	if err != nil || got.X != batches[1].X || got.Hi != batches[1].Hi || got.Mode != Measured {
		t.Errorf("batches of 64: %+v, %v, want the measured ones", got, err)
	}
	got, err = f.Batches(512, 2, batches)
	if want := 1e9 / (200.0/512 + 2.5); err != nil || !closeTo(got.X, want, 1e-9) || got.Mode != Derived || got.Bounded {
		t.Errorf("batches of 512: %+v, %v, want %v", got, err, want)
	}
	if want := 2 * 1e9 / 2.5; !closeTo(got.Bound.X, want, 1e-9) || !strings.Contains(got.Bound.Why, "2.50 ns of a CPU") {
		t.Errorf("bound %+v, want %v", got.Bound, want)
	}
	if wantLo := 1e9 / (250.0/512 + 2.5) / BatchShortfall; !closeTo(got.Lo, wantLo, 1e-9) {
		t.Errorf("batches of 512: from %v, want %v", got.Lo, wantLo)
	}
	// By the upper end of its interval, 1 ns, one channel would give batches of 8
	// more than batches of 64 carried.
	quick := NewForecast([]Count{{1, 1e9 / 32, 1e9 / 32, 1e9 / 32, 9}, {2, 1e9 / 16, 1e9 / 20, 1e9, 9}}, oneCache, testBand)
	slow := []Count{batches[0], {2, 1e8, 1e8, 1e8, 9}}
	if got, err := quick.Batches(8, 2, slow); err != nil || got.Hi != 1e8 || got.X >= 1e8 {
		t.Errorf("batches of 8: %+v, %v, more than batches of 64", got, err)
	}
	if _, err := f.Batches(10, 2, nil); !errors.Is(err, ErrNoBatches) {
		t.Errorf("without a measurement: error %v", err)
	}
	if _, err := f.Batches(10, 4, batches); !errors.Is(err, ErrTooFew) {
		t.Errorf("on 4 CPUs: error %v", err)
	}
}

// An own cost below the floor is a measurement of noise.
func TestOwnCostFloor(t *testing.T) {
	f := NewForecast([]Count{{2, 1e6, 1e6, 1e6, 9}}, oneCache, testBand)
	batches := []Count{{2, 1e8, 1e8, 1e8, 9}} // 10 ns, and a share of 15.6 ns
	if own, ok := f.OwnCost(2, batches); !ok || own != leastOwn/2 {
		t.Errorf("own cost %v, %v, want %v", own, ok, leastOwn/2)
	}
	if got, err := f.Batches(512, 2, batches); err != nil || got.Bound.X != 2*1e9/leastOwn || got.Hi > got.Bound.X {
		t.Errorf("%+v, %v is above a value in %v ns of a CPU", got, err, leastOwn)
	}
}

func TestLaneShortfall(t *testing.T) {
	separate := func(xs ...float64) Curve {
		c := Curve{Kind: Sharded}
		for i, x := range xs {
			c.Points = append(c.Points, Point{1 << i, x})
		}
		return c
	}
	late := separate(10, 20, 40)
	late.Points = late.Points[1:] // without a count of one, it is skipped
	curves := []Curve{separate(10, 20, 40), separate(10, 10, 30), late, planted("shared", Law{1e6, 3, 0}, 1, 2, 4)}
	if factor, from := LaneShortfall(curves); factor != 2 || from != 2 {
		t.Errorf("shortfall %v from %d curves, want 2 from 2", factor, from)
	}
	if factor, from := LaneShortfall(nil); factor != 1 || from != 0 {
		t.Errorf("of nothing: %v from %d", factor, from)
	}
	if factor, from := LaneShortfall(Published()); factor < 1.5 || from < 4 {
		t.Errorf("published: %v from %d", factor, from)
	}
}
