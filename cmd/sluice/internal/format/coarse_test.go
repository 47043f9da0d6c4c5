package format

import "testing"

func TestCoarse(t *testing.T) {
	for v, want := range map[float64]string{278.47: "280", 64.2: "64", 8.766: "8.8", 99.6: "100", 9.96: "10", 0.432: "0.43", 12345: "12,000", 0: "0"} {
		if got := Coarse(v); got != want {
			t.Errorf("Coarse(%v) is %q, want %q", v, got, want)
		}
	}
	if got, want := CoarseInterval(47.2, 45.25, 57.4, " ns"), "47 ns (45 to 57)"; got != want {
		t.Errorf("an interval is %q, want %q", got, want)
	}
}

// A ratio is that of the shown figures: 64 / 8.8, not 64.21 / 8.77.
func TestCoarseTimes(t *testing.T) {
	for _, c := range []struct {
		large, small float64
		want         string
	}{{64.214, 8.766, "7.3"}, {278.5, 64.2, "4.4"}, {120, 60, "2.0"}, {301, 10, "30"}} {
		if got := CoarseTimes(c.large, c.small); got != c.want {
			t.Errorf("%v is %s times %v, want %s", c.large, got, c.small, c.want)
		}
	}
}
