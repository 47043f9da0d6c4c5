package handoff

import (
	"fmt"
	"sync/atomic"

	"github.com/sluice-go/sluice/internal/engine"
	"github.com/sluice-go/sluice/internal/park"
	"github.com/sluice-go/sluice/internal/selection"
)

// A place is a Select's place in the line of one side. It is served like any
// waiter there, in its turn, by whoever can choose it: see selection.State.
//
//   - The waiter belongs to the holder of the engine's lock while it is queued,
//     the rest of the place to the Select.
//   - A waiter that cannot be chosen when its turn comes is taken out of the
//     line: its goroutine is awake. If that goes back to sleep it joins at the
//     front, since everybody who was before it has been served.
//   - Since it goes back to the front, it may go before those who wait, just as
//     it might have if it had never been passed over.
//   - A Select never meets itself: it can only be chosen when it is open, and it
//     looks while it is not.
type place[T any] struct {
	e      *Engine[T]
	line   *line[T]
	value  *T
	sends  bool
	joined bool
	waiter waiter[T]
}

// ranks numbers the engines: a Select takes their locks in this order.
var ranks atomic.Uint64

// NewEntry implements engine.Engine. The result is an engine.HandoffEntry.
func (e *Engine[T]) NewEntry(value *T, sends bool) engine.Entry {
	p := &place[T]{e: e, line: &e.receivers, value: value, sends: sends}
	if sends {
		p.line = &e.senders
	}
	return p
}

// Blocks implements engine.Engine.
func (e *Engine[T]) Blocks() bool { return e.config.Overflow == engine.Block }

// Idle implements engine.Engine: only under the lock can it be told.
func (e *Engine[T]) WouldBlock(bool) bool { return false }

// Rank implements engine.HandoffEntry.
func (p *place[T]) Rank() uint64 { return p.e.rank }

// Lock implements engine.HandoffEntry.
func (p *place[T]) Lock() { p.e.lock.Lock() }

// Unlock implements engine.HandoffEntry.
func (p *place[T]) Unlock() { p.e.lock.Unlock() }

// Tally implements engine.Entry.
func (p *place[T]) Tally() *park.Tally { return &p.line.waits }

// Prepare implements engine.HandoffEntry: it asks for the size of the value.
func (p *place[T]) Prepare() {
	if !p.sends || p.e.config.Size == nil {
		return
	}
	if p.waiter.size = p.e.config.Size(*p.value); p.waiter.size < 0 {
		panic(fmt.Sprintf("sluice: Select: Options.Size returned %d, below 0", p.waiter.size))
	}
}

// Returns implements engine.HandoffEntry.
func (p *place[T]) Retrying() bool { return p.joined && !p.waiter.queued }

// Size implements engine.HandoffEntry.
func (p *place[T]) Size() int { return p.waiter.size }

// fits reports whether the value can be queued now without overtaking anybody.
func (p *place[T]) fits() bool {
	if !p.e.fits(p.waiter.size) {
		return false
	}
	return p.e.senders.empty() || p.Retrying() || p.e.config.NoHandOff
}

// Able implements engine.HandoffEntry.
func (p *place[T]) CanProceed() bool {
	e := p.e
	switch {
	case e.closed:
		return true
	case p.sends:
		return e.buf.Len() == 0 && !e.receivers.empty() || p.fits()
	default:
		return e.buf.Len() > 0 || !e.senders.empty()
	}
}

// Proceed implements engine.HandoffEntry.
func (p *place[T]) Proceed() (done bool, err error) {
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
		e.handOver(w, *p.value)
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
	e.announce()
	e.callReceiver()
	return true, nil
}

// Join implements engine.Entry. Nobody waits on the other side: Able would have
// said so.
func (p *place[T]) Join(c *selection.State, number int) {
	w := &p.waiter
	if w.queued {
		return
	}
	w.choice, w.number, w.parker = c, int32(number), c.Parker()
	w.verdict, w.parked = left, false
	if p.joined {
		p.line.pushFront(w)
	} else {
		p.joined = true
		p.line.push(w)
	}
	if p.sends {
		w.value = *p.value
		p.e.announce()
	}
}

// Served implements engine.HandoffEntry.
func (p *place[T]) Result() (served bool, err error) {
	p.e.lock.Lock()
	w := &p.waiter
	switch w.verdict {
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
func (p *place[T]) Leave() {
	if !p.joined {
		return
	}
	e := p.e
	e.lock.Lock()
	p.line.leave(&p.waiter)
	p.forget()
	switch {
	case p.sends && (e.config.Size != nil || e.config.NoHandOff):
		e.admit() // the one behind may be smaller, and fit, or has yet to be told to look
	case !p.sends && e.config.NoHandOff && (e.buf.Len() > 0 || !e.senders.empty()):
		e.callReceiver()
	default:
		e.lock.Unlock()
	}
}

// forget makes the place as new, without a value. The lock is held, and the
// waiter not queued.
func (p *place[T]) forget() {
	var zero T
	p.joined = false
	p.waiter.value = zero
	p.waiter.choice = nil
}
