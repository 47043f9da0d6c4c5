// Package rounds is what the commands share that measure contenders in turns, in rounds:
// their main function and flags, tables of cells, and medians.
package rounds

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// parseProcs parses the value of -procs, a comma-separated list of values for GOMAXPROCS.
func parseProcs(list string) (procs []int, err error) {
	for field := range strings.SplitSeq(list, ",") {
		p, err := strconv.Atoi(strings.TrimSpace(field))
		if err != nil || p < 1 {
			return nil, fmt.Errorf("-procs: invalid number of processors %q (want 1, 2, …)", field)
		}
		procs = append(procs, p)
	}
	return procs, nil
}

// Median returns the median of the values, NaN without values.
func Median(values []float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(values))
	middle := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[middle]
	}
	return (sorted[middle-1] + sorted[middle]) / 2
}
