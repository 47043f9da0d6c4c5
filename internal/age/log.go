// Package age estimates how long the oldest value of a queue has been waiting,
// without a time stamp per value.
package age

import (
	"time"

	"github.com/sluice-go/sluice/internal/park"
)

// A Log is a short list of observations (at, sent): at the time at, the values
// with an index below sent had been sent. So a queued value with index head has
// been waiting for at least now - at, for each observation with sent > head.
//
// Each inspection of the queue adds an observation, and so does a sender if the queue
// is long; see Due. So a backlog has observations before it is inspected for the first
// time, and a queue that is short, whose values do not grow old, never reads the clock
// and has a Log of one word.
//
// Invariants, with 0 <= i < n-1:
//
//   - marks[i].at <= marks[i+1].at and marks[i].sent < marks[i+1].sent.
//   - After drop(head), marks[0].sent > head: marks[0] is the best observation of
//     the oldest value.
//
// If the Log is full, it merges the two neighbors that are closest in time. The
// estimate is therefore too low by at most the time between two observations, or by
// about a tenth of the longest wait in this backlog, whichever is more.
//
// Indices run freely and wrap. The owner of the queue guards the Log. The zero value
// is empty.
type Log struct {
	*observations // nil until the first one
}

type observations struct {
	n     int32
	last  uint64         // sent in the last observation, which may be gone
	marks [maxMarks]mark // in all, 512 bytes
}

type mark struct {
	at   time.Duration // of park.Now
	sent uint64
}

const maxMarks = 31

const (
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
func (l *Log) Inspect(now time.Duration, head, tail uint64) (oldest time.Duration) {
	oldest = l.Oldest(now, head, tail)
	if head != tail {
		l.Observe(head, tail)
	}
	return oldest
}

// Record adds an observation: at the time now, the queue holds the values with
// indices from head to tail-1.
func (l *Log) Record(now time.Duration, head, tail uint64) {
	if l.observations == nil {
		if head == tail {
			return
		}
		l.observations = new(observations)
	}
	l.drop(head)
	switch {
	case head == tail || l.n > 0 && l.marks[l.n-1].sent == tail:
		return
	case l.n == maxMarks:
		l.merge()
	}
	l.last = tail
	l.marks[l.n] = mark{now, tail}
	l.n++
}

// Oldest returns for how long, at least, the value with index head has been waiting
// at the time now; 0 if that is unknown, or if the queue is empty, which is
// head == tail.
func (l *Log) Oldest(now time.Duration, head, tail uint64) time.Duration {
	if head == tail || l.observations == nil {
		return 0
	}
	for _, m := range l.marks[:l.n] {
		if above(m.sent, head) {
			return max(0, now-m.at) // the mark may be newer than now
		}
	}
	return 0
}

// Truncate records that the values with indices from tail on were removed. Others may get
// these indices later.
func (l *Log) Truncate(tail uint64) {
	if l.observations == nil {
		return
	}
	for ; l.n > 0 && above(l.marks[l.n-1].sent, tail); l.n-- {
		if l.n == 1 || above(tail, l.marks[l.n-2].sent) {
			l.marks[l.n-1].sent = tail
			break
		}
	}
	if above(l.last, tail) {
		l.last = tail
	}
}

// drop removes the observations that do not cover the value with index head.
func (l *observations) drop(head uint64) {
	passed := int32(0)
	for passed < l.n && !above(l.marks[passed].sent, head) {
		passed++
	}
	if passed > 0 {
		l.n = int32(copy(l.marks[:], l.marks[passed:l.n]))
	}
}

// merge removes the observation whose neighbors are closest in time, but neither
// the first one nor the last.
func (l *observations) merge() {
	least := 1
	gap := func(i int) time.Duration { return l.marks[i+1].at - l.marks[i-1].at }
	for i := 2; i < int(l.n)-1; i++ {
		if gap(i) < gap(least) {
			least = i
		}
	}
	copy(l.marks[least:], l.marks[least+1:l.n])
	l.n--
}

// above reports whether sent > index, in wrapping arithmetic.
func above(sent, index uint64) bool { return int64(sent-index) > 0 }
