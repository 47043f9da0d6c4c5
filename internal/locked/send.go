package locked

import (
	"context"

	"github.com/sluice-go/sluice/internal/engine"
)

// Send implements engine.Engine.
func (e *Engine[T]) Send(ctx context.Context, v T) error {
	key := e.base
	if e.key != nil {
		var err error
		method := "Send"
		if !engine.MayWait(ctx) {
			method = "TrySend"
		}
		if key, err = e.key(v, method); err != nil {
			return err
		}
	}
	_, p, err := e.send(ctx, v, key)
	if p.w != nil {
		_, _, err = e.await(ctx, p)
	}
	return err
}

// sendKey is Send of a value with its key.
func (e *Engine[T]) sendKey(ctx context.Context, v T, key int64) (Ticket, error) {
	t, p, err := e.send(ctx, v, key)
	if p.w != nil {
		_, t, err = e.await(ctx, p)
	}
	return t, err
}

// TrySend implements engine.Engine.
func (e *Engine[T]) TrySend(v T) error { return e.Send(engine.NoWait{}, v) }

// SendBatch implements engine.Engine.
func (e *Engine[T]) SendBatch(ctx context.Context, vs []T) (int, error) {
	return e.sendBatch(ctx, vs, e.key, e.base)
}

// sendBatch sends vs with the keys that keyOf returns, or with key if that is nil. Values in a row
// with the same key share a critical section as long as there is room. If keyOf panics, the values
// before are sent, except those with which it would share one.
func (e *Engine[T]) sendBatch(ctx context.Context, vs []T, keyOf func(T, string) (int64, error), key int64) (n int, err error) {
	if e.config.OnDrop != nil {
		var prepare func(T) (int64, error)
		if keyOf != nil {
			prepare = func(v T) (int64, error) { return keyOf(v, "SendBatch") }
		}
		return engine.SendEach(vs, prepare, func(v T, k int64) error {
			if keyOf == nil {
				k = key
			}
			_, err := e.sendKey(ctx, v, k)
			return err
		})
	}
	if keyOf == nil {
		return e.sendRun(ctx, vs, key)
	}
	next, err := keyOf(vs[0], "SendBatch")
	for n < len(vs) && err == nil {
		key, end := next, n+1
		var keyErr error
		for ; end < len(vs); end++ {
			if next, keyErr = keyOf(vs[end], "SendBatch"); next != key || keyErr != nil {
				break
			}
		}
		sent := 0
		sent, err = e.sendRun(ctx, vs[n:end], key)
		if n += sent; err == nil {
			err = keyErr
		}
	}
	return n, err
}

// sendRun sends values with the same key.
func (e *Engine[T]) sendRun(ctx context.Context, vs []T, key int64) (n int, err error) {
	for n < len(vs) && err == nil {
		if len(vs)-n > 1 {
			var expired []T
			var t Ticket
			e.acquire()
			e.readClock()
			for n < len(vs) && !e.isShut(key) {
				if e.backlog != nil {
					expired = e.makeRoom(expired, false)
				}
				if !e.give(vs[n], key, false, &t) {
					break
				}
				n++
			}
			e.settleBusy()
			e.unlockAndExpire(expired)
			if n == len(vs) {
				break
			}
		}
		if _, err = e.sendKey(ctx, vs[n], key); err == nil {
			n++
		}
	}
	return n, err
}

// send sends a value, or begins to wait: then the lock is held, and await follows. Under
// engine.NoWait it never does.
func (e *Engine[T]) send(ctx context.Context, v T, key int64) (t Ticket, p pending[T], err error) {
	e.senders.waits.Probe()
	e.acquire()
	if e.shut != 0 || e.busy {
		return e.sendSlow(ctx, v, key)
	}
	switch {
	case e.takers > 0:
		if e.receivers.First().Select == nil { // so it can be claimed, and no value is queued
			e.handOff(e.receivers.pop(), v)
			e.unlock()
			return t, p, nil
		}
	case e.n < e.limit:
		if e.offers == 0 {
			e.push(v, key)
			e.lock.Unlock()
			return t, p, nil
		}
	case ctx == context.Background() && e.config.Overflow == engine.Block:
		return t, e.offer(v, key, nil), nil
	}
	return e.sendSlow(ctx, v, key)
}

// sendSlow is send with the lock held.
func (e *Engine[T]) sendSlow(ctx context.Context, v T, key int64) (t Ticket, p pending[T], err error) {
	var asked asked
	var one [1]T // so that one drop does not allocate
	var expired, drops []T
	for {
		e.readClock()
		if e.backlog != nil {
			expired = e.makeRoom(expired, false)
		}
		decided := true
		switch overflow := e.config.Overflow; {
		case e.isShut(key):
			err = engine.ErrClosed
		case e.give(v, key, false, &t):
			e.settleBusy()
		case overflow == engine.Reject || overflow == engine.Block && !engine.MayWait(ctx):
			e.rejected.Add(ctx)
			err = engine.ErrFull
		case overflow != engine.Block:
			drops = e.overflow(v, key, one[:0])
		case asked.err != nil:
			err = asked.err
		default:
			decided = false
		}
		switch {
		case decided && drops == nil:
			e.unlockAndExpire(expired)
			return t, p, err
		case decided:
			engine.Both(func() { e.unlockAndExpire(expired) }, func() { engine.CallEach(e.config.OnDrop, drops) })
			return t, p, nil
		case len(expired) > 0: // others got the room
			e.unlockAndExpire(expired)
			expired = nil
			e.acquire()
		case asked.needed(ctx):
			e.unlock()
			asked.ask(ctx)
			e.acquire()
		default:
			return t, e.offer(v, key, asked.stop), nil
		}
	}
}

// offer queues a waiter that sends v.
func (e *Engine[T]) offer(v T, key int64, stop <-chan struct{}) pending[T] {
	w, l := e.waiter(), e.sendersAt(key)
	w.Value.value, w.Value.key = v, key
	e.queueSender(l, w, false)
	return pending[T]{w, l, stop}
}

// give hands a value to a receiver, or queues it if there is room. first is whether it has
// precedence over the senders that wait. The lock is held; settleBusy follows.
func (e *Engine[T]) give(v T, key int64, first bool, t *Ticket) bool {
	if w := e.receiver(); w != nil {
		e.handOff(w, v)
		return true
	}
	if !e.room(key) || !first && !e.noSender() {
		return false
	}
	*t = e.push(v, key)
	return true
}

// overflow applies a policy that drops values to one for which there is no room. It appends the
// dropped values to drops if there is a hook for them. The lock is held.
func (e *Engine[T]) overflow(v T, key int64, drops []T) []T {
	for more := true; more; {
		old := v
		if more = e.config.Overflow != engine.DropNewest; more {
			if old, more = e.store.evict(key); more {
				e.n--
			} else {
				old = v
				e.sent++ // it was accepted
			}
		}
		e.dropped++
		drops = append(drops, old)
		if more && e.room(key) {
			e.push(v, key)
			more = false
		}
	}
	e.settle()
	if e.config.OnDrop == nil {
		return nil
	}
	return drops
}
