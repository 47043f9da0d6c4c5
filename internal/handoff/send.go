package handoff

import (
	"context"
	"fmt"
	"runtime"

	"github.com/sluice-go/sluice/internal/engine"
)

// Send implements engine.Engine.
func (e *Engine[T]) Send(ctx context.Context, v T) error {
	if e.config.Size != nil {
		return e.sendSized(ctx, v, "Send")
	}
	return e.send(ctx, v, 0)
}

// TrySend implements engine.Engine.
func (e *Engine[T]) TrySend(v T) error {
	if e.config.Size != nil {
		return e.sendSized(engine.NoWait{}, v, "TrySend")
	}
	return e.send(engine.NoWait{}, v, 0)
}

// SendBatch implements engine.Engine. It sends one value after another: a batch has
// no advantage if nearly every value waits.
func (e *Engine[T]) SendBatch(ctx context.Context, vs []T) (n int, err error) {
	if e.config.OnDrop != nil {
		return engine.SendEach(vs, e.sizeInBatch, func(v T, size int) error { return e.send(ctx, v, size) })
	}
	for n < len(vs) {
		size, err := e.sizeInBatch(vs[n])
		if err == nil {
			err = e.send(ctx, vs[n], size)
		}
		if err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

// sendSized sends a value whose size is the result of Options.Size. method is the
// method that the user called.
func (e *Engine[T]) sendSized(ctx context.Context, v T, method string) error {
	size, err := e.sizeOf(v, method)
	if err != nil {
		return err
	}
	return e.send(ctx, v, size)
}

// sizeOf returns the size of a value that can be queued.
func (e *Engine[T]) sizeOf(v T, method string) (int, error) {
	size := e.config.Size(v)
	if size < 0 {
		panic(fmt.Sprintf("sluice: %s: Options.Size returned %d, below 0", method, size))
	}
	if int64(size) > e.config.MaxBytes {
		return 0, engine.ErrTooLarge
	}
	return size, nil
}

// sizeInBatch is sizeOf for SendBatch. Without a limit in bytes the size is 0.
func (e *Engine[T]) sizeInBatch(v T) (int, error) {
	if e.config.Size == nil {
		return 0, nil
	}
	return e.sizeOf(v, "SendBatch")
}

// send sends a value of the given size; under engine.NoWait it never waits.
func (e *Engine[T]) send(ctx context.Context, v T, size int) error {
	if e.flags.Load()&probeSend != 0 {
		e.probe(probeSend)
	}
	e.acquire()
	if !e.plain {
		return e.sendOrWait(ctx, v, size)
	}
	switch w := e.receivers.first; {
	case w != nil:
		if w.sel == nil { // so it can be claimed, and the buffer is empty
			e.handOff(e.receivers.pop(), v)
			return nil
		}
	case e.closed || e.ready != nil:
	case e.senders.first == nil && e.buf.Len() < e.config.Limit:
		e.buf.Push(v)
		e.sent++
		e.high = max(e.high, e.buf.Len())
		e.lock.Unlock()
		return nil
	case ctx == context.Background() && e.config.Overflow == engine.Block && (e.buf.Len() >= e.config.Limit || !e.senders.noneClaimable()):
		// As in Recv.
		l, w := &e.senders, e.waiter()
		w.value = v
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
		var err error
		if w.outcome == closed {
			err = engine.ErrClosed
		}
		e.recycle(w)
		e.lock.Unlock()
		return err
	}
	return e.sendOrWait(ctx, v, size)
}

// sendOrWait is send with the lock held.
func (e *Engine[T]) sendOrWait(ctx context.Context, v T, size int) error {
	var stop <-chan struct{}
	var ctxErr error                     // the context had ended when it was asked
	asked := ctx == context.Background() // nothing to ask
	for ; ; e.acquire() {
		if w := e.receiver(); w != nil {
			e.handOff(w, v)
			return nil
		}
		switch {
		case e.closed:
			e.lock.Unlock()
			return engine.ErrClosed
		case e.fits(size) && e.senders.noneClaimable():
			e.push(v, size)
			e.postReady()
			e.lock.Unlock()
			return nil
		case e.config.Overflow != engine.Block:
			return e.overflow(v, size)
		case !engine.MayWait(ctx):
			e.lock.Unlock()
			return engine.ErrFull
		case ctxErr != nil:
			e.lock.Unlock()
			return ctxErr
		case !asked:
			e.lock.Unlock()
			stop, ctxErr, asked = ctx.Done(), ctx.Err(), true
			continue
		}
		w := e.waiter()
		w.value, w.size = v, size
		e.senders.push(w)
		p := e.begin(&e.senders, w)
		e.postReady()
		e.lock.Unlock()
		outcome := e.wait(stop, &e.senders, w, p)
		e.recycle(w)
		if outcome == left && e.config.Size != nil {
			e.admitSenders() // the next value may be smaller, and fit
		} else {
			e.lock.Unlock()
		}
		switch outcome {
		case done:
			return nil
		case closed:
			return engine.ErrClosed
		default:
			return engine.ContextError(ctx)
		}
	}
}

// fits reports whether a value of the given size can be queued.
func (e *Engine[T]) fits(size int) bool {
	return e.buf.Len() < e.config.Limit && (e.config.Size == nil || int64(size) <= e.config.MaxBytes-e.bytes)
}

// push queues a value.
func (e *Engine[T]) push(v T, size int) {
	e.buf.Push(v)
	e.sent++
	e.high = max(e.high, e.buf.Len())
	if e.config.Size != nil {
		e.sizes.Push(size)
		e.bytes += int64(size)
		if e.buf.Len() >= minObserved {
			e.observe()
		}
	}
}

// overflow applies the overflow policy to a value for which there is no room. It
// releases the lock.
func (e *Engine[T]) overflow(v T, size int) error {
	var one [1]T // so that one drop does not allocate
	drops := one[:0]
	switch e.config.Overflow {
	case engine.DropNewest:
		drops = append(drops, v)
	case engine.DropOldest:
		for !e.fits(size) {
			drops = append(drops, e.pop())
		}
		e.push(v, size)
		e.postReady()
	default:
		e.lock.Unlock()
		return engine.ErrFull
	}
	e.dropped += uint64(len(drops))
	e.lock.Unlock()
	if e.config.OnDrop != nil {
		engine.CallEach(e.config.OnDrop, drops)
	}
	return nil
}
