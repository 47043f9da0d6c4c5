package park

import (
	"sync/atomic"
	"time"
)

// A Since is when a wait began, for whoever looks at a line and asks how long those
// in it have waited. Its zero value has not begun.
//
//   - It is part of a waiter, or of a Choice, which several waiters share.
//   - Its writer is the goroutine that waits, and nobody else: Begin when nothing is
//     left to it but to park, without a lock; Reset when its waiter is in no line, or
//     while it holds the line's lock. So no two writes meet.
//   - Its readers hold the lock of a line in which the waiter, or one of the Choice,
//     is queued. A waiter is lent again, or a Choice used for the next call, only
//     when it has left all lines, and is Reset before it comes into one: so what a
//     reader sees is of the wait that it looks at, and never of the last one.
//   - A reader and Begin may meet: the word is atomic, and 64 bits on every machine,
//     so a reader sees the whole of it or that nothing has begun. That is no age at
//     all, and true but for a moment: the goroutine is about to park.
//   - One that was woken in vain keeps its place in line, and when it began: also
//     if it comes back with another waiter (GoOn, where it could Reset).
//
// The clock is read once for each time that a goroutine parks, and never by one that
// found something to do while it paused or yielded, as nearly all do when both sides
// are busy: in 42 rows of one to eight senders and receivers, at capacities 0, 1 and
// 128, GOMAXPROCS 1, 2 and 8, at most 3 % of the values made anybody park. They took
// 1.006 of the time without all this (geometric mean), single rows 0.96 to 1.05 at
// capacities 0 and 1. Where a third of the values do, one that goes round a ring of 50
// Bounded at GOMAXPROCS=2, it took 1.12, and 1.05 with the clock alone (16 to 30 rounds
// in turns; 2026-11-21, AMD EPYC Zen 5 VM with 2 cores, Go 1.26.8). A clock that
// somebody moves on once in a while would save 24 ns a park, and need a timer or a
// goroutine of its own.
type Since struct{ at atomic.Int64 } // ns of Now; 0: not begun

// epoch is what Now counts from: any time will do. In a testing/synctest bubble
// that is years off, but what was begun there and is looked at there has its age.
var epoch = time.Now()

// Now is the time that a Since is compared with. It reads one clock, where time.Now
// reads two.
func Now() time.Duration { return time.Since(epoch) }

// Begin notes the time, unless the wait has begun before, and returns it.
func (s *Since) Begin() (now time.Duration) {
	now = Now()
	if s.at.Load() == 0 {
		s.at.Store(int64(now))
	}
	return now
}

// Reset makes it one that has not begun.
func (s *Since) Reset() {
	if s.at.Load() != 0 {
		s.at.Store(0)
	}
}

// At is when the wait began, by Now; 0 if it has not.
func (s *Since) At() time.Duration { return time.Duration(s.at.Load()) }

// GoOn makes it one that began then, by At of the one before.
func (s *Since) GoOn(at time.Duration) { s.at.Store(int64(at)) }

// Age is for how long the wait has lasted until now; 0 if it has not begun.
func (s *Since) Age(now time.Duration) time.Duration {
	at := s.At()
	if at == 0 {
		return 0
	}
	return max(0, now-at) // begun since the clock was read
}
