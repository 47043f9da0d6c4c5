package format

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Compact writes a number in at most five characters, or six with a sign: "999",
// "12.3k", "<0.01".
func Compact(v float64) string {
	switch {
	case math.IsNaN(v) || math.IsInf(v, 0):
		return "?"
	case v < 0:
		return "-" + Compact(-v)
	case v == 0:
		return "0"
	case v < 0.005:
		return "<0.01"
	}
	unit := 0
	for v >= 999.5 && unit < len(units)-1 {
		v /= 1000
		unit++
	}
	digits := 2 // after the decimal point
	switch {
	case v >= 999.5:
		return "huge"
	case v >= 99.95:
		digits = 0
	case v >= 9.995:
		digits = 1
	}
	text := strconv.FormatFloat(v, 'f', digits, 64)
	if whole, rest, _ := strings.Cut(text, "."); strings.Trim(rest, "0") == "" {
		text = whole
	}
	return text + units[unit]
}

var units = []string{"", "k", "M", "G", "T", "P", "E"}

// CompactSeconds writes a number of seconds in at most six characters: "3.2s",
// "12ms", "8.5min", "<1µs". A minute is not "m", which may be read as milli.
func CompactSeconds(s float64) string {
	if s == 0 {
		return "0s"
	}
	for _, unit := range []struct {
		size float64
		name string
	}{{86400, "d"}, {3600, "h"}, {60, "min"}, {1, "s"}, {1e-3, "ms"}, {1e-6, "µs"}} {
		if s >= unit.size {
			v := s / unit.size
			if v >= 9.95 {
				return fmt.Sprintf("%.0f%s", min(v, 99999), unit.name)
			}
			return fmt.Sprintf("%.1f%s", v, unit.name)
		}
	}
	return "<1µs"
}

// Bytes writes a number of bytes in a binary unit: "1.50 KiB".
func Bytes(bytes int64) string {
	for _, unit := range []struct {
		shift int
		name  string
	}{{40, "TiB"}, {30, "GiB"}, {20, "MiB"}, {10, "KiB"}} {
		if v := float64(bytes) / float64(int64(1)<<unit.shift); v >= 1 {
			return Compact(v) + " " + unit.name
		}
	}
	return fmt.Sprintf("%d B", bytes)
}
