package handoff

import (
	"context"
	"runtime"

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
	if e.plain {
		if e.buf.Len() > 0 {
			v = e.buf.Pop()
			e.taken++
			if e.senders.first == nil && e.ready == nil {
				e.lock.Unlock()
				return v, nil
			}
			e.admitSenders()
			return v, nil
		}
		switch w := e.senders.first; {
		case w != nil:
			if w.sel == nil {
				return e.collect(e.senders.pop()), nil
			}
		case !e.closed && ctx == context.Background():
			// It parks with no function of its own in between: after a switch of goroutines
			// each return is mispredicted.
			l, w := &e.receivers, e.waiter()
			l.push(w)
			p := e.begin(l, w)
			e.lock.Unlock()
			if p.yields {
				runtime.Gosched()
				p = e.yielded(l, w)
			}
			if !p.served {
				if p.timed {
					l.waits.Park(w.parker, nil, p.weight, &w.since)
				} else {
					w.parker.Park(nil)
				}
				e.acquire()
			}
			if v = w.value; w.outcome == closed {
				err = engine.ErrClosed
			}
			e.recycle(w)
			e.lock.Unlock()
			return v, err
		}
	}
	return e.recvOrWait(ctx)
}

// recvOrWait is Recv with the lock held.
func (e *Engine[T]) recvOrWait(ctx context.Context) (v T, err error) {
	var stop <-chan struct{}
	var ctxErr error                     // the context had ended when it was asked
	asked := ctx == context.Background() // nothing to ask
	for ; ; e.acquire() {
		if e.buf.Len() > 0 {
			v = e.pop()
			e.taken++
			e.admitSenders()
			return v, nil
		}
		if w := e.senders.take(); w != nil {
			return e.collect(w), nil
		}
		switch {
		case e.closed:
			e.lock.Unlock()
			return v, engine.ErrClosed
		case !engine.MayWait(ctx):
			e.lock.Unlock()
			return v, engine.ErrEmpty
		case ctxErr != nil:
			e.lock.Unlock()
			return v, ctxErr
		case !asked:
			e.lock.Unlock()
			stop, ctxErr, asked = ctx.Done(), ctx.Err(), true
			continue
		}
		w := e.waiter()
		e.receivers.push(w)
		p := e.begin(&e.receivers, w)
		e.lock.Unlock()
		outcome := e.wait(stop, &e.receivers, w, p)
		v = w.value
		e.recycle(w)
		e.lock.Unlock()
		switch outcome {
		case done:
			return v, nil
		case closed:
			return v, engine.ErrClosed
		default:
			return v, engine.ContextError(ctx)
		}
	}
}

// TryRecv implements engine.Engine.
func (e *Engine[T]) TryRecv() (T, error) {
	return e.Recv(engine.NoWait{})
}

// RecvBatch implements engine.Engine.
func (e *Engine[T]) RecvBatch(ctx context.Context, buf []T) (n int, err error) {
	if buf[0], err = e.Recv(ctx); err != nil {
		return 0, err
	}
	for n = 1; n < len(buf); n++ {
		v, err := e.TryRecv()
		if err != nil {
			break
		}
		buf[n] = v
	}
	return n, nil
}

// pop removes and returns the oldest queued value.
func (e *Engine[T]) pop() T {
	v := e.buf.Pop()
	if e.config.Elastic {
		e.bytes -= int64(e.sizes.Pop())
		if e.config.Shrink == engine.ShrinkHalf || e.config.Shrink == engine.ShrinkEmpty && e.buf.Len() == 0 {
			e.buf.Shrink(minSlots)
			e.sizes.Shrink(minSlots)
		}
	}
	return v
}
