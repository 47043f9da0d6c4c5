package results

import (
	"math"
	"slices"
)

// Median returns the median of the values: the mean of the middle two if their number
// is even, and NaN if there are none.
func Median(values []float64) float64 {
	n := len(values)
	if n == 0 {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(values))
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}
