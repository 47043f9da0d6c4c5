package park

import (
	"sync/atomic"
	"time"
)

// A Since records when a wait began, so that another goroutine that inspects the
// wait queue can report its age. The zero value means that no wait has
// begun.
//
//   - A Since is part of a waiter, or of the state of a Select, which several
//     waiters share.
//   - Only the waiting goroutine writes it: Begin without a lock, immediately
//     before it parks; Reset while its waiter is in no queue, or with the lock of
//     its queue held. Two such writes never race. While it waits, the holder of the lock
//     of its queue may begin a wait whose goroutine does not: see Continue.
//   - Readers hold the lock of a queue that contains the waiter, or one waiter of
//     the Select. A waiter is Reset before it enters a queue, so a reader never
//     sees the start of an earlier wait.
//   - A reader may race with Begin. The word is atomic, so the reader sees either
//     the start or zero, and reports an age of 0 for a goroutine about to park.
//   - After a spurious wake-up a goroutine keeps both its position and its start,
//     even if it returns with another waiter: see Continue.
//
// The clock is read at most once for each park, twice if its duration counts (see Tally), and
// never by a goroutine that finds something to do while it spins or yields.
type Since struct{ at atomic.Int64 } // ns of Now; 0: not begun

// epoch is the zero of Now; its choice does not matter. In a testing/synctest
// bubble it is years away, but differences within the bubble are exact.
var epoch = time.Now()

// Now returns the time since the package was initialized. It reads one clock
// where time.Now reads two.
func Now() time.Duration { return time.Since(epoch) }

// Begin records the current time, unless the wait has begun already, and returns
// the current time.
func (s *Since) Begin() (now time.Duration) {
	now = Now()
	if s.at.Load() == 0 {
		s.at.Store(int64(now))
	}
	return now
}

// Reset returns s to its zero value.
func (s *Since) Reset() {
	if s.at.Load() != 0 {
		s.at.Store(0)
	}
}

// At returns when the wait began, as a value of Now, or 0 before that.
func (s *Since) At() time.Duration { return time.Duration(s.at.Load()) }

// Continue makes s continue an earlier wait, or one that nobody has timed, that began at the
// given time.
func (s *Since) Continue(at time.Duration) { s.at.Store(int64(at)) }

// Age returns how long the wait has lasted at the time now, or 0 before it has
// begun.
func (s *Since) Age(now time.Duration) time.Duration {
	at := s.At()
	if at == 0 {
		return 0
	}
	return max(0, now-at) // the wait may have begun after now was read
}
