package priority

import (
	"context"
	"time"
	"weak"

	"github.com/sluice-go/sluice/internal/engine"
)

// An Aged is an engine whose values have an age, which begins when they are queued: they are in
// a backlog, and its one level is not used.
//
// Each send and each receive drops the values that are too old, one at a time, and calls
// Config.OnExpire without the lock. So a receive never returns such a value, and a send finds
// the room. Nothing else drops values: without calls there is no goroutine, no timer, and no
// hook that runs.
//
// Senders that wait for room are the exception. The poll that finds no room sets a timer to the
// time at which the oldest value will be too old, under the lock under which it has looked. So
// does each goroutine that has dropped the last value that was too old. Until that
// time, the oldest value changes only to a newer one, so a timer is never late; one that is early
// sets itself again. The timer wakes the sender whose turn it is.
//
//   - If a sender waits and the channel is full, the timer is set, or a sender is awake.
//   - A goroutine leaves its wait queue before it calls OnExpire, which may use the channel, wait
//     for it, or panic. Only a Select that receives calls the hook while it is queued.
//   - A sender whose turn it is sends before it leaves: its value takes the place of the oldest
//     one in one step, and the rest is a debt. If it left first, the next sender would be woken,
//     and get the room.
type Aged[T any] struct{ *Engine[T] }

// NewAged returns an engine with a backlog.
func NewAged[T any](config Config[T]) *Aged[T] {
	config.Levels = 1
	e := New(config)
	e.backlog, e.timed = newBacklog(&e.config), true
	return &Aged[T]{e}
}

// Send implements engine.Engine.
func (a *Aged[T]) Send(ctx context.Context, v T) error {
	e := a.Engine
	e.acquire()
	if e.n < e.limit && !e.busy && e.shut == 0 && !e.tick() {
		e.put(0, 0, v)
		wake := e.receivers.Waiting()
		e.lock.Unlock()
		if wake {
			e.receivers.Wake()
		}
		return nil
	}
	e.lock.Unlock()
	var t turn[T]
	vs := [1]T{v}
	_, err := e.sendSlow(ctx, &t, vs[:])
	return err
}

// TrySend implements engine.Engine.
func (a *Aged[T]) TrySend(v T) error { return a.Send(engine.NoWait{}, v) }

// Recv implements engine.Engine.
func (a *Aged[T]) Recv(ctx context.Context) (v T, err error) {
	if ctx == nil {
		panic(engine.RecvNilContext)
	}
	e := a.Engine
	e.acquire()
	if e.n > 0 && !e.busy && !e.tick() {
		v = e.takeTimed()
		e.unlockAndWake()
		return v, nil
	}
	e.lock.Unlock()
	var buf [1]T
	_, err = e.recvSlow(ctx, buf[:])
	return buf[0], err
}

// TryRecv implements engine.Engine.
func (a *Aged[T]) TryRecv() (T, error) { return a.Recv(engine.NoWait{}) }

// WouldBlock implements engine.Engine. The mark counts sends, receives and drops: while it is the
// same, values can only become too old.
func (a *Aged[T]) WouldBlock(v *T) (engine.Mark, bool) {
	e, b := a.Engine, a.backlog
	e.acquire()
	defer e.lock.Unlock()
	expired := e.tick()
	mark := engine.Mark(2*(e.turns.count+e.dropped+b.tooOld) + uint64(e.n))
	if v != nil {
		return mark, e.n == e.limit && !expired && e.shut == 0
	}
	return mark, !b.receivable() && e.shut == 0
}

// tick reads the clock of a channel with ages, and reports whether its oldest value is too
// old. The lock is held.
func (e *Engine[T]) tick() bool {
	if e.backlog == nil {
		return false
	}
	e.backlog.tick()
	return e.backlog.expired()
}

// expired reports whether the oldest value was too old at the last tick. The lock is held.
func (e *Engine[T]) expired() bool { return e.backlog != nil && e.backlog.expired() }

// acquireFresh takes the lock for a poll of a call, after the values that are too old were
// dropped. place is where the request of a call of that side is. A call whose operation has been
// done by another goroutine drops nothing, and neither does a sender that must keep its place in
// the queue.
func (e *Engine[T]) acquireFresh(t *turn[T], place **request[T]) {
	e.acquire()
	for e.tick() && (t.request == nil || !t.request.done) && !(place == &e.starvingSender && t.keepsPlace()) {
		e.forget(t, place)
		e.lock.Unlock()
		if place == &e.starvingSender {
			e.leaveSender(t)
		} else {
			e.leaveReceiver(t)
		}
		e.dropExpired()
		e.acquire()
	}
}

// A debt is what a call does once it has left the queue of senders: it gives the value that it
// displaced to the hook, and drops the others that are too old.
type debt[T any] struct {
	due, displaced bool
	value          T
}

// keepsPlace reports whether a call must not leave the queue of senders before it sends.
func (t *turn[T]) keepsPlace() bool { return t.selects || t.wait.Woken() }

// displace replaces the oldest value by v if the former is too old and it is the call's turn. The
// channel is full and open. The lock is held.
func (e *Engine[T]) displace(t *turn[T], v T) bool {
	if !e.expired() || !t.holds && !t.wait.Woken() {
		return false
	}
	t.debt.displaced, t.debt.value = true, e.backlog.removeOldest()
	e.backlog.tooOld++
	e.n--
	t.ticket = e.put(t.level, t.at, v)
	e.armRoom() // for the next sender, if the hook panics
	return true
}

// owe records what the call has to pay. The lock is held.
func (e *Engine[T]) owe(t *turn[T]) { t.debt.due = t.debt.displaced || e.expired() }

// pay pays the debt of a call that is in no queue.
func (e *Engine[T]) pay(d *debt[T]) {
	if !d.due {
		return
	}
	paid := *d
	*d = debt[T]{}
	if paid.displaced && e.config.OnExpire != nil {
		e.config.OnExpire(paid.value)
	}
	e.dropExpired()
}

// An agedEntry is how a Select waits for room.
type agedEntry[T any] struct {
	entry[T]
	debt debt[T]
}

// NewEntry implements engine.Engine.
func (a *Aged[T]) NewEntry(value *T, sends bool) engine.Entry {
	if !sends {
		return a.Engine.NewEntry(value, false)
	}
	return &agedEntry[T]{entry: entry[T]{e: a.Engine, value: value}}
}

// TrySend implements engine.DebtorEntry.
func (p *agedEntry[T]) TrySend() error {
	p.debt = debt[T]{}
	if !p.queued {
		a := Aged[T]{p.e}
		return a.TrySend(*p.value)
	}
	t := turn[T]{selects: true, holds: p.in.Holds()}
	vs := [1]T{*p.value}
	_, err := p.e.sendSlow(engine.NoWait{}, &t, vs[:])
	p.debt = t.debt
	return err
}

// Pay implements engine.DebtorEntry.
func (p *agedEntry[T]) Pay() { p.e.pay(&p.debt) }

// dropRun is how many values are dropped at once if no hook wants them.
const dropRun = 256

// dropExpired drops the values that are too old. The lock is not held.
func (e *Engine[T]) dropExpired() {
	hook := e.config.OnExpire
	for {
		e.acquire()
		if !e.tick() {
			e.armRoom()
			e.lock.Unlock()
			return
		}
		run := dropRun
		if hook != nil {
			run = 1
		}
		var v T
		for ; run > 0 && e.expired(); run-- {
			v = e.backlog.removeOldest()
			e.backlog.tooOld++
			e.n--
		}
		e.unlockAndWake()
		if hook != nil {
			hook(v)
		}
	}
}

// armRoom sets the timer to the time at which the oldest value will be too old, if senders wait
// for room. The lock is held, and the clock was read.
func (e *Engine[T]) armRoom() {
	b := e.backlog
	if b == nil || b.maxAge == never || b.armed || e.asleep.Load() == 0 {
		return
	}
	at, ok := b.oldest()
	if !ok {
		return
	}
	b.armed = true
	wait := b.maxAge - (b.now - at) // may be negative
	if wait < never {
		wait++ // a value of that age is not too old
	}
	if b.timer != nil {
		b.timer.Reset(wait)
		return
	}
	ref := weak.Make(e) // the timer does not keep the channel
	b.timer = time.AfterFunc(wait, func() {
		if e := ref.Value(); e != nil {
			e.roomFires()
		}
	})
}

// armNow is armRoom for a Select, which has joined the queue of senders and polls next.
func (e *Engine[T]) armNow() {
	if e.backlog == nil {
		return
	}
	e.acquire()
	e.tick()
	e.armRoom()
	e.lock.Unlock()
}

// roomFires runs when the timer has expired. If the oldest value is too old, the sender that is
// awake drops it; otherwise the timer is set again.
func (e *Engine[T]) roomFires() {
	e.acquire()
	e.backlog.armed = false
	if !e.tick() {
		e.armRoom()
	}
	e.unlockAndWake()
}

// disarmRoom stops the timer after the last sender has left.
func (e *Engine[T]) disarmRoom() {
	b := e.backlog
	if b == nil || e.asleep.Load() > 0 {
		return
	}
	e.acquire()
	if b.armed && e.asleep.Load() == 0 {
		b.armed = false
		b.timer.Stop()
	}
	e.lock.Unlock()
}
