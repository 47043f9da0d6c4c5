package locked

import (
	"errors"
	"time"

	"github.com/sluice-go/sluice/internal/engine"
	"github.com/sluice-go/sluice/internal/park"
	"github.com/sluice-go/sluice/internal/ring"
)

// A Dated is the part in memory of a queue that continues elsewhere: a FIFO with a limit in bytes,
// whose values have a time. A receive never gets a value that is older than maxAge: while the oldest
// one is, receives fail with ErrTooOld, also those that wait, until the owner of the queue has removed
// it.
//
//	a receiver waits, and can be claimed: no value is queued
type Dated[T any] struct {
	Engine *Engine[T]
	dated  *dated[T] // the store
}

// ErrTooOld is the error of a receive that finds that the oldest value is too old.
var ErrTooOld = errors.New("locked: the oldest value is too old")

// DatedBytes is how much memory a Dated uses for a value besides its slot.
const DatedBytes = 16

// A dated is the store of a Dated. The times belong to the values, and ascend.
type dated[T any] struct {
	*sized[T]
	times  ring.Ring[time.Duration] // of park.Now
	next   time.Duration            // the time of the next value that is queued
	maxAge time.Duration
}

// NewDated returns an empty Dated. config.Overflow is Reject.
func NewDated[T any](config engine.Config[T], maxAge time.Duration) *Dated[T] {
	d := &dated[T]{sized: newSized(config), maxAge: maxAge}
	e := build[T](config, d)
	e.key, e.dates, e.direct = d.key, true, false
	e.refresh()
	return &Dated[T]{e, d}
}

func (d *dated[T]) push(v T, size int64) Ticket {
	d.times.Push(d.next)
	return d.sized.push(v, size)
}

func (d *dated[T]) pop() T {
	d.times.Pop()
	d.times.Shrink(minSlots)
	return d.sized.pop()
}

// isOld reports whether the oldest value is too old.
func (d *dated[T]) isOld() bool {
	return d.times.Len() > 0 && park.Now()-*d.times.Oldest() > d.maxAge
}

func (d *dated[T]) describe(now time.Duration, sent uint64, in *engine.Snapshot) {
	d.sized.describe(now, sent, in)
	s := &in.Stats
	s.Bytes += int64(d.times.Size()) * int64(engine.SizeOf[time.Duration]())
	if d.config.SizeIsKnown { // it includes DatedBytes
		s.Bytes -= int64(d.times.Len()) * DatedBytes
	}
	if s.OldestValue, s.OldestAtLeast, s.OldestAtMost = 0, 0, 0; d.times.Len() > 0 {
		s.OldestValue = max(0, now-*d.times.Oldest())
	}
}

// isOld reports whether the next value is too old to be received. The lock is held.
func (e *Engine[T]) isOld() bool { return e.dates && e.store.(*dated[T]).isOld() }

// SendAt is TrySend of a value that was first queued at a time of park.Now, which is not before that of
// the last value.
func (d *Dated[T]) SendAt(v T, at time.Duration) error {
	e := d.Engine
	size, err := e.key(v, "Send")
	if err != nil {
		return err
	}
	e.acquire()
	defer e.unlock()
	switch {
	case e.closed():
		return engine.ErrClosed
	case !e.room(size):
		return engine.ErrFull
	}
	d.dated.next = at
	e.push(v, size)
	e.settle()
	return nil
}

// Oldest returns when the oldest value was queued, if there is one.
func (d *Dated[T]) Oldest() (at time.Duration, ok bool) {
	e := d.Engine
	e.acquire()
	defer e.unlock()
	if ok = e.n > 0; ok {
		at = *d.dated.times.Oldest()
	}
	return at, ok
}

// RemoveOld removes and returns the oldest value if it is too old. It counts as a receive.
func (d *Dated[T]) RemoveOld() (v T, ok bool) { return d.Engine.removeIf(d.dated.isOld) }
