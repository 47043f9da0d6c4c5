package locked

import (
	"context"

	"github.com/sluice-go/sluice/internal/engine"
)

// Recv implements engine.Engine.
func (e *Engine[T]) Recv(ctx context.Context) (v T, err error) {
	if ctx == nil {
		panic(engine.RecvNilContext)
	}
	if e.flags.Load()&probeRecv != 0 {
		e.probe(probeRecv)
	}
	e.acquire()
	if e.n > 0 && !e.busy {
		v = e.pop()
		if e.offers > 0 {
			e.admit()
			e.unlock()
			return v, nil
		}
		e.lock.Unlock()
		return v, nil
	}
	var buf [1]T
	_, err = e.recvSlow(ctx, buf[:])
	return buf[0], err
}

// TryRecv implements engine.Engine.
func (e *Engine[T]) TryRecv() (T, error) { return e.Recv(engine.NoWait{}) }

// RecvBatch implements engine.Engine.
func (e *Engine[T]) RecvBatch(ctx context.Context, buf []T) (int, error) {
	if e.flags.Load()&probeRecv != 0 {
		e.probe(probeRecv)
	}
	e.acquire()
	return e.recvSlow(ctx, buf)
}

// recvSlow receives into buf, and waits for a first value; under engine.NoWait it never waits. It
// is called with the lock, and releases it.
func (e *Engine[T]) recvSlow(ctx context.Context, buf []T) (n int, err error) {
	var asked asked
	for {
		if e.backlog != nil && e.backlog.expires() {
			e.unlock()
			e.dropExpired()
			e.acquire()
			continue
		}
		n = e.fetch(buf)
		switch {
		case n > 0:
			e.unlock()
			return n, nil
		case e.closed() && e.n == 0:
			err = engine.ErrClosed
		case !engine.MayWait(ctx):
			err = engine.ErrEmpty
		case asked.err != nil:
			err = asked.err
		case asked.needed(ctx):
			e.unlock()
			asked.ask(ctx)
			e.acquire()
			continue
		default:
			return e.waitForValue(ctx, asked.stop, buf)
		}
		e.unlock()
		return 0, err
	}
}

// fetch moves values into buf, from the store or from senders, and returns their number. The lock
// is held.
func (e *Engine[T]) fetch(buf []T) (n int) {
	for ; n < len(buf); n++ {
		if e.able() {
			buf[n] = e.pop()
			e.admit()
			continue
		}
		var w *waiter[T]
		if e.limit == 0 {
			w = e.sender()
		}
		if w == nil {
			break
		}
		buf[n] = e.collect(w)
	}
	if n > 0 && e.busy {
		e.settle()
	}
	return n
}

// waitForValue waits until it was handed a value, and then fetches those that fit behind it. It is
// called with the lock, and releases it.
func (e *Engine[T]) waitForValue(ctx context.Context, stop <-chan struct{}, buf []T) (n int, err error) {
	w := e.waiter()
	e.queueReceiver(w, false)
	outcome := e.wait(&e.receivers, w, stop)
	buf[0] = w.value
	e.recycle(w)
	switch outcome {
	case closed:
		return 0, engine.ErrClosed
	case left:
		return 0, engine.ContextError(ctx)
	}
	if len(buf) == 1 {
		return 1, nil
	}
	e.acquire()
	if e.backlog == nil || !e.backlog.expires() {
		n = e.fetch(buf[1:])
	}
	e.unlock()
	return 1 + n, nil
}
