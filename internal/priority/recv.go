package priority

import (
	"context"

	"github.com/sluice-go/sluice/internal/engine"
)

// Recv implements engine.Engine.
func (e *Engine[T]) Recv(ctx context.Context) (v T, err error) {
	if ctx == nil {
		panic(engine.RecvNilContext)
	}
	e.acquire()
	if e.n > 0 && !e.busy {
		v = e.take()
		if e.asleep.Load() == 0 {
			e.lock.Unlock()
			return v, nil
		}
		e.unlockAndWake()
		return v, nil
	}
	e.lock.Unlock()
	var buf [1]T
	_, err = e.recvSlow(ctx, &turn[T]{}, buf[:])
	return buf[0], err
}

// TryRecv implements engine.Engine.
func (e *Engine[T]) TryRecv() (T, error) { return e.Recv(engine.NoWait{}) }

// RecvBatch implements engine.Engine.
func (e *Engine[T]) RecvBatch(ctx context.Context, buf []T) (n int, err error) {
	return e.recvSlow(ctx, &turn[T]{}, buf)
}

// recvSlow receives into buf, and waits for a first value; under engine.NoWait it never
// waits.
func (e *Engine[T]) recvSlow(ctx context.Context, t *turn[T], buf []T) (n int, err error) {
	e.probe(probeRecv)
	for {
		e.acquireFresh(t, false)
		e.receiving.poll(&t.attempt, e.n)
		rescued := e.rescueReceiver(t)
		n = e.fetch(t, buf)
		again := false
		switch {
		case n > 0:
			if e.able() {
				e.postReady()
			}
		case e.closed() && e.n == 0:
			err = engine.ErrClosed
		case !engine.MayWait(ctx):
			err = engine.ErrEmpty
		case t.wait.Canceled():
		default:
			e.recordLoss(t, &e.starvingReceiver, nil)
			again = true
		}
		if !again {
			e.forget(t, &e.starvingReceiver)
		}
		ends := false
		if e.schedule != nil {
			e.rearm()
			if e.over() {
				e.endReady()
			}
			ends = (n > 0 || rescued) && e.n == 0 && e.closed()
		}
		t.debt.more = t.selects && e.expired()
		e.unlockAndWake()
		if rescued {
			e.receivers.Wake()
		}
		if ends { // what others have waited for
			e.receivers.WakeAll()
		}
		if !again {
			break
		}
		e.waitForValue(ctx, t)
	}
	e.leaveReceiver(t)
	if n == 0 && err == nil {
		err = engine.ContextError(ctx)
	}
	return n, err
}

// fetch moves values into buf and returns their number. The lock is held.
func (e *Engine[T]) fetch(t *turn[T], buf []T) (n int) {
	if r := t.request; r != nil && r.done {
		buf[0], n = r.value, 1
		t.request = nil
	}
	for ; n < len(buf) && e.able() && !e.expired(); n++ {
		buf[n] = e.take()
	}
	return n
}
