package predict

import (
	"errors"
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
		{2, 8, 2 * law.At(4), Measured},
		{8, 8, 8 * law.At(1), Measured},
		{16, 8, 8 * law.At(1), Measured}, // more lanes than CPUs do not help
		{2, 32, 2 * mustAt(t, f, 16), Extrapolated},
		{3, 8, 3 * mustAt(t, f, 8.0/3), Interpolated},
	} {
		got, err := f.Lanes(tt.lanes, tt.cpus, 2)
		if err != nil || !closeTo(got.X, tt.x, 1e-6) || got.Mode != tt.mode || got.CPUs != float64(tt.cpus) || got.Parts != tt.lanes {
			t.Errorf("%d lanes on %d CPUs: %+v, %v, want %v, %s", tt.lanes, tt.cpus, got, err, tt.x, tt.mode)
		}
		if tt.mode == Measured && (!closeTo(got.Lo, 0.98*tt.x/2, 1e-6) || !closeTo(got.Hi, 1.02*tt.x, 1e-6)) {
			t.Errorf("%d lanes on %d CPUs: band %v to %v of %v", tt.lanes, tt.cpus, got.Lo, got.Hi, tt.x)
		}
	}
	if _, err := f.Lanes(2, 128, 2); !errors.Is(err, ErrTooFar) {
		t.Errorf("2 lanes on 128 CPUs: error %v", err)
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

func TestBatches(t *testing.T) {
	f := NewForecast([]Count{{1, 1e7, 1e7, 1e7, 9}, {2, 5e6, 4e6, 6e6, 9}}, oneCache, testBand)
	// 200 ns per value: 20 ns in a batch of 10, and 5 ns own cost.
	got, err := f.Batches(10, 2, 5)
	if err != nil || !closeTo(got.X, 1e9/25, 1e-9) || got.Mode != Measured || got.Parts != 10 {
		t.Errorf("%+v, %v, want 40 M/s", got, err)
	}
	if wantLo, wantHi := 1e9/(25.0+5)/BatchShortfall, 1e9/(1e2/6+5); !closeTo(got.Lo, wantLo, 1e-9) || !closeTo(got.Hi, wantHi, 1e-9) {
		t.Errorf("band %v to %v, want %v to %v", got.Lo, got.Hi, wantLo, wantHi)
	}
	if _, err := f.Batches(10, 4, 5); !errors.Is(err, ErrTooFew) {
		t.Errorf("on 4 CPUs: error %v", err)
	}
}

func TestOwnCost(t *testing.T) {
	// 32 ns alone; in batches of 64, 0.5 ns of that remain, of 3 ns in all.
	if got := OwnCost(Count{X: 1e9 / 3}, Count{X: 1e9 / 32}, 64); !closeTo(got, 2.5, 1e-9) {
		t.Errorf("own cost %v ns, want 2.5", got)
	}
	if got := OwnCost(Count{X: 1e12}, Count{X: 1e9 / 32}, 64); got != 0 {
		t.Errorf("own cost %v ns is negative", got)
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
