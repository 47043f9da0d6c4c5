// Package handoff is the engine of channels in which nearly every operation
// waits: those with no slot or a few, and those that serve waiting goroutines
// strictly in their order.
//
// # States and ownership
//
// One short lock guards everything: a ring of queued values, a line of waiting
// senders and a line of waiting receivers. At every release of the lock
//
//   - receivers wait only if nothing is queued and no sender waits;
//   - senders wait only if the first of them does not fit;
//   - after Close nobody waits.
//
// Without the hand-off (Config.NoHandOff) the first two hold but for a goroutine
// that was told to look again and has not yet done so.
//
// A Select may wait on both sides at once, and does not meet itself. While it is
// awake, or once it has been chosen elsewhere, its waiters count as nobody, but
// for that those behind one whose value does not fit wait until it has left: see
// place.go.
//
// A waiter belongs to the goroutine that waits, but while it is queued its
// fields belong to the holder of the lock. Whoever takes it out of its line
// serves it in full under the same lock: puts the value in, or takes it out, and
// writes the verdict. That is the linearization point of both operations. The
// waiting goroutine learns of it under the lock, or by its parker's token.
//
// # Waiting: why no wake-up is lost
//
// A goroutine queues its waiter under the lock hold that found nothing to do,
// so whatever changes later finds it. It then yields once, takes the lock and
// looks whether it has been served; if not, it sets parked under that lock and
// parks. The server reads parked under the lock: set, it puts down the one
// token; clear, the waiter has yet to look. A context that ends the wait removes
// the waiter under the lock if it is still queued; if it is not, it was served,
// and the operation has happened. A context is a user's code and may panic: it is
// asked before the waiter is queued, and again when it has left.
//
// # Why one yield
//
// A park and its wake-up cost about as much as everything else together. With
// one P the yield runs the other side, and most waits end there: 118 ns a value
// instead of 195 (capacity 0, one to one, GOMAXPROCS=1, 2026-11-21, AMD EPYC
// Zen 5 VM, Go 1.26.8; built-in chan 125). A second yield finds nobody to run
// and doubles the cost.
//
// # Tried and lost
//
// Waiters with an atomic state instead of fields under the lock: five more
// read-modify-writes a value, 20 ns. An atomic flag and a lock-free list of free
// waiters, so that a served goroutine need not take the lock: 8 ns more with one
// P, nothing gained with more. sync.Mutex for the lock: puts goroutines to
// sleep for a section of a few instructions. Spinning for the other side: a
// rendezvous across two Ps costs two cache-line round trips, more than a switch.
// No yield: what the runtime's own channels do, but each park goes through one of
// them, and through this lock four times: 210 ns a value instead of 124 with one
// P. Only the first of a line yields: with more than two goroutines the others
// park for every value. A yield only where one has paid before: no difference.
//
// # What limits it
//
// With many goroutines on several Ps the scheduler's lock: Gosched goes through
// the queue that all Ps share, and takes 46 % of the time (capacity 1, 8 to 1,
// GOMAXPROCS=8). The runtime's channels put a woken goroutine next in line on the
// same P, so that two of many run in turn and the others wait for a time slice;
// nothing outside the runtime can.
package handoff

import (
	"context"
	"fmt"
	"time"

	"github.com/sluice-go/sluice/internal/age"
	"github.com/sluice-go/sluice/internal/engine"
	"github.com/sluice-go/sluice/internal/ring"
	"github.com/sluice-go/sluice/internal/spin"
)

// minSlots is what an elastic buffer never shrinks below.
const minSlots = 64

// An Engine is an engine.Engine.
type Engine[T any] struct {
	lock      spin.BusyLock
	closed    bool
	senders   line[T]
	receivers line[T]
	free      *waiter[T] // waiters to use again: waiting does not allocate
	frees     int
	buf       ring.Ring[T]
	sizes     ring.Ring[int] // of the values in buf, if sized
	bytes     int64          // their sum
	ready     chan struct{}  // nil until Ready is called

	config  engine.Config[T]
	rank    uint64 // see ranks
	sent    uint64
	taken   uint64
	dropped uint64
	high    int
	ages    *age.Log // nil until needed
}

// New returns an engine for config.Limit queued values; 0 makes a rendezvous.
func New[T any](config engine.Config[T]) *Engine[T] {
	e := &Engine[T]{config: config, rank: ranks.Add(1)}
	if !config.Elastic && config.Limit > 0 {
		e.buf.Grow(config.Limit)
	}
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

// SendBatch implements engine.Engine. Where nearly every value waits, there is
// nothing to gain from a batch.
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

// sendSized sends a value that counts as many bytes as Options.Size says.
// method is what the user called.
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

// send sends a value of that size; under engine.NoWait it never waits.
func (e *Engine[T]) send(ctx context.Context, v T, size int) error {
	// Without the hand-off a sender that may wait leaves it to the receiver to
	// fetch the value. One that may not has to hand it over.
	handOff := !e.config.NoHandOff || !engine.MayWait(ctx) || e.config.Overflow != engine.Block || ctx.Err() != nil
	var stop <-chan struct{}
	var over error                           // ctx was done when it was asked
	asked := ctx == context.Background()     // nothing to ask
	called, began := false, time.Duration(0) // out of the line, to look again
	for {
		e.lock.Lock()
		if handOff {
			if w := e.receiver(); w != nil {
				e.handOver(w, v)
				return nil
			}
		}
		switch {
		case e.closed:
			e.lock.Unlock()
			return engine.ErrClosed
		case e.fits(size) && (called || e.senders.empty() || !engine.MayWait(ctx) && e.config.NoHandOff):
			e.push(v, size)
			e.announce()
			e.callReceiver()
			return nil
		case e.config.Overflow != engine.Block:
			return e.overflow(v, size)
		case !engine.MayWait(ctx):
			e.lock.Unlock()
			return engine.ErrFull
		case over != nil:
			e.lock.Unlock()
			return over
		case !asked:
			e.lock.Unlock()
			stop, over, asked = ctx.Done(), ctx.Err(), true
			continue
		}
		w := e.waiter()
		w.value, w.size = v, size
		e.senders.join(w, called, began)
		e.announce()
		e.callReceiver()
		verdict := e.wait(stop, &e.senders, w)
		began = w.since.At()
		e.recycle(w)
		if verdict == left && e.config.Size != nil {
			e.admit() // the one behind may be smaller, and fit
		} else {
			e.lock.Unlock()
		}
		switch verdict {
		case done:
			return nil
		case closed:
			return engine.ErrClosed
		case left:
			return engine.ContextError(ctx)
		}
		called = true
	}
}

// Recv implements engine.Engine.
func (e *Engine[T]) Recv(ctx context.Context) (v T, err error) {
	if ctx == nil {
		panic(engine.RecvNilContext)
	}
	var stop <-chan struct{}
	var over error                           // ctx was done when it was asked
	asked := ctx == context.Background()     // nothing to ask
	called, began := false, time.Duration(0) // as in send
	for {
		e.lock.Lock()
		if e.buf.Len() > 0 {
			v = e.pop()
			e.taken++
			e.admit()
			return v, nil
		}
		if w := e.senders.take(); w != nil {
			return e.takeOver(w), nil
		}
		switch {
		case e.closed:
			e.lock.Unlock()
			return v, engine.ErrClosed
		case !engine.MayWait(ctx):
			e.lock.Unlock()
			return v, engine.ErrEmpty
		case over != nil:
			e.lock.Unlock()
			return v, over
		case !asked:
			e.lock.Unlock()
			stop, over, asked = ctx.Done(), ctx.Err(), true
			continue
		}
		w := e.waiter()
		e.receivers.join(w, called, began)
		e.lock.Unlock()
		verdict := e.wait(stop, &e.receivers, w)
		v, began = w.value, w.since.At()
		e.recycle(w)
		e.lock.Unlock()
		switch verdict {
		case done:
			return v, nil
		case closed:
			return v, engine.ErrClosed
		case left:
			return v, engine.ContextError(ctx)
		}
		called = true
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
	// Those that sleep are woken without the lock: each needs it at once.
	var asleep *waiter[T]
	for _, l := range []*line[T]{&e.senders, &e.receivers} {
		for w := l.take(); w != nil; w = l.take() {
			w.verdict = closed
			switch {
			case !w.parked:
			case w.choice != nil: // its places are the Select's
				w.parker.Unpark()
			default:
				w.next, asleep = asleep, w
			}
		}
	}
	e.lock.Unlock()
	for asleep != nil {
		w := asleep
		asleep, w.next = w.next, nil // w is its goroutine's again from the token on
		w.parker.Unpark()
	}
}

// fits reports whether a value of that size can be queued now.
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

// pop takes the oldest value queued.
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

// overflow deals with a value that found no room, as the policy says. It
// releases the lock.
func (e *Engine[T]) overflow(v T, size int) error {
	var one [1]T // so that one drop allocates nothing
	drops := one[:0]
	switch e.config.Overflow {
	case engine.DropNewest:
		drops = append(drops, v)
	case engine.DropOldest:
		for !e.fits(size) {
			drops = append(drops, e.pop())
		}
		e.push(v, size)
		e.announce()
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
