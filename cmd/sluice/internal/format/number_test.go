package format

import (
	"math"
	"testing"
	"time"
)

func TestNumbers(t *testing.T) {
	for _, tt := range []struct{ name, got, want string }{
		{"three digits", Figure(12.345), "12.3"},
		{"no more decimals than two", Figure(0.0123), "0.01"},
		{"the whole integer part", Figure(-1234.5), "-1234"},
		{"rounded up to three digits", Figure(99.96), "100"},
		{"rounded up to four", Figure(9.996), "10.0"},
		{"a share", Percent(0.12), "12%"},
		{"a small share", Percent(0.004), "0.4%"},
		{"no share", Percent(0), "0%"},
		{"a limit", PercentExact(0.05), "5%"},
		{"a limit with decimals", PercentExact(0.0025), "0.25%"},
		{"round", Short(20_500), "20.5k"},
		{"a million and a half", Short(1.5e6), "1.5M"},
		{"ten thousand", Short(10000), "10k"},
		{"five thousand", Short(5000), "5000"},
		{"a fraction", Short(0.5), "0.5"},
		{"not round", Short(1024), "1024"},
		{"one", Plural(1, "CPU"), "1 CPU"},
		{"none", Plural(0, "CPU"), "0 CPUs"},
		{"is", Are(1), "is"},
		{"are", Are(0), "are"},
		{"nothing to join", And(nil), ""},
		{"one phrase", And([]string{"a"}), "a"},
		{"three phrases", And([]string{"a", "b", "c"}), "a, b and c"},
		{"a rate", Rate(21.34e6), "21.3 M/s"},
		{"a slow rate", Rate(12), "12.0/s"},
		{"just below a thousand", Rate(999.96), "1000/s"},
		{"a thousand", Rate(1000), "1.00 k/s"},
		{"three digits", Rate(999e6), "999 M/s"},
		{"the largest unit", Rate(1.5e9), "1.50 G/s"},
		{"no limit", Rate(math.Inf(1)), "+Inf G/s"},
	} {
		if tt.got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, tt.got, tt.want)
		}
	}
}

func TestDurations(t *testing.T) {
	for _, tt := range []struct{ name, got, want string }{
		{"nanoseconds", Duration(100), "100 ns"},
		{"one and a half", Duration(1500), "1.5 µs"},
		{"milliseconds", Duration(2 * time.Millisecond), "2 ms"},
		{"seconds", Duration(12 * time.Second), "12 s"},
		{"a number of units", In(100, time.Microsecond), "0.1"},
		{"days", Ago(72 * time.Hour), "3 days"},
		{"hours", Ago(5 * time.Hour), "5 h"},
		{"minutes", Ago(119*time.Minute + 40*time.Second), "120 min"},
		{"seconds", Ago(90 * time.Second), "90 s"},
		{"a short estimate", Estimate(400 * time.Millisecond), "1s"},
		{"an estimate", Estimate(61400 * time.Millisecond), "1m1s"},
		{"a long estimate", Estimate(3*time.Minute + 4*time.Second), "3m0s"},
	} {
		if tt.got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, tt.got, tt.want)
		}
	}
}

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
