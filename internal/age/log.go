// Package age determines how long the oldest value of a queue has been waiting, without a
// time stamp per value.
package age

import (
	"slices"
	"time"

	"github.com/sluice-go/sluice/internal/park"
)

// A Log is a curve: how many values had been sent, as a function of time. Its points are
// observations (at, sent): at the time at, the values with an index below sent had been sent,
// and no others. So the last observation without a value and the first one with it, or now, are
// the bounds of its age. Between them the curve is interpolated. That is the estimate if the
// bounds are within a factor of two. Otherwise it is Little's law, the length over the rate,
// if the queue has turned over lately: of the values that were sent since one of the observations,
// at most half are queued. The rate is the mean since the last such observation. Without one,
// as for the first values in a queue that was empty, the age is unknown.
//
// Each inspection of the queue adds an observation, the first one when a channel with a name is
// made, and so does a sender if the queue is long; see Due. So a queue that is short, whose
// values do not grow old, reads the clock only if it is inspected.
//
// Invariants, with 0 <= i < n-1 and n = len(marks) <= maxMarks:
//
//   - marks[i].at <= marks[i+1].at and marks[i].sent <= marks[i+1].sent. At most two in a
//     row have the same sent: the first and the last observation of a queue into which nothing was sent.
//   - After drop(index), marks[1].sent > index if there is one: marks[0] is the last
//     observation without the value of that index.
//
// If the Log is full, it merges the two neighbors that are closest in time. So the bounds are
// apart by at most the time between two observations, or by about a tenth of the longest
// wait in this backlog, whichever is more.
//
// Indices run freely and wrap. The owner of the queue guards the Log. The zero value
// is empty.
type Log struct {
	*observations // nil until the first one
}

type observations struct {
	last  uint64 // sent in the last observation, which may be gone
	marks []mark // at most 512 bytes
}

type mark struct {
	at   time.Duration // of park.Now
	sent uint64
}

const (
	maxMarks = 32
	// lately is the longest time over which a rate is taken as the current one. It is more than the
	// time between two collections of metrics.
	lately = 2 * time.Minute
	// minLength is the length from which on a queue is observed by its senders.
	minLength = 64
	// Every bounds the cost of the clock: at most one reading per Every values.
	Every = 256
)

// Due reports whether a sender should call Observe. The queue holds the values with indices
// from head to tail-1, and an index is one more than the index before it by one.
func (l *Log) Due(head, tail, one uint64) bool {
	return tail-head >= minLength*one && l.Lacks(tail, one)
}

// Lacks is Due for a queue of any length. It is false even if no observation covers the
// oldest value: a queue that is drained again and again would get one each time, and a
// reading of the clock costs as much as a hundred values of a batch.
func (l *Log) Lacks(tail, one uint64) bool {
	return l.observations == nil || tail-l.last >= Every*one
}

// Observe reads the clock, and records that the queue holds the values with indices from
// head to tail-1.
func (l *Log) Observe(head, tail uint64) (now time.Duration) {
	now = park.Now()
	l.Record(now, head, tail)
	return now
}

// Inspect is Oldest, and then Observe: now may be from before the last value was sent.
func (l *Log) Inspect(now time.Duration, head, tail, one uint64) Age {
	oldest := l.Oldest(now, head, tail, one)
	l.Observe(head, tail)
	return oldest
}

// Record adds an observation: at the time now, the queue holds the values with
// indices from head to tail-1.
func (l *Log) Record(now time.Duration, head, tail uint64) {
	if l.observations == nil {
		l.observations = new(observations)
	}
	l.drop(head - (tail - head)) // keeps the evidence of a turnover
	n := len(l.marks)
	if n > 1 && l.marks[n-2].sent == tail {
		l.marks[n-1].at = now
		return
	}
	if n == maxMarks {
		l.merge()
	}
	l.last = tail
	l.marks = append(l.marks, mark{now, tail})
}

// Oldest returns the age of the value with index head at the time now. The queue is empty if
// head == tail. For one see Due.
func (l *Log) Oldest(now time.Duration, head, tail, one uint64) (a Age) {
	if head == tail {
		return a
	}
	a.AtMost = Unbounded
	before, after, little := mark{}, mark{now, tail}, time.Duration(-1)
	if l.observations != nil {
		for _, m := range l.marks {
			if above(m.sent, head) {
				after = m
				break
			}
			before, a.AtMost = m, max(0, now-m.at) // the mark may be newer than now
			if length := tail - head; !above(m.sent+length, head) && now-m.at <= lately {
				little = time.Duration(float64(now-m.at) * float64(length) / float64(tail-m.sent))
			}
		}
	}
	a.AtLeast = max(0, now-after.at)
	width := a.AtMost - a.AtLeast
	switch {
	case width > a.AtLeast && little < 0:
	case width > a.AtLeast && a.AtLeast < little && little < a.AtMost:
		a.Estimate = little
	default:
		later := float64(after.sent-head) - float64(one)/2 // the middle of its turn
		a.Estimate = a.AtLeast + time.Duration(float64(width)*later/float64(after.sent-before.sent))
	}
	return a
}

// Truncate records that the values with indices from tail on were removed. Others may get
// these indices later.
func (l *Log) Truncate(tail uint64) {
	if l.observations == nil {
		return
	}
	for i := range l.marks {
		if above(l.marks[i].sent, tail) {
			l.marks[i].sent, l.marks = tail, l.marks[:i+1]
			break
		}
	}
	if above(l.last, tail) {
		l.last = tail
	}
}

// drop removes the observations without the value with that index, except for the last one.
func (l *observations) drop(index uint64) {
	for len(l.marks) > 1 && !above(l.marks[1].sent, index) {
		l.marks = slices.Delete(l.marks, 0, 1)
	}
}

// merge removes the observation whose neighbors are closest in time, but neither
// the first one nor the last.
func (l *observations) merge() {
	least := 1
	gap := func(i int) time.Duration { return l.marks[i+1].at - l.marks[i-1].at }
	for i := 2; i < len(l.marks)-1; i++ {
		if gap(i) < gap(least) {
			least = i
		}
	}
	l.marks = slices.Delete(l.marks, least, least+1)
}

// above reports whether sent > index, in wrapping arithmetic.
func above(sent, index uint64) bool { return int64(sent-index) > 0 }
