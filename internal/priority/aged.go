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
// Each send and each receive first drops the values that are too old, and calls Config.OnExpire
// with each, without the lock. So a receive never returns such a value, and a send finds the room.
// Nothing else drops values: without calls there is no goroutine, no timer, and no hook that runs.
// debt.go says what calls do that wait in a queue.
//
// Senders that wait for room are the exception. A timer wakes the sender whose turn it is when the
// oldest value becomes too old. Until then the oldest value changes only to a newer one, so a timer is
// never late; one that is early sets itself again.
//
//   - If a sender waits and the channel is full, the timer is set, or a sender is awake.
//   - A poll that finds no room sets the timer, under the lock under which it has looked. So does
//     the timer itself if it was early, and each goroutine that has dropped the last value that was
//     too old.
//   - A sender that is awake polls again, or leaves: then it sets the timer for the others, or wakes
//     one. What other calls have done since it was woken does not matter.
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
	_, err = e.recvSlow(ctx, &turn[T]{}, buf[:])
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
		full := e.n == e.limit && !expired && e.shut == 0
		if full {
			e.armRoom() // a Select may wait without another poll
		}
		return mark, full
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

// acquireFresh takes the lock for a poll of a call, after the values that are too old were dropped,
// unless the call postpones that. A call whose operation has been done by another goroutine drops
// nothing.
func (e *Engine[T]) acquireFresh(t *turn[T], sends bool) {
	e.acquire()
	for e.tick() && (t.request == nil || !t.request.done) && !e.postpones(t, sends) {
		leaves := e.config.OnExpire != nil && t.wait.Joined()
		if leaves {
			e.forget(t, &e.starvingReceiver)
		}
		e.lock.Unlock()
		if leaves {
			e.leaveReceiver(t)
		}
		e.dropExpired()
		e.acquire()
	}
}

// dropOldest removes the oldest value because it is too old. The lock is held.
func (e *Engine[T]) dropOldest() T {
	e.backlog.tooOld++
	e.n--
	return e.backlog.removeOldest()
}

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
			v = e.dropOldest()
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

// roomFires runs when the timer has expired. If the oldest value is not too old, the timer is set
// again; otherwise a sender is woken, unless one is awake.
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
