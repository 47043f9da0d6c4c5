package format

import (
	"fmt"
	"math"
	"strconv"
	"strings"
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
	if v := math.Abs(100 * fraction); v > 0 && v < 1 {
		return PercentDigits(fraction, 1)
	}
	return PercentDigits(fraction, 0)
}

// PercentDigits writes a fraction with the given number of decimal places:
// "12.0%".
func PercentDigits(fraction float64, digits int) string {
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

// Number writes v with two or three significant digits, and a small whole number
// without decimal places: "123", "12.3", "1.23", "3".
func Number(v float64) string {
	switch {
	case v >= 99.5:
		return strconv.FormatFloat(v, 'f', 0, 64)
	case v >= 9.95:
		return strconv.FormatFloat(v, 'f', 1, 64)
	case v >= 0.995 && v == float64(int(v)):
		return strconv.Itoa(int(v))
	}
	return strconv.FormatFloat(v, 'f', 2, 64)
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

// Have returns "has" for 1, and "have" for any other count.
func Have(n int) string {
	if n == 1 {
		return "has"
	}
	return "have"
}

// And joins phrases: "a, b and c".
func And(phrases []string) string {
	last := len(phrases) - 1
	if last < 1 {
		return strings.Join(phrases, "")
	}
	return strings.Join(phrases[:last], ", ") + " and " + phrases[last]
}

// Rate writes a number per second in a unit of its size: "21.3 M/s".
func Rate(perSecond float64) string {
	for _, unit := range []struct {
		size float64
		name string
	}{{1e9, " G/s"}, {1e6, " M/s"}, {1e3, " k/s"}} {
		if perSecond >= unit.size {
			return Figure(perSecond/unit.size) + unit.name
		}
	}
	return Figure(perSecond) + "/s"
}
