package handoff

import (
	"time"

	"github.com/sluice-go/sluice/internal/age"
	"github.com/sluice-go/sluice/internal/park"
)

// The age of the oldest value follows from observations in an age.Log: each call of
// Stats adds one, and so does a send to a long queue, which only a channel with a
// limit in bytes has.

const (
	// minObserved is the length from which on a queue is observed by its senders.
	minObserved = 64
)

// observe records that all values so far have been sent by now. The lock is held.
func (e *Engine[T]) observe() {
	if e.ages == nil {
		e.ages = new(age.Log)
	}
	if e.ages.Lacks(e.sent, 1) {
		head := e.sent - uint64(e.buf.Len())
		now := park.Now()
		e.ages.Record(now, head, e.sent)
		if e.config.Sites != nil {
			e.config.Sites.Send.Sample(now)
		}
	}
}

// oldestValue returns the least age of the oldest value, and adds an observation. The
// lock is held.
func (e *Engine[T]) oldestValue(now time.Duration) time.Duration {
	if e.ages == nil {
		if e.buf.Len() == 0 {
			return 0
		}
		e.ages = new(age.Log)
	}
	head := e.sent - uint64(e.buf.Len())
	oldest := e.ages.Oldest(now, head, e.sent)
	e.ages.Record(park.Now(), head, e.sent) // now may be from before the last value was sent
	return oldest
}
