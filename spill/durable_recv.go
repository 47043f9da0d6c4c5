package spill

import (
	"cmp"
	"container/heap"
	"context"
	"errors"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/internal/engine"
	"github.com/sluice-go/sluice/spill/internal/logstore"
)

// Recv receives the next value, and waits if the channel is empty. Values that were given back
// by Nack come first, then stored values in order; with [DurableOptions].Fresh, fresh values come
// before both. The caller owns the delivery, and settles it with Ack or Nack. There is no time
// limit; no other receiver gets the value meanwhile.
//
// Recv returns [sluice.ErrClosed] once the channel is closed and drained, or shut down;
// the context's error if it would have to wait and ctx is done; a [RecordError] if the
// record is damaged or the codec cannot decode it; or an error that names the file that
// could not be read. After an error no value was consumed. With the policy
// [SetDamageAside] it skips damaged records; their deletion waits for a write, like Ack.
// Recv panics if ctx is nil.
func (c *Durable[T]) Recv(ctx context.Context) (*Delivery[T], error) {
	notNil(ctx, "Recv")
	return c.recv(ctx, true)
}

// TryRecv receives the next value if there is one. If not, it returns
// [sluice.ErrEmpty], or the same errors as Recv.
func (c *Durable[T]) TryRecv() (*Delivery[T], error) {
	return c.recv(engine.NoWait{}, true)
}

// RecvBatch waits for a value like Recv. It then receives as many values as there are,
// up to len(buf), into buf in order. n > 0 implies err == nil. For the errors, see Recv.
func (c *Durable[T]) RecvBatch(ctx context.Context, buf []*Delivery[T]) (n int, err error) {
	notNil(ctx, "RecvBatch")
	return c.recvBatch(ctx, buf)
}

// TryRecvBatch receives as many values as there are now, up to len(buf), into buf in
// order. If the channel is empty, it returns [sluice.ErrEmpty], or the same errors as Recv. An
// empty buf returns 0, nil.
func (c *Durable[T]) TryRecvBatch(buf []*Delivery[T]) (n int, err error) {
	return c.recvBatch(engine.NoWait{}, buf)
}

// recvBatch is RecvBatch, or TryRecvBatch under engine.NoWait.
func (c *Durable[T]) recvBatch(ctx context.Context, buf []*Delivery[T]) (n int, err error) {
	if len(buf) == 0 {
		return 0, nil
	}
	if buf[0], err = c.recv(ctx, true); err != nil {
		return 0, err
	}
	for n = 1; n < len(buf); n++ {
		d, err := c.recv(engine.NoWait{}, false)
		if err != nil {
			break
		}
		buf[n] = d
	}
	return n, nil
}

// A taken is a record that a receiver has taken from the queue.
type taken struct {
	record   logstore.Record
	attempts int
	epoch    uint64
}

// recv is Recv, or TryRecv under engine.NoWait. Unless it expires values, those that are too old are
// as no values at all: the caller has deliveries, which a hook that panics would lose.
func (c *Durable[T]) recv(ctx context.Context, expires bool) (*Delivery[T], error) {
	var lazy lazyContext
	reopened := false
	for {
		c.mu.Lock()
		t, err := c.receive(ctx, &lazy)
		if err == errTooOld && !expires {
			c.serveWaiters() // the next one deletes them, or receives what is behind them
			c.mu.Unlock()
			return nil, sluice.ErrEmpty
		}
		if err == errTooOld {
			if err = c.expire(); err != nil { // releases the lock
				return nil, err
			}
			continue
		}
		c.mu.Unlock()
		if err != nil {
			damage, ok := err.(*readError)
			if ok && !reopened {
				reopened = true // once for each call: it may not help
				c.reopenAfter(damage)
				continue
			}
			return nil, unmarked(err)
		}
		switch {
		case t.record.Damaged != nil && c.config.onDamage == SetDamageAside:
			if err := c.skip(t); err != nil && !errors.Is(err, ErrReopened) {
				return nil, err
			}
			continue
		case t.record.Seq != 0:
			return c.deliver(t)
		}
		if !lazy.loaded { // user code runs without the lock; then try again
			lazy.load(ctx)
			continue
		}
		return nil, engine.ContextError(ctx) // the context ended the wait; Err is user code
	}
}

// receive takes the next record, and waits for one. If it returns neither a record nor
// an error, the caller reads the context and, unless it ended the wait, calls again. The
// caller holds mu.
func (c *Durable[T]) receive(ctx context.Context, lazy *lazyContext) (t taken, err error) {
	for c.reopening != nil && !c.stopped {
		if engine.MayWait(ctx) && !lazy.loaded || !c.awaitReopening(lazy) {
			return t, nil
		}
	}
	switch {
	case c.failure != nil:
		return t, c.failure
	case c.stopped:
		return t, sluice.ErrClosed
	}
	record, err := c.take()
	c.postReady() // records may be left, for other goroutines that wait for Ready
	if err != nil {
		return t, err
	}
	if record.Seq != 0 {
		return taken{record, c.attempts[record.Seq] + 1, c.epoch}, nil
	}
	// The last records may be in the course of being replaced, in a write that may fail: then the
	// queue is not empty.
	brief, until := c.evicting > 0 && (lazy.err != nil || !engine.MayWait(ctx)), lazy
	switch {
	case c.drained():
		return t, sluice.ErrClosed
	case brief:
		until = new(lazyContext)
	case !engine.MayWait(ctx):
		return t, sluice.ErrEmpty
	case lazy.err != nil:
		return t, lazy.err
	case !lazy.loaded:
		return t, nil
	}
	w := c.receivers.Get()
	w.Value.brief = brief
	c.receivers.push(w, false)
	switch served, got := c.receivers.await(&c.mu, w, until), &w.Value; {
	case !served:
		return t, nil
	case got.err == sluice.ErrEmpty && lazy.err != nil:
		return t, lazy.err
	case got.err != nil:
		return t, got.err
	default:
		return taken{got.record, c.attempts[got.record.Seq] + 1, got.epoch}, nil
	}
}

// awaitReopening waits until the store has been opened again, or could not be. It returns false
// if the context is done before. The caller holds mu, which is released during the wait.
func (c *Durable[T]) awaitReopening(lazy *lazyContext) bool {
	done := c.reopening
	c.mu.Unlock()
	defer c.mu.Lock()
	select {
	case <-done:
		return true
	case <-lazy.done:
		return false
	}
}

// take removes the next record from the queue, for a receiver. Its number is 0 if the
// queue is empty, and the error is errTooOld if the caller must first delete records that
// are too old. The caller holds mu.
func (c *Durable[T]) take() (record logstore.Record, err error) {
	part := c.next()
	// What is fresh may be old, too, if its write took long.
	old, err := c.isOld(part, 0)
	if old { // a damaged record seems to be older than it is, and the oldest one is dropped first
		old, err = c.isOld(c.oldest(), 0)
	}
	if old || err != nil {
		return record, cmp.Or(err, errTooOld)
	}
	record, err = c.pull(part)
	if err != nil || record.Seq == 0 {
		return record, err
	}
	c.received++
	c.flight.add(one(diskCost(record)))
	return record, nil
}

// requeue returns a record to the queue that was delivered for the given time. The caller
// holds mu.
func (c *Durable[T]) requeue(seq uint64, cost int64, attempt int) {
	heap.Push(&c.requeued, seq)
	c.sent++ // again, so that Sent-Received remains the length
	c.flight.sub(one(cost))
	if c.attempts == nil {
		c.attempts = map[uint64]int{}
	}
	c.attempts[seq] = attempt
	c.serveWaiters()
}
