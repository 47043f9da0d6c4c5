package format

import "math"

// Coarse writes a figure with two digits, for a first look: "280", "64", "8.8".
func Coarse(v float64) string { return toPlace(v, coarsePlace(v)) }

// CoarseInterval writes a figure as [Coarse] does, with a unit, and the ends of
// its interval to the same place: "64 ns (57 to 69)".
func CoarseInterval(v, lo, hi float64, unit string) string {
	place := coarsePlace(v)
	return toPlace(v, place) + unit + " (" + toPlace(lo, place) + " to " + toPlace(hi, place) + ")"
}

// CoarseTimes writes how many times the first of two figures is the second, as
// their readers calculate it from what [Coarse] shows: "7.3" for 64.2 and 8.77.
func CoarseTimes(large, small float64) string {
	times := rounded(large, coarsePlace(large)) / rounded(small, coarsePlace(small))
	if times < 9.95 {
		return toPlace(times, 0.1)
	}
	return toPlace(times, 1)
}

// coarsePlace returns the power of ten of the second digit, which rounding up may
// move: 99.6 is 100.
func coarsePlace(v float64) float64 { return powerOf(rounded(v, powerOf(v)/10)) / 10 }

// rounded rounds v to a multiple of place.
func rounded(v, place float64) float64 { return math.Round(v/place) * place }
