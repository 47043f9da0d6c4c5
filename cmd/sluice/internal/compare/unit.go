package compare

import (
	"strings"

	"golang.org/x/perf/benchfmt"
	"golang.org/x/perf/benchunit"
)

// prefixed are units with a prefix that benchunit does not convert: it knows ns and MB.
var prefixed = map[string]struct {
	unit   string
	factor float64
}{
	"µs": {"sec", 1e-6}, "μs": {"sec", 1e-6}, "us": {"sec", 1e-6}, "ms": {"sec", 1e-3}, "s": {"sec", 1},
	"kB": {"B", 1e3}, "KB": {"B", 1e3}, "GB": {"B", 1e9},
	"KiB": {"B", 1 << 10}, "MiB": {"B", 1 << 20}, "GiB": {"B", 1 << 30},
}

// tidy converts a figure to the base unit, as benchunit.Tidy does for ns and MB:
// 1 µs/op is 1e-6 sec/op.
func tidy(v float64, unit string) (float64, string) {
	// Not of v: benchfmt does not convert the unit of a 0.
	factor, unit := benchunit.Tidy(1, unit)
	measured, per, divided := strings.Cut(unit, "/")
	words := strings.Split(measured, "-")
	for i, word := range words {
		if base, ok := prefixed[word]; ok {
			words[i] = base.unit
			factor *= base.factor
		}
	}
	if unit = strings.Join(words, "-"); divided {
		unit += "/" + per
	}
	return v * factor, unit
}

// direction returns +1 if more of a unit is better, -1 if it is worse, and 0 if
// unknown. The file's declaration comes first ("Unit M/s better=higher"), then
// benchfmt's knowledge, then the kind of the unit: times, CPU times, delays, bytes and
// allocations should be small, rates high. Not so how long a goroutine was blocked
// (blocked-send-sec/op): a receiver is blocked longer if its senders became slower, and
// also if it became faster.
func direction(unit string, units benchfmt.UnitMetadataMap) int {
	if known := units.GetBetter(unit); known != 0 || units.Get(unit, "better") != nil {
		return known
	}
	if rate(unit) {
		return +1
	}
	measured, _, _ := strings.Cut(unit, "/")
	first, rest, _ := strings.Cut(measured, "-")
	switch first {
	case "sec", "B", "bytes", "allocs":
		return -1
	case "cpu", "delay": // cpu-sec/op, delay-p99-sec
		if rest == "sec" || strings.HasSuffix(rest, "-sec") {
			return -1
		}
	}
	return 0
}

func rate(unit string) bool {
	return strings.HasSuffix(unit, "/s") || strings.HasSuffix(unit, "/sec")
}

// timed reports whether a unit is a time or a rate, which are "slower" or "faster".
func timed(unit string) bool { return rate(unit) || strings.HasPrefix(unit, "sec") }
