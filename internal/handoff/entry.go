package handoff

import (
	"fmt"
	"sync/atomic"

	"github.com/sluice-go/sluice/internal/engine"
	"github.com/sluice-go/sluice/internal/park"
	"github.com/sluice-go/sluice/internal/selection"
)

// An entry is a Select's entry in the queue of one side. It is served in its turn
// by any goroutine that can claim the Select: see selection.State.
//
//   - The waiter belongs to the holder of the engine's lock while it is queued. The
//     other fields belong to the Select.
//   - A waiter that cannot be claimed in its turn is dequeued, because its
//     goroutine is awake. If that goroutine waits again, it joins at the front,
//     because every waiter that was before it has been served. It keeps its
//     precedence over those behind it.
//   - A Select never pairs its own send with its own receive: it polls in state
//     polling, and can be claimed only in later states.
type entry[T any] struct {
	e      *Engine[T]
	queue  *queue[T]
	value  *T
	sends  bool
	joined bool
	waiter waiter[T]
}

// lastRank numbers the engines. A Select takes their locks in the order of their
// ranks.
var lastRank atomic.Uint64

// NewEntry implements engine.Engine. The result is an engine.HandoffEntry.
func (e *Engine[T]) NewEntry(value *T, sends bool) engine.Entry {
	p := &entry[T]{e: e, queue: &e.receivers, value: value, sends: sends}
	if sends {
		p.queue = &e.senders
	}
	return p
}

// Overflow implements engine.Engine.
func (e *Engine[T]) Overflow() engine.Overflow { return e.config.Overflow }

// WouldBlock implements engine.Engine. The mark counts values and changes of the queues.
//
// A waiter of a Select ceases to be claimable without a change, since another channel may
// claim it. It becomes claimable only in Join, which counts. So a receive becomes possible
// only with a change. A send becomes possible without one if the sender before it ceases to
// be claimable, but becomes impossible again only with one; and the second of two calls
// with equal marks has found it impossible.
func (e *Engine[T]) WouldBlock(v *T) (m engine.Mark, blocked bool) {
	size := 0
	if v != nil && e.config.Size != nil {
		if size = e.config.Size(*v); size < 0 || int64(size) > e.config.MaxBytes {
			return m, false // it fails for another reason
		}
	}
	e.lock.Lock()
	switch {
	case e.closed:
	case v == nil:
		blocked = e.buf.Len() == 0 && e.senders.noneClaimable()
	default:
		handOff := e.buf.Len() == 0 && !e.receivers.noneClaimable()
		blocked = !handOff && !(e.fits(size) && e.senders.noneClaimable())
	}
	m = engine.Mark(e.sent + e.taken + e.dropped + e.senders.changes + e.receivers.changes)
	e.lock.Unlock()
	return m, blocked
}

// Rank implements engine.HandoffEntry.
func (p *entry[T]) Rank() uint64 { return p.e.rank }

// Lock implements engine.HandoffEntry.
func (p *entry[T]) Lock() { p.e.lock.Lock() }

// Unlock implements engine.HandoffEntry.
func (p *entry[T]) Unlock() { p.e.lock.Unlock() }

// Tally implements engine.Entry.
func (p *entry[T]) Tally() *park.Tally { return &p.queue.waits }

// Prepare implements engine.HandoffEntry. It computes the size of the value.
func (p *entry[T]) Prepare() {
	if !p.sends || p.e.config.Size == nil {
		return
	}
	if p.waiter.size = p.e.config.Size(*p.value); p.waiter.size < 0 {
		panic(fmt.Sprintf("sluice: Select: Options.Size returned %d, below 0", p.waiter.size))
	}
}

// Sized implements engine.HandoffEntry.
func (p *entry[T]) Sized() bool { return p.sends && p.e.config.Size != nil }

// Retrying implements engine.HandoffEntry.
func (p *entry[T]) Retrying() bool { return p.joined && !p.waiter.queued }

// Size implements engine.HandoffEntry.
func (p *entry[T]) Size() int { return p.waiter.size }

// fits reports whether the value can be queued without barging.
func (p *entry[T]) fits() bool {
	if !p.e.fits(p.waiter.size) {
		return false
	}
	return p.e.senders.noneClaimable() || p.Retrying()
}

// CanProceed implements engine.HandoffEntry.
func (p *entry[T]) CanProceed() bool {
	e := p.e
	switch {
	case e.closed:
		return true
	case p.sends:
		return e.buf.Len() == 0 && !e.receivers.noneClaimable() || p.fits()
	default:
		return e.buf.Len() > 0 || !e.senders.noneClaimable()
	}
}

// Proceed implements engine.HandoffEntry.
func (p *entry[T]) Proceed() (done bool, err error) {
	e := p.e
	if !p.sends {
		v, err := e.recvLocked()
		if err == engine.ErrEmpty {
			return false, err
		}
		*p.value = v
		return true, err
	}
	if w := e.receiver(); w != nil {
		e.handOff(w, *p.value)
		return true, nil
	}
	if e.closed {
		e.lock.Unlock()
		return true, engine.ErrClosed
	}
	if !p.fits() {
		e.lock.Unlock()
		return false, nil
	}
	e.push(*p.value, p.waiter.size)
	e.postReady()
	e.lock.Unlock()
	return true, nil
}

// Join implements engine.Entry. No waiter of the other side can be claimed,
// because CanProceed has returned false.
func (p *entry[T]) Join(c *selection.State, index int) {
	w := &p.waiter
	if w.queued {
		p.queue.changes++ // it is claimable again
		return
	}
	w.sel, w.index, w.parker = c, int32(index), c.Parker()
	w.outcome, w.parked = left, false
	if p.joined {
		p.queue.pushFront(w)
	} else {
		p.joined = true
		p.queue.push(w)
	}
	if p.sends {
		w.value = *p.value
		p.e.postReady()
	}
}

// Result implements engine.HandoffEntry.
func (p *entry[T]) Result() (served bool, err error) {
	p.e.lock.Lock()
	w := &p.waiter
	switch w.outcome {
	case closed:
		err = engine.ErrClosed
		if !p.sends {
			var zero T
			*p.value = zero
		}
	case done:
		if !p.sends {
			*p.value = w.value
		}
	default:
		p.e.lock.Unlock()
		return false, nil
	}
	p.forget()
	p.e.lock.Unlock()
	return true, err
}

// Leave implements engine.Entry.
func (p *entry[T]) Leave() {
	if !p.joined {
		return
	}
	e := p.e
	e.lock.Lock()
	p.queue.leave(&p.waiter)
	p.forget()
	if p.Sized() {
		e.admitSenders() // the next value may be smaller, and fit
	} else {
		e.lock.Unlock()
	}
}

// forget resets the entry and drops its value. The lock is held, and the waiter is
// not queued.
func (p *entry[T]) forget() {
	var zero T
	p.joined = false
	p.waiter.value = zero
	p.waiter.sel = nil
}
