package workpool

import "time"

// A gauge says how many jobs its worker takes at once, from what it measured:
// enough of them that a hand-over stays below its share of the time, and no more
// than are done within the hold time.
//
// The clock is read once a batch, at its end: what lies between two readings is a
// hand-over and the jobs. In one batch of eight it is also read in between,
// which tells what the hand-over costs.
//
// The mean of the jobs' duration decides what is worth while, their peak what is
// safe. The peak is at once as high as the slowest batch, and falls by half a
// batch at most: a worker starts with one job, doubles what it takes while
// that goes well, and is back at one as soon as a job took long. Even a worker
// that was off its processor for a while is: to take too little a few times
// costs less than to hold what is slow.
type gauge struct {
	share, hold, most float64

	handOver float64 // ns, of one hand-over
	mean     float64 // ns, of a job
	peak     float64
	batches  uint
}

const (
	sampleEvery = 8
	smoothing   = 8

	// No hand-over costs less, in ns: two readings of the clock do not. It
	// counts where the clock stands still or ticks in larger steps.
	leastHandOver = 50
)

func newGauge(share float64, hold time.Duration, most int) gauge {
	return gauge{
		share: share, hold: float64(hold), most: float64(most),
		handOver: leastHandOver, peak: float64(hold),
	}
}

// size returns how many jobs to take.
func (g *gauge) size() int {
	worthwhile := g.handOver/(g.share*max(g.mean, 1)) + 1
	return int(max(1, min(worthwhile, g.hold/g.peak, g.most)))
}

// ran is told how long a batch of n jobs took, hand-over included.
func (g *gauge) ran(elapsed int64, n int) {
	g.batches++
	each := max(1, float64(elapsed)/float64(n))
	if g.mean == 0 {
		g.mean = each
	}
	g.mean += (each - g.mean) / smoothing
	g.peak = max(each, g.peak/2)
}

// sampling reports whether the hand-over of the next batch is to be measured.
func (g *gauge) sampling() bool { return g.batches%sampleEvery == 1 }

// took is told what a hand-over cost. One during which the worker was off its
// processor counts as twice the usual.
func (g *gauge) took(elapsed int64) {
	cost := min(max(float64(elapsed), leastHandOver), 2*g.handOver)
	g.handOver += (cost - g.handOver) / smoothing
}
