package measure

import "time"

// Steps returns the number of planned repetitions, which is the number of calls
// of Done unless the run is interrupted or points are run longer.
func Steps(points []*Point) int {
	steps := 0
	for _, point := range points {
		steps += point.Count * len(point.Entries)
	}
	return steps
}

// besidesTimed is the time of a repetition in addition to its target: the
// excess of the last pass, making and draining the channel, a garbage
// collection, reading the usage of the machine, and its part of saving the point.
// It is 3 to 8 ms with a target of 12 ms.
const besidesTimed = 6 * time.Millisecond

// Estimate returns the approximate duration of measuring the points, if none is
// run longer. It relies on the points' own estimates of a pass.
func Estimate(points []*Point) time.Duration {
	total := time.Duration(0)
	for _, point := range points {
		repetition := max(point.Target, point.Pass) + besidesTimed
		rounds := time.Duration(point.Count)
		entries := time.Duration(len(point.Entries))
		if point.Target > 0 {
			total += entries * max(point.Pass, besidesTimed) // the warm-up pass
		}
		total += entries * rounds * repetition
	}
	return total
}
