package format

import (
	"math"
	"testing"
)

func TestKnown(t *testing.T) {
	for _, tt := range []struct {
		name      string
		v, lo, hi float64
		want      bool
	}{
		{"a narrow interval", 47.2, 38.1, 52.7, true},
		{"a decade", 10, 2, 20, true},
		{"more than a decade", 10, 1.9, 19.1, false},
		{"more than 100% above", 10, 9, 20.1, false},
		{"zero within", 0.07, -1362, 1362, false},
		{"down to zero", 10, 0, 12, false},
		{"negative", -12, -15, -9, true},
		{"negative, more than 100% below", -12, -25, -9, false},
		{"zero, exactly", 0, 0, 0, true},
		{"without an upper end", 32.8, 3, math.Inf(1), false},
		{"no number", math.NaN(), 1, 2, false},
	} {
		if got := Known(tt.v, tt.lo, tt.hi); got != tt.want {
			t.Errorf("%s: %v (%v to %v) known: %v", tt.name, tt.v, tt.lo, tt.hi, got)
		}
	}
}

func TestAsPreciseAsKnown(t *testing.T) {
	for _, tt := range []struct {
		v, lo, hi          float64
		rounded, intervals string
	}{
		{47.2, 38.1, 52.7, "47", "47 (38 to 53)"},
		{148, 90, 210, "150", "150 (90 to 210)"},
		{32.06, 31, 33.5, "32.1", "32.1 (31.0 to 33.5)"},
		{32.06, 32.06, 32.08, "32.1", "32.1 (32.1 to 32.1)"},
		{1.512, 1.50, 1.53, "1.51", "1.51 (1.50 to 1.53)"},
		{12345, 12000, 12600, "12,300", "12,300 (12,000 to 12,600)"},
		{1234, 1200, 1290, "1230", "1230 (1200 to 1290)"},
		{30, 3.4, 34, "30", "30 (3 to 34)"},
		{9.96, 9.5, 10.5, "10.0", "10.0 (9.5 to 10.5)"},
		{0.0123, 0.012, 0.0125, "0.0123", "0.0123 (0.0120 to 0.0125)"},
		{-12.4, -15, -9, "-12", "-12 (-15 to -9)"},
		{0, 0, 0, "0", "0 (0 to 0)"},
		{32.8, 3, 101, NotKnown, NotKnownHere},
		{0.07, -13, 14, NotKnown, NotKnownHere},
	} {
		if got := Rounded(tt.v, tt.lo, tt.hi); got != tt.rounded {
			t.Errorf("Rounded(%v, %v, %v) = %q, want %q", tt.v, tt.lo, tt.hi, got, tt.rounded)
		}
		if got := Interval(tt.v, tt.lo, tt.hi); got != tt.intervals {
			t.Errorf("Interval(%v, %v, %v) = %q, want %q", tt.v, tt.lo, tt.hi, got, tt.intervals)
		}
	}
}

func TestMargin(t *testing.T) {
	for _, tt := range []struct {
		margin float64
		want   string
	}{{3.04, "3"}, {11.9, "12"}, {63.7, "60"}, {0.42, "0.4"}, {0, "0"}, {24, "20"}} {
		if got := Margin(tt.margin); got != tt.want {
			t.Errorf("Margin(%v) = %q, want %q", tt.margin, got, tt.want)
		}
	}
}

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
