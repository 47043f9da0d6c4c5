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
	e.receivers.waits.Probe()
	e.acquire()
	var p pending[T]
	if !e.busy {
		switch {
		case e.n > 0:
			v = e.pop()
			if e.offers > 0 {
				e.admit()
				e.unlock()
				return v, nil
			}
			e.lock.Unlock()
			return v, nil
		case e.limit == 0 && e.offers > 0 && e.senders.First().Select == nil: // so it can be claimed
			v = e.collect(e.senders.pop())
			e.unlock()
			return v, nil
		case e.offers == 0 && e.shut == 0 && ctx == context.Background():
			p = e.join(nil)
		}
	}
	if p.w == nil {
		var buf [1]T
		if _, p, err = e.recvSlow(ctx, buf[:]); p.w == nil {
			return buf[0], err
		}
	}
	v, _, err = e.await(ctx, p)
	return v, err
}

// TryRecv implements engine.Engine.
func (e *Engine[T]) TryRecv() (T, error) { return e.Recv(engine.NoWait{}) }

// RecvBatch implements engine.Engine.
func (e *Engine[T]) RecvBatch(ctx context.Context, buf []T) (n int, err error) {
	e.receivers.waits.Probe()
	e.acquire()
	n, p, err := e.recvSlow(ctx, buf)
	if p.w == nil {
		return n, err
	}
	v, _, err := e.await(ctx, p)
	if err != nil {
		return 0, err
	}
	buf[0] = v
	if buf = buf[1:]; len(buf) > 0 {
		e.acquire()
		if e.backlog == nil || !e.backlog.expires() {
			n = e.fetch(buf)
		}
		e.unlock()
	}
	return 1 + n, nil
}

// recvSlow receives into buf at least one value, or begins to wait: then the lock is held, and await
// follows. Under engine.NoWait it never does. It is called with the lock.
func (e *Engine[T]) recvSlow(ctx context.Context, buf []T) (n int, p pending[T], err error) {
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
		case e.dates && e.n > 0:
			err = ErrTooOld
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
			return 0, e.join(asked.stop), nil
		}
		e.unlock()
		return n, p, err
	}
}

// join queues a waiter that receives.
func (e *Engine[T]) join(stop <-chan struct{}) pending[T] {
	w := e.waiter()
	e.queueReceiver(w, false)
	return pending[T]{w, &e.receivers, stop}
}

// fetch moves values into buf, from the store or from senders, and returns their number. The lock
// is held.
func (e *Engine[T]) fetch(buf []T) (n int) {
	if e.takers > 0 && e.able() { // a value has become due, and the timer is late
		e.settle()
	}
	for ; n < len(buf); n++ {
		if e.able() && !e.isOld() {
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
	if n > 0 {
		e.settleBusy()
	}
	return n
}

// Evict removes and returns the next value, due or not, if at least least values are queued, and
// least is positive. It counts as a receive.
func (e *Engine[T]) Evict(least int) (v T, ok bool) {
	return e.removeIf(func() bool { return least > 0 && e.n >= least })
}

// removeIf removes and returns the next value if may, which is called with the lock held, agrees.
func (e *Engine[T]) removeIf(may func() bool) (v T, ok bool) {
	e.acquire()
	defer e.unlock()
	if ok = may(); ok {
		v = e.pop()
		e.settle()
	}
	return v, ok
}
