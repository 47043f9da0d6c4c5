package paced

import (
	"math"
	"math/bits"
)

// A Histogram counts durations in buckets whose width grows with the duration, as an
// HDR histogram does: below 1<<precision ns a bucket is 1 ns wide, above it at most
// 1/32 of the durations in it. Recording is a few instructions and allocates nothing.
// The zero value is empty.
type Histogram struct {
	counts [buckets]uint64
	total  uint64
}

const (
	precision = 5 // each power of two has 1<<precision buckets
	longest   = 40
	buckets   = (longest - precision + 1) << precision // up to 1<<longest ns, 18 minutes
)

// Record counts a duration in ns. A negative one counts as 0, one that is too long as
// the longest.
func (h *Histogram) Record(ns int64) {
	h.counts[bucket(ns)]++
	h.total++
}

// bucket returns the bucket of a duration in ns.
func bucket(ns int64) int {
	if ns < 0 {
		return 0
	}
	ns = min(ns, 1<<longest-1)
	if ns < 1<<precision {
		return int(ns)
	}
	shift := bits.Len64(uint64(ns)) - 1 - precision
	return shift<<precision + int(ns>>shift)
}

// upper returns the longest duration of a bucket, in ns.
func upper(bucket int) int64 {
	if bucket < 1<<precision {
		return int64(bucket)
	}
	shift := bucket>>precision - 1
	return (int64(bucket&(1<<precision-1)+1<<precision)+1)<<shift - 1
}

// Add adds the durations of another histogram.
func (h *Histogram) Add(o *Histogram) {
	for i, n := range o.counts {
		h.counts[i] += n
	}
	h.total += o.total
}

// Count returns the number of durations.
func (h *Histogram) Count() uint64 { return h.total }

// Quantile returns the least duration in ns that at least the share q of all durations
// do not exceed, rounded up to the end of its bucket. It is NaN if the histogram is
// empty.
func (h *Histogram) Quantile(q float64) float64 {
	if h.total == 0 {
		return math.NaN()
	}
	rank := max(1, uint64(math.Ceil(q*float64(h.total))))
	var seen uint64
	for i, n := range h.counts {
		if seen += n; seen >= rank {
			return float64(upper(i))
		}
	}
	return float64(upper(buckets - 1))
}
