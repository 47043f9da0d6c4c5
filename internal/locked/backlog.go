package locked

import (
	"cmp"
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
	now          time.Duration // when the clock was read last
	maxAge       time.Duration
	staleAfter   time.Duration
	kept         int // slots up to which a ring keeps its memory
	shrink       engine.Shrink
	tooOld       uint64  // values that were dropped
	onExpire     func(T) // gets each of them; may be nil
}

// A stamped is a value and the time of park.Now at which it was queued.
type stamped[T any] struct {
	at    time.Duration
	value T
}

const (
	// keptBytes is the memory that each ring of a backlog keeps, unless all is kept.
	keptBytes = 16 << 10
	// agedPerSend is how many values a send moves to stale: more than it adds, so that the
	// first receive after a long time finds few that are left to move.
	agedPerSend = 2
)

func newBacklog[T any](shrink engine.Shrink, ages Ages[T]) *backlog[T] {
	return &backlog[T]{
		maxAge: cmp.Or(ages.MaxAge, never), staleAfter: cmp.Or(ages.StaleAfter, never), shrink: shrink, onExpire: ages.OnExpire,
		kept: max(1, keptBytes/engine.SizeOf[stamped[T]]()),
	}
}

func (b *backlog[T]) fits(int64) bool { return true }
func (b *backlog[T]) over(n int) bool { return true }

// push adds a value, whose age is 0: the clock was read in this critical section.
func (b *backlog[T]) push(v T, _ int64) (t Ticket) {
	b.fresh.Push(stamped[T]{b.now, v})
	for n := 0; n < agedPerSend && b.moveStale(); n++ {
	}
	return t
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

// evict removes the oldest value.
func (b *backlog[T]) evict(int64) (T, bool) { return b.removeOldest(), true }

// dropOldest removes the oldest value, which is too old.
func (b *backlog[T]) dropOldest() T {
	b.tooOld++
	return b.removeOldest()
}

// expiry returns when the oldest value becomes too old.
func (b *backlog[T]) expiry() time.Duration {
	at, ok := b.oldest()
	if !ok || b.maxAge == never || at+b.maxAge < at {
		return never
	}
	return at + b.maxAge + 1 // a value of that age is not too old
}

// expires reads the clock once for a critical section, and reports whether the oldest value is too old.
func (b *backlog[T]) expires() bool {
	b.now = park.Now()
	return b.expired()
}

// expired reports whether the oldest value was too old when the clock was read last.
func (b *backlog[T]) expired() bool {
	if b.maxAge == never {
		return false
	}
	at, ok := b.oldest()
	return ok && b.now-at > b.maxAge
}

// able reports whether a value was not too old when the clock was read last.
func (b *backlog[T]) able() bool {
	at, ok := b.newest()
	return ok && b.now-at <= b.maxAge
}

func (b *backlog[T]) describe(now time.Duration, _ uint64, in *engine.Snapshot) {
	out := &in.Stats
	out.Bytes = int64(b.fresh.Size()+b.stale.Size()) * int64(engine.SizeOf[stamped[T]]())
	out.TooOld = b.tooOld
	if at, ok := b.oldest(); ok {
		out.OldestValue = max(0, now-at)
	}
}
