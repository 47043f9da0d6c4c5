package workpool

import "time"

// A sizer computes how many jobs its worker receives at once: enough to keep the
// transfer cost at about its share of the time, and no more than the worker can finish
// within the maximum delay.
//
// The clock is read once per batch, at its end. The time between two readings is the
// transfer plus the jobs. For one batch in eight the clock is also read after the
// transfer, which measures its cost.
//
// The mean duration of a job decides how large a batch should be, its peak how large
// it may be. The peak rises to the slowest batch at once and falls by half per batch:
// a worker starts with one job, doubles the batch while jobs are short, and returns
// to one job as soon as a job took long. A worker that was descheduled for a while
// also returns to one: a few small batches cost less than a batch of slow jobs.
type sizer struct {
	share, maxDelay, maxBatch float64

	transfer float64 // ns per transfer
	mean     float64 // ns per job
	peak     float64
	batches  uint
}

const (
	sampleEvery = 8
	smoothing   = 8

	// The lowest transfer cost, in ns: two readings of the clock cost as much. It
	// applies where the clock stands still or has a coarse resolution.
	minTransfer = 50
)

func newSizer(share float64, maxDelay time.Duration, maxBatch int) sizer {
	return sizer{
		share: share, maxDelay: float64(maxDelay), maxBatch: float64(maxBatch),
		transfer: minTransfer, peak: float64(maxDelay),
	}
}

// size returns how many jobs to receive.
func (s *sizer) size() int {
	worthwhile := s.transfer/(s.share*max(s.mean, 1)) + 0.5
	return int(max(1, min(worthwhile, s.maxDelay/s.peak, s.maxBatch)))
}

// recordBatch records that a batch of n jobs took elapsed ns, transfer included.
func (s *sizer) recordBatch(elapsed int64, n int) {
	s.batches++
	each := max(1, float64(elapsed)/float64(n))
	if s.mean == 0 {
		s.mean = each
	}
	s.mean += (each - s.mean) / smoothing
	s.peak = max(each, s.peak/2)
}

// sampling reports whether the next transfer is to be measured.
func (s *sizer) sampling() bool { return s.batches%sampleEvery == 1 }

// recordTransfer records the cost of a transfer. A transfer during which the worker
// was descheduled counts as twice the usual cost.
func (s *sizer) recordTransfer(elapsed int64) {
	cost := min(max(float64(elapsed), minTransfer), 2*s.transfer)
	s.transfer += (cost - s.transfer) / smoothing
}
