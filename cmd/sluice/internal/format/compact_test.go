package format

import (
	"math"
	"testing"
)

func TestCompact(t *testing.T) {
	for _, test := range []struct {
		from float64
		want string
	}{
		{0, "0"}, {0.001, "<0.01"}, {0.5, "0.50"}, {1, "1"}, {1.5, "1.50"}, {9.996, "10"}, {12.34, "12.3"}, {99.96, "100"}, {999, "999"},
		{999.6, "1k"}, {1000, "1k"}, {1024, "1.02k"}, {12_345, "12.3k"}, {999_499, "999k"}, {1 << 20, "1.05M"},
		{5e9, "5G"}, {5e12, "5T"}, {5e15, "5P"}, {math.MaxInt64, "9.22E"}, {1e30, "huge"}, {-1500, "-1.50k"},
		{math.NaN(), "?"}, {math.Inf(1), "?"},
	} {
		got := Compact(test.from)
		if got != test.want {
			t.Errorf("Compact(%v) = %q, want %q", test.from, got, test.want)
		}
		if len(got) > 5 && test.from >= 0 {
			t.Errorf("Compact(%v) = %q is too wide", test.from, got)
		}
	}
}

func TestCompactFigures(t *testing.T) {
	for _, test := range []struct{ got, want string }{
		{Thousands(0), "0"}, {Thousands(999), "999"}, {Thousands(1000), "1,000"}, {Thousands(-1234567), "-1,234,567"},
		{Thousands(uint64(math.MaxUint64)), "18,446,744,073,709,551,615"},
		{CompactSeconds(0), "0s"}, {CompactSeconds(1e-9), "<1µs"}, {CompactSeconds(2.5e-6), "2.5µs"}, {CompactSeconds(0.0123), "12ms"}, {CompactSeconds(3.21), "3.2s"},
		{CompactSeconds(61), "1.0min"}, {CompactSeconds(3599), "60min"}, {CompactSeconds(7200), "2.0h"}, {CompactSeconds(1e6), "12d"}, {CompactSeconds(1e300), "99999d"}, {CompactSeconds(-1), "<1µs"},
		{Bytes(0), "0 B"}, {Bytes(1023), "1023 B"}, {Bytes(1536), "1.50 KiB"}, {Bytes(3 << 30), "3 GiB"}, {Bytes(math.MaxInt64), "8.39M TiB"}, {Bytes(-5), "-5 B"},
	} {
		if test.got != test.want {
			t.Errorf("%q, want %q", test.got, test.want)
		}
	}
}
