package format

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Figure writes v with three significant digits, or with its whole integer part if
// that is longer: "1234", "12.3", "1.23", "0.01".
func Figure(v float64) string {
	switch size := math.Abs(v); {
	case size >= 99.95:
		return strconv.FormatFloat(v, 'f', 0, 64)
	case size >= 9.995:
		return strconv.FormatFloat(v, 'f', 1, 64)
	}
	return strconv.FormatFloat(v, 'f', 2, 64)
}

// Percent writes a fraction: "12%", or "0.4%" below 1%.
func Percent(fraction float64) string {
	digits := 0
	if v := math.Abs(100 * fraction); v > 0 && v < 1 {
		digits = 1
	}
	return strconv.FormatFloat(100*fraction, 'f', digits, 64) + "%"
}

// PercentExact writes a fraction that a user has chosen, with up to four decimal
// places: "5%", "0.25%".
func PercentExact(fraction float64) string {
	return strconv.FormatFloat(math.Round(1e6*fraction)/1e4, 'f', -1, 64) + "%"
}

// Thousands writes n with commas: "10,000".
func Thousands[N int | int64 | uint64](n N) string {
	digits, sign := fmt.Sprint(n), ""
	if n < 0 {
		digits, sign = digits[1:], "-"
	}
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return sign + digits
}

// Short writes a round number for a narrow place: "20k", "1.5M". A number below
// 10,000 stays as it is.
func Short(v float64) string {
	switch {
	case v >= 1e6 && math.Mod(v, 1e5) == 0:
		return strconv.FormatFloat(v/1e6, 'f', -1, 64) + "M"
	case v >= 1e4 && math.Mod(v, 100) == 0:
		return strconv.FormatFloat(v/1e3, 'f', -1, 64) + "k"
	}
	return strconv.FormatFloat(v, 'g', 4, 64)
}

// Plural writes a count with its noun: "1 CPU", "2 CPUs".
func Plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}

// Are returns "is" for 1, and "are" for any other count.
func Are(n int) string {
	if n == 1 {
		return "is"
	}
	return "are"
}

// And joins phrases: "a, b and c".
func And(phrases []string) string {
	last := len(phrases) - 1
	if last < 1 {
		return strings.Join(phrases, "")
	}
	return strings.Join(phrases[:last], ", ") + " and " + phrases[last]
}

// Join joins the texts that are not empty.
func Join(between string, texts ...string) string {
	return strings.Join(slices.DeleteFunc(texts, func(text string) bool { return text == "" }), between)
}

// A scale has units from the largest to the smallest.
type scale []struct {
	size float64
	unit string
}

// of returns v in the largest unit of which there is at least one, or in the smallest.
func (s scale) of(v float64) (float64, string) {
	for _, u := range s[:len(s)-1] {
		if v >= u.size {
			return v / u.size, u.unit
		}
	}
	last := s[len(s)-1]
	return v / last.size, last.unit
}

// Rate writes a number per second in a unit of its size: "21.3 M/s".
func Rate(perSecond float64) string {
	v, unit := scale{{1e9, " G/s"}, {1e6, " M/s"}, {1e3, " k/s"}, {1, "/s"}}.of(perSecond)
	return Figure(v) + unit
}

// Duration writes a duration with up to three digits in a unit of its size:
// "100 ns", "1.5 µs", "2 s".
func Duration(d time.Duration) string {
	v, unit := scale{{1e9, " s"}, {1e6, " ms"}, {1e3, " µs"}, {1, " ns"}}.of(float64(d))
	return strconv.FormatFloat(v, 'g', 3, 64) + unit
}

// In writes a duration as a number of units: In(100*time.Nanosecond,
// time.Microsecond) is "0.1".
func In(d, unit time.Duration) string {
	return strconv.FormatFloat(float64(d)/float64(unit), 'g', 3, 64)
}

// Ago writes how far apart two events are, in the largest unit of which there
// are at least two: "3 days", "5 h", "2 min", "90 s".
func Ago(d time.Duration) string {
	half, unit := scale{{86400, " days"}, {3600, " h"}, {60, " min"}, {1, " s"}}.of(d.Seconds() / 2)
	return strconv.FormatFloat(2*half, 'f', 0, 64) + unit
}

// Estimate writes an estimated duration: to the second, and to ten seconds from
// two minutes on. It is never less than "1s".
func Estimate(d time.Duration) string {
	if d > 2*time.Minute {
		return d.Round(10 * time.Second).String()
	}
	return max(d.Round(time.Second), time.Second).String()
}

// CompactSeconds writes a number of seconds in at most six characters: "3.2s",
// "12ms", "8.5min", "<1µs". A minute is not "m", which may be read as milli.
func CompactSeconds(s float64) string {
	v, unit := scale{{86400, "d"}, {3600, "h"}, {60, "min"}, {1, "s"}, {1e-3, "ms"}, {1e-6, "µs"}}.of(s)
	switch {
	case s == 0:
		return "0s"
	case v < 1:
		return "<1µs"
	case v >= 9.95:
		return strconv.FormatFloat(min(v, 99999), 'f', 0, 64) + unit
	}
	return strconv.FormatFloat(v, 'f', 1, 64) + unit
}

// Bytes writes a number of bytes in a binary unit: "1.50 KiB".
func Bytes(bytes int64) string {
	v, unit := scale{{1 << 40, " TiB"}, {1 << 30, " GiB"}, {1 << 20, " MiB"}, {1 << 10, " KiB"}, {1, " B"}}.of(float64(bytes))
	if bytes < 1<<10 {
		return strconv.FormatInt(bytes, 10) + unit
	}
	return Compact(v) + unit
}

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
	units := []string{"", "k", "M", "G", "T", "P", "E"}
	for ; v >= 999.5 && len(units) > 1; units = units[1:] {
		v /= 1000
	}
	if v >= 999.5 {
		return "huge"
	}
	text := Figure(v)
	if whole, rest, _ := strings.Cut(text, "."); strings.Trim(rest, "0") == "" {
		text = whole
	}
	return text + units[0]
}
