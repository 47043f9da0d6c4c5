package locked

import (
	"math"
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
	fixed  bool // the key does not depend on the value
	waiter waiter[T]

	expired []T  // for the hook: see Finish
	more    bool // other values are too old
}

// lastRank numbers the engines. A Select takes their locks in the order of their
// ranks.
var lastRank atomic.Uint64

// NewEntry implements engine.Engine. The result is a HandoffEntry.
func (e *Engine[T]) NewEntry(value *T, sends bool) engine.Entry { return e.newEntry(value, sends) }

func (e *Engine[T]) newEntry(value *T, sends bool) *entry[T] {
	p := &entry[T]{e: e, queue: &e.receivers, value: value, sends: sends}
	if sends && e.key == nil {
		p.setKey(e.base)
	}
	return p
}

// setKey sets the key of every value that the entry sends.
func (p *entry[T]) setKey(key int64) {
	p.fixed, p.waiter.Value.key, p.queue = true, key, p.e.sendersAt(key)
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
	key := e.base
	if v != nil && e.key != nil {
		var err error
		if key, err = e.key(*v, "Select"); err != nil {
			return m, false
		}
	}
	return e.wouldBlock(v, key)
}

// wouldBlock is WouldBlock with the key of *v.
func (e *Engine[T]) wouldBlock(v *T, key int64) (m engine.Mark, blocked bool) {
	e.acquire()
	e.readClock()
	if v == nil {
		blocked = !e.canRecv()
	} else {
		blocked = !e.canSend(key, false)
	}
	m = engine.Mark(e.sent + e.taken + e.dropped)
	e.eachQueue(func(l *queue[T]) { m += engine.Mark(l.changes) })
	e.lock.Unlock()
	return m, blocked
}

// canSend reports whether a send would not wait. first is whether it has precedence over the
// senders that wait. The lock is held.
func (e *Engine[T]) canSend(key int64, first bool) bool {
	switch {
	case e.isShut(key):
		return true
	case e.direct && e.n == 0 && !e.receivers.noneClaimable():
		return true
	case first || e.noSender():
		return e.room(key) || e.backlog != nil && e.backlog.expired()
	default:
		return false
	}
}

// canRecv reports whether a receive would not wait, or would call a hook.
func (e *Engine[T]) canRecv() bool {
	return e.able() || e.limit == 0 && !e.noSender() || e.closed() && e.n == 0
}

// Rank implements engine.HandoffEntry.
func (p *entry[T]) Rank() uint64 { return p.e.rank }

// Lock implements engine.HandoffEntry.
func (p *entry[T]) Lock() { p.e.acquire() }

// Unlock implements engine.HandoffEntry.
func (p *entry[T]) Unlock() { p.e.unlock() }

// Tally implements engine.Entry.
func (p *entry[T]) Tally() *park.Tally { return &p.queue.waits }

// Prepare implements engine.HandoffEntry. It asks for the key of the value.
func (p *entry[T]) Prepare() {
	if !p.Sized() {
		return
	}
	key, err := p.e.key(*p.value, "Select")
	if err != nil { // as a value that is too large, which poll has found before
		key = math.MaxInt64
	}
	p.waiter.Value.key, p.queue = key, p.e.sendersAt(key)
}

// Sized implements engine.HandoffEntry.
func (p *entry[T]) Sized() bool { return p.sends && !p.fixed && p.e.key != nil }

// Retrying implements engine.HandoffEntry.
func (p *entry[T]) Retrying() bool { return p.joined && !p.waiter.Queued() }

// Size implements engine.HandoffEntry.
func (p *entry[T]) Size() int64 { return p.waiter.Value.key }

// CanProceed implements engine.HandoffEntry. If a receive would find values that are too old, it
// can: to call the hook.
func (p *entry[T]) CanProceed() bool {
	p.e.readClock()
	if p.sends {
		return p.e.canSend(p.waiter.Value.key, p.Retrying())
	}
	return p.e.canRecv() || p.e.backlog != nil && p.e.backlog.expired()
}

// Proceed implements engine.HandoffEntry. CanProceed has read the clock.
func (p *entry[T]) Proceed() (done bool, err error) {
	e, key := p.e, p.waiter.Value.key
	switch {
	case !p.sends && e.backlog != nil && e.backlog.expired():
		p.more = true
		e.unlock()
		return false, engine.ErrHook
	case !p.sends:
		var buf [1]T
		if done = e.fetch(buf[:]) > 0; !done && e.closed() && e.n == 0 {
			done, err = true, engine.ErrClosed
		}
		if done {
			*p.value = buf[0]
		}
	case e.isShut(key):
		done, err = true, engine.ErrClosed
	default:
		if e.backlog != nil {
			p.expired = e.makeRoom(p.expired, p.Retrying())
		}
		var t Ticket
		if done = e.give(*p.value, key, p.Retrying(), &t); done {
			e.settleBusy()
		} else if !done && len(p.expired) > 0 {
			err = engine.ErrHook
		}
		p.more = e.backlog != nil && e.backlog.expired()
	}
	e.unlock()
	return done, err
}

// Finish implements engine.HandoffEntry.
func (p *entry[T]) Finish() {
	expired, more := p.expired, p.more
	p.expired, p.more = nil, false
	p.e.expire(expired, more)
}

// Join implements engine.Entry. No waiter of the other side can be claimed,
// because CanProceed has returned false.
func (p *entry[T]) Join(c *selection.State, index int) {
	w := &p.waiter
	switch {
	case w.Queued():
		p.queue.changes++ // it is claimable again
		return
	case w.Value.outcome != left: // served already: a value has become due since CanProceed
		return
	}
	w.Select, w.Index, w.Parker = c, int32(index), c.Parker()
	w.Value.parked = false
	front := p.joined
	p.joined = true
	if !p.sends {
		p.e.queueReceiver(w, front)
		return
	}
	w.Value.value = *p.value
	p.e.queueSender(p.queue, w, front)
}

// Result implements engine.HandoffEntry.
func (p *entry[T]) Result() (served bool, err error) {
	p.e.acquire()
	w := &p.waiter
	switch w.Value.outcome {
	case closed:
		err = engine.ErrClosed
		if !p.sends {
			var zero T
			*p.value = zero
		}
	case swapped:
		p.expired = append(p.expired, w.Value.value)
	case done:
		if !p.sends {
			*p.value = w.Value.value
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
	e.acquire()
	if p.waiter.Queued() {
		p.queue.remove(&p.waiter)
	}
	e.settle() // the next value may be smaller, and fit, even if this one was skipped; the timer may be needless
	p.forget()
	e.unlock()
}

// forget resets the entry and drops its value. The lock is held, and the waiter is
// not queued.
func (p *entry[T]) forget() {
	var zero T
	p.joined = false
	p.waiter.Value.value, p.waiter.Value.outcome = zero, left
	p.waiter.Select = nil
}
