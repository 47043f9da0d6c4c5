package priority

import (
	"context"
	"math"
	"time"
	"weak"

	"github.com/sluice-go/sluice/internal/engine"
	"github.com/sluice-go/sluice/internal/park"
	"github.com/sluice-go/sluice/internal/selection"
	"github.com/sluice-go/sluice/internal/waitq"
)

// A Timed is an engine whose values are in a schedule: a receive takes the value that was due
// first, and waits while none is due. It has one level, whose ring is not used, and always
// takes the slow paths.
//
// The timer is what wakes a receiver for a value that becomes due. It is set while a
// goroutine waits, or after Ready was called, to the time of the first value. Each poll that
// finds nothing sets it, after the goroutine has joined the queue and under the lock under
// which it has looked; so does each send of a value that is due sooner, and each expiry. After a
// Cancel of the first value the timer expires too soon, and sets itself again. So there is no
// goroutine while the channel is idle, and no wake-up is lost.
type Timed[T any] struct{ *Engine[T] }

// atOnce as the time of a value means that it is due when it is queued.
const atOnce time.Duration = math.MinInt64

// NewTimed returns an engine with a schedule.
func NewTimed[T any](config Config[T]) *Timed[T] {
	config.Levels = 1
	e := New(config)
	e.schedule, e.timed = &schedule[T]{passed: math.MinInt64}, true // park.Now may be negative
	e.refresh()
	return &Timed[T]{e}
}

// dueAt returns when v is due.
func (e *Timed[T]) dueAt(v T) time.Duration {
	if e.config.DueAt == nil {
		return atOnce
	}
	return at(e.config.DueAt(v))
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

// Send implements engine.Engine.
func (e *Timed[T]) Send(ctx context.Context, v T) error {
	_, err := e.sendAt(ctx, e.dueAt(v), v)
	return err
}

// TrySend implements engine.Engine.
func (e *Timed[T]) TrySend(v T) error { return e.Send(engine.NoWait{}, v) }

// SendBatch implements engine.Engine.
func (e *Timed[T]) SendBatch(ctx context.Context, vs []T) (n int, err error) {
	if e.config.DueAt == nil {
		t := turn[T]{at: atOnce}
		return e.sendBatch(ctx, &t, vs)
	}
	if e.config.OnDrop != nil {
		return engine.SendEach(vs, func(v T) (time.Duration, error) { return e.dueAt(v), nil },
			func(v T, at time.Duration) error {
				_, err := e.sendAt(ctx, at, v)
				return err
			})
	}
	for n < len(vs) {
		if err = e.Send(ctx, vs[n]); err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

// SendAt sends v, which is due at t.
func (e *Timed[T]) SendAt(ctx context.Context, t time.Time, v T) (Ticket, error) {
	return e.sendAt(ctx, at(t), v)
}

// SendAfter sends v, which is due after d.
func (e *Timed[T]) SendAfter(ctx context.Context, d time.Duration, v T) (Ticket, error) {
	return e.sendAt(ctx, after(d), v)
}

func (e *Timed[T]) sendAt(ctx context.Context, at time.Duration, v T) (Ticket, error) {
	t := turn[T]{at: at}
	vs := [1]T{v}
	_, err := e.sendSlow(ctx, &t, vs[:])
	return t.ticket, err
}

// Cancel removes and returns the value of a ticket. It fails if the value was received or
// canceled before.
func (e *Timed[T]) Cancel(ticket Ticket) (v T, ok bool) {
	e.acquire()
	if v, ok = e.schedule.remove(ticket); !ok {
		e.lock.Unlock()
		return v, false
	}
	e.n--
	e.turns.count++
	e.leaveChanged()
	return v, true
}

// CancelFirst removes and returns the value that is due first, or was. It fails if there is none.
func (e *Timed[T]) CancelFirst() (v T, ok bool) {
	e.acquire()
	if ok = e.n > 0; ok {
		v = e.take()
	}
	e.leaveChanged()
	return v, ok
}

// CancelAll removes and returns all values, in the order of receiving.
func (e *Timed[T]) CancelAll() (all []T) {
	e.acquire()
	for e.n > 0 {
		all = append(all, e.take())
	}
	e.leaveChanged()
	return all
}

// leaveChanged releases the lock after values were removed, and wakes those for whom it
// matters.
func (e *Engine[T]) leaveChanged() {
	over := e.over()
	if over {
		e.endReady()
	}
	ends := over && e.n == 0
	e.unlockAndWake()
	if ends {
		e.receivers.WakeAll()
	}
}

// NewEntry implements engine.Engine.
func (e *Timed[T]) NewEntry(_ *T, sends bool) engine.Entry {
	if sends {
		return &entry[T]{e: e.Engine}
	}
	return &timedEntry[T]{waitq.NewEntry(&e.receivers, e.isAble), e.Engine}
}

// WouldBlock implements engine.Engine.
func (e *Timed[T]) WouldBlock(v *T) (engine.Mark, bool) {
	if v == nil {
		return e.Engine.WouldBlock(nil)
	}
	return e.wouldBlock(0)
}

// A timedEntry is how a Select waits for a value that becomes due.
type timedEntry[T any] struct {
	*waitq.Entry
	e *Engine[T]
}

// Join implements engine.Entry.
func (p *timedEntry[T]) Join(s *selection.State, index int) {
	p.Entry.Join(s, index)
	p.e.acquire()
	p.e.rearm()
	p.e.lock.Unlock()
}

// Leave implements engine.Entry.
func (p *timedEntry[T]) Leave() {
	p.Entry.Leave()
	p.e.disarm()
}

// rearm sets the timer to the time of the first value, if a goroutine waits for it. The lock is
// held.
func (e *Engine[T]) rearm() {
	s := e.schedule
	if s == nil || len(s.heap) == 0 || e.ready == nil && e.receivers.Idle() {
		return
	}
	first := s.heap[0].at
	if s.armed && s.until == first || s.isDue() {
		return
	}
	s.until, s.armed = first, true
	wait := first - s.passed
	if wait < 0 { // the difference is too large
		wait = math.MaxInt64
	}
	if s.timer != nil {
		s.timer.Reset(wait)
		return
	}
	e2 := weak.Make(e) // the timer does not keep the channel
	s.timer = time.AfterFunc(wait, func() {
		if e := e2.Value(); e != nil {
			e.fire()
		}
	})
}

// disarm stops the timer after the last waiter has left.
func (e *Engine[T]) disarm() {
	if e.schedule == nil || !e.receivers.Idle() {
		return
	}
	e.acquire()
	if s := e.schedule; s.armed && e.receivers.Idle() && e.ready == nil {
		s.armed = false
		s.timer.Stop()
	}
	e.lock.Unlock()
}

// fire runs when the timer has expired. A call that is late finds nothing due, and sets the
// timer again.
func (e *Engine[T]) fire() {
	e.acquire()
	e.schedule.armed = false
	wake := false
	if e.able() {
		wake = e.receivers.Waiting()
		e.postReady()
	}
	e.rearm()
	if e.over() {
		e.endReady()
	}
	e.lock.Unlock()
	if wake {
		e.receivers.Wake()
	}
}
