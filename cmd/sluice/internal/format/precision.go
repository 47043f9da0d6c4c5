package format

import (
	"math"
	"strconv"
	"strings"
)

// A figure is written only as precisely as it is known. These rules hold for
// tables, charts and texts alike:
//
//   - A figure whose interval is wider than a decade, or reaches further than
//     100% from it, is not written: NotKnown takes its place.
//   - The last digit is the first that the interval leaves in doubt, or the
//     second if the first is a 1. There are at most three digits.

// What to write instead of a figure that is not known: NotKnown where space is
// short, and NotKnownHere where the reader learns what to do.
const (
	NotKnown     = "not known"
	NotKnownHere = NotKnown + " here: " + RepeatMore
	RepeatMore   = "sluice lab -count 20"
)

// decade is the largest ratio of the ends of a known figure's interval.
const decade = 10

// Known reports whether the interval from lo to hi determines the size of v:
// both ends have the same sign, at most a decade between them, and neither is
// further from v than v itself. An interval without width is known.
func Known(v, lo, hi float64) bool {
	switch {
	case math.IsNaN(v) || math.IsInf(lo, 0) || math.IsInf(hi, 0):
		return false
	case lo == v && hi == v:
		return true
	case lo <= 0 && hi >= 0:
		return false
	}
	near, far := math.Abs(lo), math.Abs(hi)
	if near > far {
		near, far = far, near
	}
	return far <= decade*near && max(hi-v, v-lo) <= math.Abs(v)
}

// Rounded writes a known figure with the digits that its interval supports:
// "47" for 47.2 from 38.1 to 52.7. For a figure that is not known it returns
// NotKnown.
func Rounded(v, lo, hi float64) string {
	if !Known(v, lo, hi) {
		return NotKnown
	}
	return toPlace(v, placeOf(v, lo, hi))
}

// Interval writes a figure with the ends of its interval: "47 (38 to 53)". For a
// figure that is not known it returns NotKnownHere.
func Interval(v, lo, hi float64) string {
	if !Known(v, lo, hi) {
		return NotKnownHere
	}
	place := placeOf(v, lo, hi)
	end := func(end float64) string {
		finest := max(place/10, doubtful(math.Abs(end-v)), powerOf(v)/100)
		return toPlace(end, min(place, powerOf(end), finest))
	}
	return toPlace(v, place) + " (" + end(lo) + " to " + end(hi) + ")"
}

// Margin writes the distance from a figure to an end of its interval, to one digit, or two if the first
// is a 1: "3", "12", "0.4".
func Margin(margin float64) string {
	if margin == 0 {
		return "0"
	}
	return toPlace(margin, doubtful(margin))
}

// placeOf returns the power of ten of a figure's last digit.
func placeOf(v, lo, hi float64) float64 {
	return max(doubtful(max(hi-v, v-lo)), powerOf(v)/100)
}

// doubtful returns the power of ten of the last digit that a margin leaves in a
// figure.
func doubtful(margin float64) float64 {
	if margin <= 0 {
		return 0
	}
	power := powerOf(margin)
	if margin < 2*power*(1-1e-9) {
		return power / 10
	}
	return power
}

// powerOf returns the power of ten of the first digit of v, or 1 for 0.
func powerOf(v float64) float64 {
	if v == 0 {
		return 1
	}
	return math.Pow(10, math.Floor(math.Log10(math.Abs(v))))
}

// toPlace rounds v to a multiple of place, a power of ten, and writes it with
// commas from 10,000 on.
func toPlace(v, place float64) string {
	if v == 0 {
		return "0"
	}
	digits := max(0, int(math.Round(-math.Log10(place))))
	rounded := math.Round(v/place) * place
	if rounded == 0 {
		rounded = 0 // no sign
	}
	text := strconv.FormatFloat(rounded, 'f', digits, 64)
	if whole := strings.TrimPrefix(text, "-"); digits == 0 && len(whole) > 4 && len(whole) < 19 {
		return Thousands(int64(rounded))
	}
	return text
}

// Coarse writes a figure with two digits, for a first look: "280", "64", "8.8".
func Coarse(v float64) string { return toPlace(v, coarsePlace(v)) }

// CoarseInterval writes a figure as [Coarse] does, with a unit, and the ends of
// its interval to the same place: "64 ns (57 to 69)".
func CoarseInterval(v, lo, hi float64, unit string) string {
	place := coarsePlace(v)
	return toPlace(v, place) + unit + " (" + toPlace(lo, place) + " to " + toPlace(hi, place) + ")"
}

// coarsePlace returns the power of ten of the second digit, which rounding up may
// move: 99.6 is 100.
func coarsePlace(v float64) float64 { return powerOf(rounded(v, powerOf(v)/10)) / 10 }

// rounded rounds v to a multiple of place.
func rounded(v, place float64) float64 { return math.Round(v/place) * place }
