package measure

import "time"

// Steps returns how many repetitions are planned: how often Done will be called,
// unless the run is interrupted or points are run longer.
func Steps(points []*Point) int {
	steps := 0
	for _, point := range points {
		steps += point.Count * len(point.Entries)
	}
	return steps
}

// besidesTimed is what a repetition takes besides the time that it is to fill: the
// pass that goes beyond it, making and draining the channel, a collection. It was
// seen to be 2 to 6 ms with 12 to be filled.
const besidesTimed = 4 * time.Millisecond

// Estimate returns about how long the points take if none is run longer. Of what a
// pass takes it knows what the point says; it is an estimate.
func Estimate(points []*Point) time.Duration {
	total := time.Duration(0)
	for _, point := range points {
		repetition := max(point.Target, point.Pass) + besidesTimed
		rounds := time.Duration(point.Count)
		entries := time.Duration(len(point.Entries))
		if point.Target > 0 {
			total += entries * max(point.Pass, besidesTimed) // the pass that does not count
		}
		total += entries * rounds * repetition
	}
	return total
}
