package observe

import "time"

const (
	// sliceLength is the length of the slices in which bursts show: longer than the time
	// for which the scheduler lets a goroutine wait for its turn, shorter than a person
	// notices.
	sliceLength = 5 * time.Millisecond
	// maxSlices bounds a timeline: later time belongs to its last slice.
	maxSlices = 1 << 12
)

// slots are how many goroutines do something in each slice of time, as differences
// between a slice and the one before it.
type slots []float64

func (s *slots) add(from, to time.Duration) {
	s.step(from, 1)
	s.step(to, -1)
}

// step adds n goroutines from at on.
func (s *slots) step(at time.Duration, n float64) {
	i := min(int(at/sliceLength), maxSlices-1)
	for len(*s) <= i+1 {
		*s = append(*s, 0)
	}
	part := n * min(1, float64(at-time.Duration(i)*sliceLength)/float64(sliceLength))
	(*s)[i] += n - part
	(*s)[i+1] += part
}

// full is the part of slices in which the goroutines of a role never waited. Less than a
// fiftieth of a slice is the wake-ups between two values, and no wait for load.
func full(alive, idle slots, window time.Duration) float64 {
	n := min(int(window/sliceLength), maxSlices)
	count, living, waiting := 0, 0.0, 0.0
	for i := range min(n, len(alive)) {
		living += alive[i]
		if i < len(idle) {
			waiting += idle[i]
		}
		if living > 0.02 && waiting <= living/50 {
			count++
		}
	}
	return float64(count) / float64(max(n, 1))
}
