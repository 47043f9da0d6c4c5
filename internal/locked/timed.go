package locked

import (
	"context"
	"math"
	"time"

	"github.com/sluice-go/sluice/internal/engine"
	"github.com/sluice-go/sluice/internal/park"
)

// A Timed has an Engine whose values are in a schedule: a receive takes the value that was due
// first, and waits while none is due. Close leaves receivers waiting for the values that are left.
type Timed[T any] struct {
	Engine   *Engine[T] // not embedded, as in each type around an engine: see engine.Engine
	schedule *schedule[T]
}

// atOnce as the time of a value means that it is due when it is queued.
const atOnce time.Duration = math.MinInt64

// NewTimed returns an engine with a schedule. dueAt returns when a value is due; nil means at once.
func NewTimed[T any](config engine.Config[T], dueAt func(T) time.Time) *Timed[T] {
	s := &schedule[T]{passed: math.MinInt64} // park.Now may be negative
	e := build[T](config, s)
	e.direct = false
	if e.base = int64(atOnce); dueAt != nil {
		e.key = func(v T, _ string) (int64, error) { return int64(at(dueAt(v))), nil }
	}
	e.timer = &timer{at: never, alarm: func(receivers, _ bool) (time.Duration, bool) {
		return s.next(), receivers
	}}
	e.refresh()
	return &Timed[T]{e, s}
}

// at returns t as a time of park.Now. The clock of the wall does not matter from then on.
func at(t time.Time) time.Duration { return after(time.Until(t)) }

func after(d time.Duration) time.Duration {
	now := park.Now()
	if at := now + max(d, 0); at >= now {
		return at
	}
	return math.MaxInt64 // the sum was too large
}

// SendAt sends v, which is due at t.
func (q *Timed[T]) SendAt(ctx context.Context, t time.Time, v T) (Ticket, error) {
	return q.Engine.sendKey(ctx, v, int64(at(t)))
}

// SendAfter sends v, which is due after d.
func (q *Timed[T]) SendAfter(ctx context.Context, d time.Duration, v T) (Ticket, error) {
	return q.Engine.sendKey(ctx, v, int64(after(d)))
}

// Cancel removes and returns the value of a ticket. It fails if the value was received or
// canceled before.
func (q *Timed[T]) Cancel(ticket Ticket) (v T, ok bool) {
	e := q.Engine
	e.acquire()
	if v, ok = q.schedule.remove(ticket); ok {
		e.n--
		e.taken++
		e.settle()
	}
	e.unlock()
	return v, ok
}

// CancelAll removes and returns all values, in the order of receiving.
func (q *Timed[T]) CancelAll() (all []T) {
	e := q.Engine
	e.acquire()
	for e.n > 0 {
		all = append(all, e.pop())
	}
	e.settle()
	e.unlock()
	return all
}
