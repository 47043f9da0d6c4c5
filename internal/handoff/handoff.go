// Package handoff is the engine of channels in which nearly every operation waits:
// those with at most a few slots, and those that serve waiting goroutines strictly
// in order.
//
// A BusyLock guards everything: a ring of queued values, a queue of waiting senders
// and a queue of waiting receivers. At each release of the lock, not counting
// waiters of a Select that cannot be claimed:
//
//   - len(receivers) > 0 implies len(buf) == 0 && len(senders) == 0.
//   - len(senders) > 0 implies that the value of the first one does not fit.
//   - closed implies len(senders) == 0 && len(receivers) == 0.
//
// With Config.NoHandOff the first two also except a goroutine that was woken to
// retry and has yet to run. A Select whose send and receive wait in the same
// channel does not pair with itself. A waiter that cannot be claimed is skipped,
// except that one whose value does not fit still blocks those behind it until it
// leaves: see entry.go.
//
// A waiter belongs to its goroutine; while it is queued, its fields belong to the
// holder of the lock. The goroutine that dequeues a waiter serves it under the same
// lock: it moves the value and sets the outcome. That is the linearization point of
// both operations. The waiting goroutine reads the outcome under the lock.
//
// No wake-up is lost. A goroutine queues its waiter in the critical section in
// which it found nothing to do. It then yields once, takes the lock and reads the
// outcome. If it was not served, it sets parked in that critical section and parks.
// A server that finds parked set delivers one token; otherwise the waiter has yet
// to read its outcome. If the context ends the wait, the goroutine removes its
// waiter under the lock; if that is not queued any more, it was served and the
// operation has happened. A context is user code and may panic: it is asked before
// the waiter is queued, and again when it has left.
//
// Parking and waking cost about as much as everything else together. With one P the
// yield runs the other side, so most waits end there. ADR 3 has the measurements,
// the alternatives, and what limits this engine.
package handoff

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/sluice-go/sluice/internal/age"
	"github.com/sluice-go/sluice/internal/engine"
	"github.com/sluice-go/sluice/internal/ring"
	"github.com/sluice-go/sluice/internal/spin"
)

// minSlots is the least size of an elastic buffer.
const minSlots = 64

// An Engine is an engine.Engine.
type Engine[T any] struct {
	lock      spin.BusyLock
	closed    bool
	senders   queue[T]
	receivers queue[T]
	free      *waiter[T] // reused, so that waiting does not allocate
	frees     int
	buf       ring.Ring[T]
	sizes     ring.Ring[int] // of the values in buf, if sized
	bytes     int64          // their sum
	ready     chan struct{}  // nil until Ready is called

	config  engine.Config[T]
	rank    uint64 // see lastRank
	sent    uint64
	taken   uint64
	dropped uint64
	high    int
	ages    *age.Log // nil until needed

	probes atomic.Uint32 // see sites.go
}

// New returns an engine for config.Limit queued values; 0 makes a rendezvous.
func New[T any](config engine.Config[T]) *Engine[T] {
	e := &Engine[T]{config: config, rank: lastRank.Add(1)}
	if !config.Elastic && config.Limit > 0 {
		e.buf.Grow(config.Limit)
	}
	e.watch()
	return e
}

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
	for ; n < len(vs) && err == nil; n++ {
		if e.config.Size != nil {
			err = e.sendSized(ctx, vs[n], "SendBatch")
		} else {
			err = e.send(ctx, vs[n], 0)
		}
	}
	if err != nil {
		n--
	}
	return n, err
}

// sendSized sends a value whose size is the result of Options.Size. method is the
// method that the user called.
func (e *Engine[T]) sendSized(ctx context.Context, v T, method string) error {
	size := e.config.Size(v)
	if size < 0 {
		panic(fmt.Sprintf("sluice: %s: Options.Size returned %d, below 0", method, size))
	}
	if int64(size) > e.config.LimitBytes {
		return engine.ErrTooLarge
	}
	return e.send(ctx, v, size)
}

// send sends a value of the given size; under engine.NoWait it never waits.
func (e *Engine[T]) send(ctx context.Context, v T, size int) error {
	// With NoHandOff a sender that may wait queues its value, and the receiver
	// fetches it. A sender that may not wait has to hand it off.
	if e.probes.Load()&probeSend != 0 {
		e.probe(probeSend)
	}
	handOff := !e.config.NoHandOff || !engine.MayWait(ctx) || e.config.Overflow != engine.Block || ctx.Err() != nil
	var stop <-chan struct{}
	var ctxErr error                           // the context had ended when it was asked
	asked := ctx == context.Background()       // nothing to ask
	retrying, start := false, time.Duration(0) // woken to retry
	for {
		e.lock.Lock()
		if handOff {
			if w := e.receiver(); w != nil {
				e.handOff(w, v)
				return nil
			}
		}
		switch {
		case e.closed:
			e.lock.Unlock()
			return engine.ErrClosed
		case e.fits(size) && (retrying || e.senders.noneClaimable() || !engine.MayWait(ctx) && e.config.NoHandOff):
			e.push(v, size)
			e.postReady()
			e.wakeReceiver()
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
		e.senders.join(w, retrying, start)
		e.postReady()
		e.wakeReceiver()
		outcome := e.wait(stop, &e.senders, w)
		start = w.since.At()
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
		case left:
			return engine.ContextError(ctx)
		}
		retrying = true
	}
}

// Recv implements engine.Engine.
func (e *Engine[T]) Recv(ctx context.Context) (v T, err error) {
	if ctx == nil {
		panic(engine.RecvNilContext)
	}
	if e.probes.Load()&probeRecv != 0 {
		e.probe(probeRecv)
	}
	var stop <-chan struct{}
	var ctxErr error                           // the context had ended when it was asked
	asked := ctx == context.Background()       // nothing to ask
	retrying, start := false, time.Duration(0) // as in send
	for {
		e.lock.Lock()
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
		e.receivers.join(w, retrying, start)
		e.lock.Unlock()
		outcome := e.wait(stop, &e.receivers, w)
		v, start = w.value, w.since.At()
		e.recycle(w)
		e.lock.Unlock()
		switch outcome {
		case done:
			return v, nil
		case closed:
			return v, engine.ErrClosed
		case left:
			return v, engine.ContextError(ctx)
		}
		retrying = true
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

// Close implements engine.Engine.
func (e *Engine[T]) Close() {
	e.lock.Lock()
	if e.closed {
		e.lock.Unlock()
		return
	}
	e.closed = true
	if e.ready != nil {
		close(e.ready)
	}
	// Parked goroutines are woken after the lock is released, because each of them
	// takes it at once.
	var asleep *waiter[T]
	for _, l := range []*queue[T]{&e.senders, &e.receivers} {
		for w := l.take(); w != nil; w = l.take() {
			w.outcome = closed
			switch {
			case !w.parked:
			case w.sel != nil: // its entries belong to the Select
				w.parker.Unpark()
			default:
				w.next, asleep = asleep, w
			}
		}
	}
	e.lock.Unlock()
	for asleep != nil {
		w := asleep
		asleep, w.next = w.next, nil // after Unpark w belongs to its goroutine
		w.parker.Unpark()
	}
}

// fits reports whether a value of the given size can be queued.
func (e *Engine[T]) fits(size int) bool {
	return e.buf.Len() < e.config.Limit && (e.config.Size == nil || int64(size) <= e.config.LimitBytes-e.bytes)
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
		for _, d := range drops {
			e.config.OnDrop(d)
		}
	}
	return nil
}
