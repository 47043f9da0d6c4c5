package priority

import (
	"github.com/sluice-go/sluice/internal/engine"
	"github.com/sluice-go/sluice/internal/waitq"
)

// Debts. OnExpire may use the channel, wait for it, or panic, so a goroutine must not call it while
// it is in a wait queue: it may hold the wake-up of that queue, and then no other goroutine is
// woken. But if it left the queue first, the next goroutine would be woken, and could take its room.
//
//   - A call in a queue drops values only in the poll that also ends it, or that sends a part of a
//     batch: if it is the turn of the call, there is room, a value can be received, or the channel
//     is closed.
//   - It drops them under the lock of that poll, and keeps them: they are its debt. It pays, value
//     by value, once it is in no queue.
//   - A Select pays when it has left the queues of all its cases.
//   - Any other poll in a queue drops nothing. If the oldest value is too old, it sets the timer,
//     which wakes the sender whose turn it is.

// queued reports whether the call must not run a hook now.
func (t *turn[T]) queued() bool { return t.selects || t.wait.Joined() }

// dropForSend drops the values that are too old if the call will send then, or fail. The lock is
// held.
func (e *Engine[T]) dropForSend(t *turn[T]) {
	if e.expired() && (t.holds || t.wait.Woken() || e.n < e.limit || e.shut != 0) {
		e.dropInto(t)
	}
}

// dropForRecv drops the values that are too old if the call will receive then, or fail. The lock is
// held.
func (e *Engine[T]) dropForRecv(t *turn[T]) {
	if e.expired() && (e.backlog.receivable() || e.shut != 0) {
		e.dropInto(t)
	}
}

// dropInto drops the values that are too old, and adds them to the debt of the call. The lock is held.
func (e *Engine[T]) dropInto(t *turn[T]) {
	for e.expired() {
		if v := e.dropOldest(); e.config.OnExpire != nil {
			t.debt = append(t.debt, v)
		}
	}
}

// pay calls the hook with each value of a debt, even if it panics with one.
func (e *Engine[T]) pay(debt []T) {
	paid := 0
	defer func() {
		if paid < len(debt) {
			e.pay(debt[paid:])
		}
	}()
	for paid < len(debt) {
		v := debt[paid]
		paid++
		e.config.OnExpire(v)
	}
}

// An agedSend is how a Select waits for room, and polls.
type agedSend[T any] struct {
	entry[T]
	a    *Aged[T]
	debt []T
}

// An agedRecv is how a Select waits for a value, and polls.
type agedRecv[T any] struct {
	*waitq.Entry
	a    *Aged[T]
	debt []T
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
	p.debt = append(p.debt, t.debt...)
	return err
}

// TryRecv is TryRecv of the engine, in the same way.
func (p *agedRecv[T]) TryRecv() (T, error) {
	if !p.Joined() {
		return p.a.TryRecv()
	}
	t, buf := turn[T]{selects: true}, [1]T{}
	_, err := p.a.recvSlow(engine.NoWait{}, &t, buf[:])
	p.debt = append(p.debt, t.debt...)
	return buf[0], err
}

// WouldBlock is that of the engine.
func (p *agedSend[T]) WouldBlock(v *T) (engine.Mark, bool) { return p.a.WouldBlock(v) }

// WouldBlock is that of the engine.
func (p *agedRecv[T]) WouldBlock(v *T) (engine.Mark, bool) { return p.a.WouldBlock(v) }

// Pay implements engine.DebtorEntry.
func (p *agedSend[T]) Pay() { p.a.settle(&p.debt) }

// Pay implements engine.DebtorEntry.
func (p *agedRecv[T]) Pay() { p.a.settle(&p.debt) }

// settle pays a debt once.
func (e *Engine[T]) settle(debt *[]T) {
	paid := *debt
	*debt = nil
	e.pay(paid)
}
