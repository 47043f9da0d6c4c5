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
		{"decimal places", PercentDigits(0.12, 1), "12.0%"},
		{"a limit", PercentExact(0.05), "5%"},
		{"a limit with decimals", PercentExact(0.0025), "0.25%"},
		{"three digits have no comma", Thousands(999), "999"},
		{"thousands", Thousands(10000), "10,000"},
		{"negative millions", Thousands(-1234567), "-1,234,567"},
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
		{"has", Have(1), "has"},
		{"have", Have(2), "have"},
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

func TestPadCutCapital(t *testing.T) {
	for _, tt := range []struct{ name, got, want string }{
		{"characters, not bytes", Pad("µs", 4), "  "},
		{"nothing to fill", Pad("long", 2), ""},
		{"short enough", Cut("abc", 3), "abc"},
		{"too long", Cut("abcd", 3), "ab…"},
		{"exactly long enough", Cut("exactly", 7), "exactly"},
		{"with a word's end", Cut("too long", 5), "too …"},
		{"characters, not bytes", Cut("größer", 4), "grö…"},
		{"no room", Cut("abcd", 1), ""},
		{"a word", Capital("one way"), "One way"},
		{"a qualified name", Capital("sync.Mutex at work"), "sync.Mutex at work"},
		{"an accent", Capital("äb"), "Äb"},
		{"nothing", Capital(""), ""},
	} {
		if tt.got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, tt.got, tt.want)
		}
	}
}

func TestForServices(t *testing.T) {
	for _, tt := range []struct{ name, got, want string }{
		{"a number", Number(12.34), "12.3"},
		{"a whole number", Number(3), "3"},
		{"a fraction", Number(0.5), "0.50"},
		{"compact", Compact(12_345), "12.3k"},
		{"compact and negative", Compact(-0.001), "-<0.01"},
		{"compact seconds", CompactSeconds(3.21), "3.2s"},
		{"bytes", Bytes(1536), "1.50 KiB"},
	} {
		if tt.got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, tt.got, tt.want)
		}
	}
}
