package watch

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/sluice-go/sluice/cmd/sluice/internal/format"
	"github.com/sluice-go/sluice/debug"
)

func TestClean(t *testing.T) {
	for _, test := range []struct{ from, want string }{
		{"orders/eu", "orders/eu"},
		{"日本語 e\u0301 🎉", "日本語 e\u0301 🎉"},
		{"\x1b[2J\x1b]0;t\x07", `\x1b[2J\x1b]0;t\a`},
		{"a\nb\tc\rd\x00", `a\nb\tc\rd\x00`},
		{"\u009b31m\u0085", `\u009b31m\u0085`},
		{"a\u202eb\u2066c\u200bd\u200e\ufeff", `a\u202eb\u2066c\u200bd\u200e\ufeff`},
		{"\u00a0\u2028\U000e0001\ue000", `\u00a0\u2028\U000e0001\ue000`},
		{"☂\ufe0f", `☂\ufe0f`},
		{"\xff\xc3(", `\xff\xc3(`},
		{"\uFFFD", "\uFFFD"},
		{"Z" + strings.Repeat("\u0301", 5), "Z\u0301\u0301\u0301" + `\u0301\u0301`},
	} {
		if got := clean(test.from); got != test.want {
			t.Errorf("clean(%q) = %q, want %q", test.from, got, test.want)
		}
	}
	if long := clean(strings.Repeat("日", 100_000)); len(long) > 1024+len("…") || !strings.HasSuffix(long, "日…") || !utf8.ValidString(long) {
		t.Errorf("a long text becomes one of %d bytes", len(long))
	}
}

func FuzzClean(f *testing.F) {
	for _, seed := range []string{"", "a\x1b[0m", "\xff\xfe", strings.Repeat("\u0301", 2000), strings.Repeat("\x80", 3000)} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if bad := steering(clean(s)); bad != "" {
			t.Errorf("clean(%q) has %s", s, bad)
		}
	})
}

// steering returns the control sequence in s, if any.
func steering(s string) string {
	if !utf8.ValidString(s) {
		return "bytes that are no UTF-8"
	}
	for _, r := range s {
		if !unicode.IsPrint(r) {
			return fmt.Sprintf("%U, which is not printed", r)
		}
	}
	return ""
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
		got := format.Compact(test.from)
		if got != test.want {
			t.Errorf("format.Compact(%v) = %q, want %q", test.from, got, test.want)
		}
		if len(got) > 5 && test.from >= 0 {
			t.Errorf("format.Compact(%v) = %q is too wide", test.from, got)
		}
	}
}

func TestFigures(t *testing.T) {
	for _, test := range []struct{ got, want string }{
		{format.Thousands(0), "0"}, {format.Thousands(999), "999"}, {format.Thousands(1000), "1,000"}, {format.Thousands(-1234567), "-1,234,567"},
		{format.Thousands(uint64(math.MaxUint64)), "18,446,744,073,709,551,615"},
		{rate(nil), "–"}, {rate(new(1234.0)), "1.23k"},
		{format.CompactSeconds(0), "0s"}, {format.CompactSeconds(1e-9), "<1µs"}, {format.CompactSeconds(2.5e-6), "2.5µs"}, {format.CompactSeconds(0.0123), "12ms"}, {format.CompactSeconds(3.21), "3.2s"},
		{format.CompactSeconds(61), "1.0min"}, {format.CompactSeconds(3599), "60min"}, {format.CompactSeconds(7200), "2.0h"}, {format.CompactSeconds(1e6), "12d"}, {format.CompactSeconds(1e300), "99999d"}, {format.CompactSeconds(-1), "<1µs"},
		{format.Bytes(0), "0 B"}, {format.Bytes(1023), "1023 B"}, {format.Bytes(1536), "1.50 KiB"}, {format.Bytes(3 << 30), "3 GiB"}, {format.Bytes(math.MaxInt64), "8.39M TiB"}, {format.Bytes(-5), "-5 B"},
		{filled(&debug.Channel{Len: 3}), "3"}, {filled(&debug.Channel{Len: 3, Cap: new(4000)}), "3/4000"}, {filled(&debug.Channel{Cap: new(0)}), "no slots"},
		{howLong(&debug.Waiting{}), ""}, {howLong(&debug.Waiting{Mean: new(0.0)}), ""}, {howLong(&debug.Waiting{Mean: new(0.002)}), "~2.0ms"},
		{howLong(&debug.Waiting{Now: 1, Since: 4, Mean: new(0.002)}), "4.0s"}, {howLong(&debug.Waiting{Now: 1}), ""},
	} {
		if test.got != test.want {
			t.Errorf("%q, want %q", test.got, test.want)
		}
	}
}

func TestFullIn(t *testing.T) {
	for _, test := range []struct {
		c    debug.Channel
		want string
	}{
		{debug.Channel{Cap: new(100), Len: 50, SentRate: new(20.0), ReceivedRate: new(10.0)}, "5.0s"},
		{debug.Channel{Cap: new(100), Len: 100}, "now"},
		{debug.Channel{Cap: new(100), Len: 50, SentRate: new(10.0), ReceivedRate: new(10.0)}, ""},
		{debug.Channel{Cap: new(100), Len: 50}, ""},
		{debug.Channel{Cap: new(math.MaxInt32), SentRate: new(1.0), ReceivedRate: new(0.0)}, ""},
		{debug.Channel{Len: 50, SentRate: new(10.0), ReceivedRate: new(0.0)}, ""},
		{debug.Channel{Cap: new(0)}, ""},
	} {
		if got := fullIn(&test.c); got != test.want {
			t.Errorf("%+v: %q, want %q", test.c, got, test.want)
		}
	}
}

// Color begins at 80% of the capacity.
func TestNearlyFull(t *testing.T) {
	for length, want := range map[int]bool{79: false, 80: true, 100: true} {
		if nearlyFull(&debug.Channel{Len: length, Cap: new(100)}) != want {
			t.Errorf("%d of 100: %v", length, !want)
		}
	}
	if nearlyFull(&debug.Channel{Len: 100}) {
		t.Error("without a limit")
	}
}
