package spill

import (
	"context"
	"fmt"
	"runtime"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/internal/engine"
	"github.com/sluice-go/sluice/internal/locked"
)

// Recv receives the next value, and waits if the channel is empty. A value that was on disk is
// a copy, made by the codec.
//
// Recv returns [sluice.ErrClosed] once the channel is closed and drained, and the
// context's error if it would have to wait and ctx is done. A channel fails if a block
// cannot be read back or a record cannot be decoded: once everything before that record
// was received, Recv returns the failure, which names the file or the codec. After an
// error no value was consumed. The context does not interrupt a read in progress. Recv
// panics if ctx is nil.
func (c *Elastic[T]) Recv(ctx context.Context) (T, error) {
	if ctx == nil {
		panic("spill: Recv: nil context")
	}
	// Fast path: direct before and after, and a value. Everything else is a tail call,
	// so that nothing has to be kept across a call.
	if c.state.Load()&spilling == 0 {
		v, err := c.head.Recv(ctx)
		if err == nil && c.state.Load()&spilling == 0 {
			return v, nil
		}
		if err != locked.ErrTooOld {
			return c.finishRecv(v, err)
		}
	}
	return c.recvSlow(ctx)
}

// finishRecv completes a Recv for which head returned v and err.
func (c *Elastic[T]) finishRecv(v T, err error) (T, error) {
	switch err {
	case nil:
		c.afterRecv()
		return v, nil
	case sluice.ErrClosed:
		return v, c.finalError()
	}
	// The context is done. head was empty, but if the channel has spilled since the
	// caller looked, there may be records.
	if v, again := c.TryRecv(); again != sluice.ErrEmpty {
		return v, again
	}
	return v, err
}

// recvSlow is Recv when the channel was spilling, or the oldest value was too old.
func (c *Elastic[T]) recvSlow(ctx context.Context) (T, error) {
	for {
		v, err := c.TryRecv()
		if err != sluice.ErrEmpty {
			return v, err
		}
		if c.state.Load()&spilling == 0 {
			if v, err = c.head.Recv(ctx); err != locked.ErrTooOld {
				return c.finishRecv(v, err)
			}
		}
	}
}

// TryRecv receives the next value if there is one. If not, it returns
// [sluice.ErrEmpty], or the same errors as Recv. It may read a block from disk.
func (c *Elastic[T]) TryRecv() (T, error) {
	for {
		state := c.state.Load()
		v, err := c.head.TryRecv()
		switch {
		case err == nil:
			c.afterRecv()
			return v, nil
		case err == locked.ErrTooOld:
			c.dropOld()
		case err != sluice.ErrEmpty:
			return v, c.closedError(err)
		case state&spilling != 0:
			c.refillEmpty()
		case c.state.Load() == state:
			return v, err
		}
	}
}

// RecvBatch waits for a value like Recv. It then receives as many values as there are,
// in memory and on disk, up to len(buf), into buf in order. n > 0 implies err == nil.
// For the errors, see Recv.
func (c *Elastic[T]) RecvBatch(ctx context.Context, buf []T) (n int, err error) {
	notNil(ctx, "RecvBatch")
	if len(buf) == 0 {
		return 0, nil
	}
	if buf[0], err = c.Recv(ctx); err != nil {
		return 0, err
	}
	return 1 + c.recvMore(buf[1:]), nil
}

// TryRecvBatch receives as many values as there are now, in memory and on disk, up to
// len(buf), into buf in order. If the channel is empty, it returns [sluice.ErrEmpty], or the
// same errors as Recv. An empty buf returns 0, nil.
func (c *Elastic[T]) TryRecvBatch(buf []T) (n int, err error) {
	if len(buf) == 0 {
		return 0, nil
	}
	if buf[0], err = c.TryRecv(); err != nil {
		return 0, err
	}
	return 1 + c.recvMore(buf[1:]), nil
}

// recvMore receives the values that are there, up to len(buf), after another was received. It
// refills head while the channel is spilling.
func (c *Elastic[T]) recvMore(buf []T) (n int) {
	for spilled := true; n < len(buf) && spilled; { // once more after the channel has become direct
		spilled = c.state.Load()&spilling != 0
		more, err := c.head.RecvBatch(engine.NoWait{}, buf[n:])
		switch {
		case err == locked.ErrTooOld: // a hook that panics must not take what is in buf
			return n
		case err != nil && spilled:
			c.refillEmpty()
		}
		if more > 0 {
			c.afterRecv()
		}
		n += more
	}
	return n
}

// closedError translates an error of head.
func (c *Elastic[T]) closedError(err error) error {
	if err == sluice.ErrClosed {
		return c.finalError()
	}
	return err
}

// afterRecv is called after values were taken from head.
func (c *Elastic[T]) afterRecv() {
	if state := c.state.Load(); state&spilling != 0 {
		c.maybeRefill(state)
	}
}

// headSize is the Size of head, if the user set one. head must accept whatever comes
// back from disk, so the size is capped at the limit, and senders check values against
// the limit before. Slices and strings need no such check: decodeNext ensures that a
// codec does not return a longer one, which saves senders 20% of their time.
func (c *Elastic[T]) headSize(v T) int { return int(min(int64(c.config.size(v)), c.config.limit)) }

// isLow reports whether head should be refilled from the backlog.
func (c *Elastic[T]) isLow() bool { return int64(c.head.Len()) <= c.low.Load() }

// noteFull recomputes low: head is full with the number of values that it has now.
func (c *Elastic[T]) noteFull() {
	if c.config.size != nil {
		c.low.Store(c.lowFor(c.head.Len()))
	}
}

// lowFor returns the value of low for a head that is full with n values.
func (c *Elastic[T]) lowFor(n int) int64 {
	part := float64(min(c.config.limit/2, readAhead)) / float64(c.config.limit)
	return int64(float64(n) * part)
}

// maybeRefill is called after values were taken from head while the channel was
// spilling. If head is not empty and another goroutine holds the lock, it leaves the
// refill to a later receiver.
func (c *Elastic[T]) maybeRefill(state uint64) {
	switch {
	case state&blocked != 0:
		c.mu.Lock()
	case !c.isLow():
		return
	case c.head.Len() == 0:
		c.mu.Lock()
	case !c.mu.TryLock():
		return
	}
	c.advance()
	c.mu.Unlock()
}

// refillEmpty is called by a receiver that found head empty while the channel was
// spilling. If it moves no record, another goroutine has added values to head, or all
// that are left are there.
func (c *Elastic[T]) refillEmpty() {
	c.mu.Lock()
	moved := c.advance()
	c.mu.Unlock()
	if !moved {
		runtime.Gosched()
	}
}

// advance moves records to head, appends the records of waiting senders that now have
// room, and makes the channel direct if nothing is left. It reports whether it changed
// anything. The caller holds mu.
func (c *Elastic[T]) advance() (moved bool) {
	defer c.settle()
	return c.move()
}

// move is advance, except that settle must follow before the lock is released.
func (c *Elastic[T]) move() (moved bool) {
	for {
		progress := c.refill()
		for w := c.senders.First(); w != nil && c.room() > 0 && c.fits(w.Value.record.Payload); w = c.senders.First() {
			c.senders.finish(w, c.append(w.Value.record.Payload))
			progress = true
		}
		if w := c.senders.First(); w != nil && w.Value.removeOld() {
			progress = true
		}
		moved = moved || progress
		if c.senders.Len() == 0 || !progress {
			return moved
		}
	}
}

// settle makes the channel direct if nothing is left that is not in head. The caller holds mu.
func (c *Elastic[T]) settle() {
	c.setAlarm()
	if c.senders.Len() > 0 {
		return
	}
	c.set(0, blocked)
	if c.backlog.records == 0 && c.state.Load()&spilling != 0 {
		c.backlog.release()
		if c.state.Load()&closed != 0 {
			c.seal(0, spilling)
		} else {
			c.set(0, spilling)
		}
	}
}

// refill moves records to head while head has room, up to refillRecords. The caller
// holds mu.
func (c *Elastic[T]) refill() (moved bool) {
	for n := 0; n < refillRecords && c.backlog.records > 0; n++ {
		if err := c.decodeNext(); err != nil {
			c.fail(err)
			return true
		}
		if err := c.restore(); err == sluice.ErrFull {
			c.noteFull()
			break
		} else if err != nil {
			c.fail(err)
			return true
		}
		c.backlog.pop(c.next.record)
		c.moved++
		c.next = decoded[T]{}
		moved = true
	}
	return moved
}

// decodeNext decodes the first record of the backlog into next.
func (c *Elastic[T]) decodeNext() (err error) {
	if c.next.valid {
		return nil
	}
	defer sizePanicked(&err)
	record, err := c.backlog.peek()
	if err != nil {
		return err
	}
	value, err := decode(c.config.codec, record[c.config.stamp:])
	if err != nil {
		return err
	}
	if c.config.size != nil {
		switch size := c.config.size(value); {
		case size < 0: // it would raise the limit of head
			return fmt.Errorf("spill: ElasticOptions.Size returned %d, want at least 0", size)
		case c.userSize == nil && int64(size) > c.config.limit:
			return fmt.Errorf("spill: codec %q: Decode returned %d bytes for a value that was sent with at most %d",
				c.config.codec.Name(), size, c.config.limit)
		}
	}
	c.next = decoded[T]{valid: true, value: [1]T{value}, record: record}
	return nil
}

// fail ends the channel: the values in head can still be received, followed by err.
func (c *Elastic[T]) fail(err error) {
	c.failure = err
	c.lost += c.backlog.records
	c.backlog.discard()
	c.next = decoded[T]{}
	c.set(failed|closed|spilling, blocked)
	c.senders.finishAll(err)
	c.seal(0, spilling)
}
