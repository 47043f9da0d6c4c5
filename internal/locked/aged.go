package locked

import (
	"time"

	"github.com/sluice-go/sluice/internal/engine"
	"github.com/sluice-go/sluice/internal/park"
)

// Values with an age. Each send and each receive first drops the values that are too old, and calls
// the hook with each. So a receive never returns such a value, and a send finds its room. Nothing else
// drops values: without calls there is no goroutine, no timer, and no hook that runs. A hook may use
// channels, wait for them, or panic, so it runs without the lock, in a goroutine with no waiter in a
// queue:
//
//   - A receive calls the hook before it receives anything: if it panics, nothing was received.
//   - A send drops what it needs, and sends, in one critical section, and then calls the hook: so a
//     hook that panics does not leave open whether the value was sent. Then it drops the others.
//   - A sender that waits for room gets that of the oldest value when it becomes too old: the timer
//     swaps the two values, and the sender calls the hook.
//   - A Select calls it when it has left the queues of all its cases: see Finish.

// Ages are the limits of the age of values; 0 means none.
type Ages[T any] struct {
	MaxAge, StaleAfter time.Duration
	OnExpire           func(T) // gets each value that was older than MaxAge; may be nil
}

// NewAged returns an engine whose values have an age.
func NewAged[T any](config engine.Config[T], ages Ages[T]) *Engine[T] {
	b := newBacklog[T](config.Shrink, ages)
	e := build[T](config, b)
	e.backlog = b
	e.timer = &timer{at: never, alarm: func(_, senders bool) (time.Duration, bool) { return b.expiry(), senders }}
	e.refresh()
	return e
}

// readClock reads the clock that decides which values are too old, and is the time of those that are
// queued. A critical section that may queue a value, or that looks for old ones, reads it first.
func (e *Engine[T]) readClock() {
	switch {
	case e.backlog != nil:
		e.backlog.now = park.Now()
	case e.dates:
		e.store.(*dated[T]).next = park.Now()
	}
}

// dropOldest removes the oldest value because it is too old. The lock is held.
func (e *Engine[T]) dropOldest() T {
	e.n--
	e.dropped++
	return e.backlog.dropOldest()
}

// makeRoom drops values that are too old until there is room, for one value and, unless that is first,
// for the senders that wait. It appends them to expired if there is a hook for them. The lock is held,
// and the clock was read.
func (e *Engine[T]) makeRoom(expired []T, first bool) []T {
	for e.n == e.limit && e.backlog.expired() {
		v := e.dropOldest()
		if e.backlog.onExpire != nil {
			expired = append(expired, v)
		}
		if !first {
			e.admit()
		}
	}
	return expired
}

// swapExpired gives the room of values that are too old to senders that wait, which get these
// values for the hook. The lock is held.
func (e *Engine[T]) swapExpired() {
	for e.offers > 0 && e.backlog.expires() {
		w := e.sender()
		if w == nil {
			return
		}
		old := e.dropOldest()
		if e.accept(w); e.backlog.onExpire != nil {
			w.Value.value = old
			e.serve(w, swapped)
		} else {
			e.serve(w, done)
		}
	}
}

// unlockAndExpire releases the lock, calls the hook with values that were too old, and drops the
// others that are.
func (e *Engine[T]) unlockAndExpire(expired []T) {
	more := e.backlog != nil && e.backlog.expired()
	e.unlock()
	e.expire(expired, more)
}

// expire calls the hook with values that were too old and, if there are more, drops these. The lock is
// not held.
func (e *Engine[T]) expire(expired []T, more bool) {
	if len(expired) > 0 {
		engine.CallEach(e.backlog.onExpire, expired)
	}
	if more {
		e.dropExpired()
	}
}

// dropRun is how many values are dropped at once if no hook wants them.
const dropRun = 256

// dropExpired drops the values that are too old. The lock is not held.
func (e *Engine[T]) dropExpired() {
	for more := true; more; {
		run := dropRun
		if e.backlog.onExpire != nil {
			run = 1
		}
		var v T
		e.acquire()
		for more = e.backlog.expires(); run > 0 && e.backlog.expired(); run-- {
			v = e.dropOldest()
		}
		e.settle()
		e.unlock()
		if more && e.backlog.onExpire != nil {
			e.backlog.onExpire(v)
		}
	}
}
