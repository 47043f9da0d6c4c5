package priority

import (
	"context"
	"fmt"
	"math/bits"

	"github.com/sluice-go/sluice/internal/engine"
)

// Send implements engine.Engine. It sends on the level of v.
func (e *Engine[T]) Send(ctx context.Context, v T) error { return e.send(ctx, e.levelOf(v, "Send"), v) }

// TrySend implements engine.Engine.
func (e *Engine[T]) TrySend(v T) error {
	return e.send(engine.NoWait{}, e.levelOf(v, "TrySend"), v)
}

// SendBatch implements engine.Engine. Values in a row with the same level are one batch.
func (e *Engine[T]) SendBatch(ctx context.Context, vs []T) (n int, err error) {
	if e.config.LevelOf == nil {
		t := turn[T]{level: len(e.levels) - 1}
		return e.sendBatch(ctx, &t, vs)
	}
	next := e.levelOf(vs[0], "SendBatch")
	step := func() bool {
		if n == len(vs) {
			return false
		}
		i, start, end := next, n, n+1
		n = len(vs) // if LevelOf panics, nothing more is sent
		for ; end < len(vs); end++ {
			if next = e.levelOf(vs[end], "SendBatch"); next != i {
				break
			}
		}
		n = end // if a hook panics, these are sent
		t, sent := turn[T]{level: i}, 0
		sent, err = e.sendBatch(ctx, &t, vs[start:end])
		n = start + sent
		return err == nil
	}
	if e.config.OnDrop != nil {
		engine.Repeat(step)
	} else {
		for step() {
		}
	}
	return n, err
}

// levelOf returns the level of v. method is the method that the user called.
func (e *Engine[T]) levelOf(v T, method string) int {
	if e.config.LevelOf == nil {
		return len(e.levels) - 1
	}
	i := e.config.LevelOf(v)
	if i < 0 || i >= len(e.levels) {
		panic(fmt.Sprintf("sluice: %s: PriorityOptions.LevelOf returned %d (want 0 to %d)", method, i, len(e.levels)-1))
	}
	return i
}

// send sends v on level i; under engine.NoWait it never waits.
func (e *Engine[T]) send(ctx context.Context, i int, v T) error {
	e.acquire()
	if e.n < e.limit && !e.busy && !e.isShut(i) {
		e.push(i, v)
		wake := e.receivers.Waiting()
		e.lock.Unlock()
		if wake {
			e.receivers.Wake()
		}
		return nil
	}
	e.lock.Unlock()
	t, vs := turn[T]{level: i}, [1]T{v}
	_, err := e.sendSlow(ctx, &t, vs[:])
	return err
}

// sendBatch sends vs as t says. Under a policy that drops values, a hook that panics does not end
// the batch.
func (e *Engine[T]) sendBatch(ctx context.Context, t *turn[T], vs []T) (n int, err error) {
	n, err = e.sendSlow(ctx, t, vs)
	if !t.rest {
		return n, err
	}
	t.rest = false
	rest := 0
	engine.Both(func() { e.pay(&t.debt) }, func() { // the hook gets values in the order in which they were dropped
		rest, err = engine.SendEach(vs[n:], nil, func(v T, _ struct{}) error {
			one := [1]T{v}
			_, err := e.sendSlow(ctx, t, one[:])
			return err
		})
	})
	return n + rest, err
}

// sendSlow sends vs as t says, and waits for room as often as needed; under engine.NoWait it
// never waits. Under a policy that drops values it sends as many values as there is room for, and
// sets t.rest if it has left others, unless vs is a single value.
func (e *Engine[T]) sendSlow(ctx context.Context, t *turn[T], vs []T) (n int, err error) {
	e.probe(probeSend)
	i := t.level
	for {
		e.acquireFresh(t, true)
		rescued := e.rescueSender(t)
		e.dropForSend(t, len(vs)-n)
		e.sending.poll(&t.attempt, e.room())
		placed := e.place(t, vs[n:])
		n += placed
		wake := (placed > 0 || rescued >= 0) && e.able()
		if wake {
			wake = e.receivers.Waiting()
			e.postReady()
		}
		var dropped T
		drops, again := false, false
		switch {
		case n == len(vs):
		case e.isShut(i):
			err = engine.ErrClosed
		case e.config.Overflow != engine.Block:
			if t.rest = len(vs) > 1 && e.config.Overflow != engine.Reject; t.rest {
				break
			}
			if dropped, drops, err = e.overflow(i, vs[n]); err == nil {
				n++
			}
		case !engine.MayWait(ctx):
			err = engine.ErrFull
			e.armRoom() // for a Select that has joined
		case t.wait.Canceled():
		default:
			if len(t.debt.dropped) == 0 {
				e.recordLoss(t, &e.starvingSender, vs[n:n+1])
			}
			e.armRoom()
			again = true
		}
		if !again {
			e.forget(t, &e.starvingSender)
		}
		t.debt.more = e.expired()
		e.lock.Unlock()
		if wake {
			e.receivers.Wake()
		}
		if rescued >= 0 {
			e.levels[rescued].senders.Wake()
		}
		if drops && e.config.OnDrop != nil {
			e.config.OnDrop(dropped)
		}
		if !again {
			break
		}
		if len(t.debt.dropped) > 0 {
			e.leaveSender(t)
			e.pay(&t.debt)
		} else {
			e.waitForRoom(ctx, t)
		}
	}
	if t.rest {
		return n, nil
	}
	canceled := n < len(vs) && err == nil
	e.leaveSender(t)
	if !t.selects {
		e.pay(&t.debt)
	}
	if canceled {
		err = engine.ContextError(ctx)
	}
	return n, err
}

// place queues a prefix of vs and returns its length. The lock is held.
func (e *Engine[T]) place(t *turn[T], vs []T) (n int) {
	if r := t.request; r != nil && r.done {
		t.request, n = nil, 1
		t.ticket = r.ticket
	}
	if !e.isShut(t.level) {
		for ; n < len(vs) && e.n < e.limit; n++ {
			t.ticket = e.put(t.level, t.at, vs[n])
		}
	}
	if n > 0 {
		e.forget(t, &e.starvingSender)
		t.wait.Progress()
		t.losses = 0
	}
	return n
}

// overflow applies the overflow policy to v, for which there is no room. It reports which
// value was dropped. The lock is held.
func (e *Engine[T]) overflow(i int, v T) (dropped T, drops bool, err error) {
	switch {
	case e.config.Overflow == engine.DropNewest:
		e.dropped++
		return v, true, nil
	case e.config.Overflow == engine.Reject:
		return dropped, false, engine.ErrFull
	case e.backlog != nil: // DropOldest
		e.dropped++
		dropped = e.backlog.removeOldest()
		e.n--
		e.put(i, 0, v)
		e.postReady()
		return dropped, true, nil
	}
	e.dropped++
	least := bits.Len64(e.present) - 1
	if least <= i {
		return v, true, nil
	}
	dropped = e.evict(least)
	e.push(i, v)
	e.postReady()
	return dropped, true, nil
}

// senderToWake returns the queue whose first sender is to be woken because there is room, or
// will be once it has dropped a value that is too old; otherwise nil. The lock is held.
func (e *Engine[T]) senderToWake() *waiters {
	if e.asleep.Load() == 0 || e.n >= e.limit && !e.tick() {
		return nil
	}
	set, idle := uint64(0), uint64(0)
	for i := range e.levels {
		switch q := &e.levels[i].senders; {
		case q.Waiting():
			set |= 1 << i
		case !q.Idle():
			return nil // one is awake, and wakes the next one
		default:
			idle |= 1 << i
		}
	}
	if set == 0 {
		return nil
	}
	i := e.wakes.next(set, func(i int) uint64 { return e.levels[i].woken })
	e.wakes.served(&e.levels[i].woken)
	for ; idle != 0; idle &= idle - 1 { // is not passed over
		e.wakes.begin(&e.levels[bits.TrailingZeros64(idle)].woken)
	}
	return &e.levels[i].senders
}
