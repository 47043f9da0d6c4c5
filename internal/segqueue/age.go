package segqueue

import (
	"time"

	"github.com/sluice-go/sluice/internal/age"
	"github.com/sluice-go/sluice/internal/park"
)

// The age of the oldest value follows from observations in an age.Log: each call of
// Stats adds one, and so does a sender at its bound if the queue is long. So a
// backlog has observations before it is inspected for the first time, and a channel
// with a short queue, whose values do not grow old, never reads the clock.

const (
	// minObserved is the length from which on a queue is observed by its senders.
	minObserved = 64
	// observeEvery bounds the cost of the clock: at most one reading per observeEvery
	// values.
	observeEvery = 256
)

// The indices in the Log are shifted, like the words, so that they wrap like these.

// observe records that the values below index have been sent by now. The caller
// owns the send side.
func (e *Engine[T]) observe(index, head uint64) {
	if e.ages == nil {
		e.ages = new(age.Log)
	}
	if e.ages.Lacks(index, observeEvery<<shift) {
		now := park.Now()
		e.ages.Record(now, head, index)
		if e.sites != nil {
			e.sites.Send.Sample(now)
		}
	}
}

// oldestValue returns the least age of the oldest value, and adds an observation. The
// caller holds both locks.
func (e *Engine[T]) oldestValue(now time.Duration, tail, head uint64) time.Duration {
	if e.ages == nil {
		if tail == head {
			return 0
		}
		e.ages = new(age.Log)
	}
	oldest := e.ages.Oldest(now, head, tail)
	e.ages.Record(park.Now(), head, tail) // now may be from before the last value was sent
	return oldest
}
