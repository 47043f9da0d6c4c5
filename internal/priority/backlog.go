package priority

import (
	"math"
	"time"

	"github.com/sluice-go/sluice/internal/engine"
	"github.com/sluice-go/sluice/internal/park"
	"github.com/sluice-go/sluice/internal/ring"
)

// A backlog holds the values of a channel with the times at which they were queued.
//
//   - Both rings are in the order of those times, and no value of stale was queued after one
//     of fresh.
//   - A value moves from fresh to stale once it is older than staleAfter, at the latest when
//     it would be received.
//   - The next value is the oldest one of fresh, and if there is none, the newest one of
//     stale.
//
// So a receive and a send are O(1), amortized: each value moves at most once. A backlog belongs
// to the holder of the engine's lock.
type backlog[T any] struct {
	fresh, stale ring.Ring[stamped[T]]
	now          time.Duration // of the last tick
	maxAge       time.Duration
	staleAfter   time.Duration
	kept         int // slots up to which a ring keeps its memory
	shrink       engine.Shrink
	tooOld       uint64 // values that were dropped

	timer *time.Timer // nil until a sender has waited: see armRoom
	armed bool
}

// A stamped is a value and the time of park.Now at which it was queued.
type stamped[T any] struct {
	at    time.Duration
	value T
}

const (
	// never as an age is reached by no value.
	never time.Duration = math.MaxInt64
	// keptBytes is the memory that each ring of a backlog keeps, unless all is kept.
	keptBytes = 16 << 10
	// agedPerSend is how many values a send moves to stale: more than it adds, so that the
	// first receive after a long time finds few that are left to move.
	agedPerSend = 2
)

func newBacklog[T any](c *Config[T]) *backlog[T] {
	b := &backlog[T]{maxAge: never, staleAfter: never, shrink: c.Shrink}
	if c.MaxAge > 0 {
		b.maxAge = c.MaxAge
	}
	if c.StaleAfter > 0 {
		b.staleAfter = c.StaleAfter
	}
	b.kept = max(1, keptBytes/engine.SizeOf[stamped[T]]())
	return b
}

// push adds a value, whose age is 0.
func (b *backlog[T]) push(v T) {
	b.fresh.Push(stamped[T]{b.now, v})
	for n := 0; n < agedPerSend && b.moveStale(); n++ {
	}
}

// moveStale moves the oldest value of fresh to stale if it is old enough.
func (b *backlog[T]) moveStale() bool {
	if b.staleAfter == never || b.fresh.Len() == 0 || b.now-b.fresh.Oldest().at <= b.staleAfter {
		return false
	}
	b.stale.Push(b.fresh.Pop())
	b.release(&b.fresh)
	return true
}

// pop removes and returns the next value. There is one.
func (b *backlog[T]) pop() T {
	for b.moveStale() {
	}
	var s stamped[T]
	if b.fresh.Len() > 0 {
		s = b.fresh.Pop()
		b.release(&b.fresh)
	} else {
		s = b.stale.PopLast()
		b.release(&b.stale)
	}
	return s.value
}

// removeOldest removes and returns the oldest value. There is one.
func (b *backlog[T]) removeOldest() T {
	from := &b.fresh
	if b.stale.Len() > 0 {
		from = &b.stale
	}
	s := from.Pop()
	b.release(from)
	return s.value
}

// release gives memory of a ring back after a value was removed from it.
func (b *backlog[T]) release(r *ring.Ring[stamped[T]]) {
	if r.Size() <= b.kept || b.shrink == engine.NoShrink || b.shrink == engine.ShrinkEmpty && r.Len() > 0 {
		return
	}
	r.Shrink(b.kept)
}

// oldest returns when the oldest value was queued. ok is false if there is none.
func (b *backlog[T]) oldest() (at time.Duration, ok bool) {
	switch {
	case b.stale.Len() > 0:
		return b.stale.Oldest().at, true
	case b.fresh.Len() > 0:
		return b.fresh.Oldest().at, true
	}
	return 0, false
}

// newest is like oldest.
func (b *backlog[T]) newest() (at time.Duration, ok bool) {
	switch {
	case b.fresh.Len() > 0:
		return b.fresh.Newest().at, true
	case b.stale.Len() > 0:
		return b.stale.Newest().at, true
	}
	return 0, false
}

// expired reports whether the oldest value was too old at the last tick.
func (b *backlog[T]) expired() bool {
	if b.maxAge == never {
		return false
	}
	at, ok := b.oldest()
	return ok && b.now-at > b.maxAge
}

// receivable reports whether a value was not too old at the last tick.
func (b *backlog[T]) receivable() bool {
	at, ok := b.newest()
	return ok && b.now-at <= b.maxAge
}

// tick reads the clock.
func (b *backlog[T]) tick() { b.now = park.Now() }

// describe adds to the statistics what only a backlog knows.
func (b *backlog[T]) describe(now time.Duration, out *engine.Stats) {
	out.Bytes = int64(b.fresh.Size()+b.stale.Size()) * int64(engine.SizeOf[stamped[T]]())
	out.TooOld = b.tooOld
	out.Dropped += b.tooOld
	out.Sent += b.tooOld // they were accepted
	if at, ok := b.oldest(); ok {
		out.OldestValue = max(0, now-at)
	}
}
