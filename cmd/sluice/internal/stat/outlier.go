package stat

import (
	"math"
	"slices"
)

// Fences of an outlier. Tukey's "far out" values lie more than three times the
// interquartile range beyond a quartile. If the quartiles are nearly equal,
// trifles would qualify, so an outlier must also differ from the median by a
// share of it.
const (
	farOut = 3
	trifle = 0.01
)

// Outliers returns the indices of the values that lie far from the others.
// Reports mark them and never drop them: a channel that is slow one time in ten
// is slow one time in ten. Fewer than MinSamples values have no outliers.
func Outliers(values []float64) []int {
	if len(values) < MinSamples {
		return nil
	}
	sorted := slices.Sorted(slices.Values(values))
	low, median, high := Quantile(sorted, 0.25), Quantile(sorted, 0.5), Quantile(sorted, 0.75)
	distance := farOut * (high - low)
	var outliers []int
	for i, v := range values {
		beyond := v < low-distance || v > high+distance
		if beyond && math.Abs(v-median) > trifle*math.Abs(median) {
			outliers = append(outliers, i)
		}
	}
	return outliers
}

// Quantile interpolates between the two nearest of the sorted values.
func Quantile(sorted []float64, share float64) float64 {
	return At(sorted, share*float64(len(sorted)-1))
}

// At interpolates between the sorted values before and after a place, from 0.
func At(sorted []float64, place float64) float64 {
	below := int(place)
	above := min(below+1, len(sorted)-1)
	return sorted[below] + (place-float64(below))*(sorted[above]-sorted[below])
}
