package priority

import (
	"github.com/sluice-go/sluice/internal/engine"
	"github.com/sluice-go/sluice/internal/waitq"
)

// Hooks and queues. OnExpire may use channels, wait for them, or panic, so a goroutine must not call
// it while it is in a wait queue: it may hold the wake-up of that queue, and then no other goroutine
// is woken. Without a hook, a call drops values wherever it is. With one:
//
//   - A receive leaves its queue before it drops values, and may lose its place. If it received
//     first, a hook that panics would lose what it has received.
//   - A send would lose the room with its place: the next sender would be woken, and take it. So a
//     send that does not wait, or whose turn it is, drops what it needs, and sends, in one step; it
//     calls the hook when it has left. Until then the dropped values are its debt. Then it drops the
//     others, if any. So a hook that panics does not leave open whether the value was sent.
//   - A send that waits, and whose turn it is not, drops nothing. It sets the timer, which wakes the
//     sender whose turn it is.
//   - A Select pays when it has left the queues of all its cases. If it has found a receive with
//     values to drop, it leaves them, pays, and begins again.

// postpones reports whether a call must not run the hook now.
func (e *Engine[T]) postpones(t *turn[T], sends bool) bool {
	return e.config.OnExpire != nil && (t.selects || sends)
}

// dropForSend drops values that are too old until there is room for n values, unless the call waits
// for its turn. The lock is held, and the call takes the room before it releases it: a call owes
// nothing unless it sends.
func (e *Engine[T]) dropForSend(t *turn[T], n int) {
	waits := t.selects && !t.holds || t.wait.Joined() && !t.wait.Woken() && !t.wait.Canceled()
	if waits || e.isShut(t.level) {
		return
	}
	for e.expired() && e.room() < n {
		t.debt.dropped = append(t.debt.dropped, e.dropOldest())
	}
}

// A debt is what a call has yet to do once it is in no queue.
type debt[T any] struct {
	dropped []T  // for the hook
	more    bool // other values are too old
}

// pay calls the hook with each value that was dropped, even if it panics with one, and then drops
// the others.
func (e *Engine[T]) pay(d *debt[T]) {
	owed := *d
	if len(owed.dropped) == 0 && !owed.more {
		return
	}
	*d = debt[T]{}
	engine.CallEach(e.config.OnExpire, owed.dropped)
	if owed.more {
		e.dropExpired()
	}
}

// An agedSend is how a Select waits for room, and polls.
type agedSend[T any] struct {
	entry[T]
	a    *Aged[T]
	debt debt[T]
}

// An agedRecv is how a Select waits for a value, and polls.
type agedRecv[T any] struct {
	*waitq.Entry
	a    *Aged[T]
	debt debt[T]
}

// NewEntry implements engine.Engine.
func (a *Aged[T]) NewEntry(_ *T, sends bool) engine.Entry {
	if sends {
		return &agedSend[T]{entry: entry[T]{e: a.Engine}, a: a}
	}
	return &agedRecv[T]{Entry: waitq.NewEntry(&a.receivers, a.isAble), a: a}
}

// TrySend is TrySend of the engine, but calls no hook while the Select is queued.
func (p *agedSend[T]) TrySend(v T) error {
	if !p.queued {
		return p.a.TrySend(v)
	}
	t, vs := turn[T]{selects: true, holds: p.in.Holds()}, [1]T{v}
	_, err := p.a.sendSlow(engine.NoWait{}, &t, vs[:])
	p.debt = t.debt
	return err
}

// TryRecv is TryRecv of the engine. While the Select is queued, it receives nothing as long as the
// oldest value is too old.
func (p *agedRecv[T]) TryRecv() (T, error) {
	if !p.Joined() {
		return p.a.TryRecv()
	}
	t, buf := turn[T]{selects: true}, [1]T{}
	_, err := p.a.recvSlow(engine.NoWait{}, &t, buf[:])
	p.debt = t.debt
	return buf[0], err
}

// WouldBlock is that of the engine.
func (p *agedSend[T]) WouldBlock(v *T) (engine.Mark, bool) { return p.a.WouldBlock(v) }

// WouldBlock is that of the engine.
func (p *agedRecv[T]) WouldBlock(v *T) (engine.Mark, bool) { return p.a.WouldBlock(v) }

// Due implements engine.DebtorEntry. A send that has failed owes nothing.
func (p *agedSend[T]) Due() bool { return false }

// Due implements engine.DebtorEntry.
func (p *agedRecv[T]) Due() bool { return p.debt.more }

// Pay implements engine.DebtorEntry.
func (p *agedSend[T]) Pay() { p.a.pay(&p.debt) }

// Pay implements engine.DebtorEntry.
func (p *agedRecv[T]) Pay() { p.a.pay(&p.debt) }
