package stat

import (
	"math"
	"slices"
)

// Fences of an outlier. Tukey calls a figure far out that lies more than three
// times the distance of the quartiles beyond them. Where the quartiles are nearly
// the same that would be said of trifles: so it must also be this share of the
// median away from it.
const (
	farOut = 3
	trifle = 0.01
)

// Outliers returns the indices of the values that lie far from the others. They
// are to be shown, never to be dropped: a channel that is slow one time in ten is
// slow one time in ten. Fewer than MinSamples values have no outliers.
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

// quantile interpolates between the two values that are next to it.
func quantile(sorted []float64, share float64) float64 {
	place := share * float64(len(sorted)-1)
	below := int(place)
	if below+1 == len(sorted) {
		return sorted[below]
	}
	return sorted[below] + (place-float64(below))*(sorted[below+1]-sorted[below])
}
