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
	low, median, high := quantile(sorted, 0.25), quantile(sorted, 0.5), quantile(sorted, 0.75)
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

// quantile interpolates between the two nearest values.
func quantile(sorted []float64, share float64) float64 {
	place := share * float64(len(sorted)-1)
	below := int(place)
	if below+1 == len(sorted) {
		return sorted[below]
	}
	return sorted[below] + (place-float64(below))*(sorted[below+1]-sorted[below])
}
