package spill

import (
	"context"
	"fmt"
	"runtime"

	"github.com/sluice-go/sluice"
)

// Recv receives the next value, and waits while there is none.
//
// It fails with [sluice.ErrClosed] once the channel is closed and drained; with the
// context's error if it would have to wait under a context that is done; and once
// the channel has failed, when all that came before is received, with that failure,
// which names the file or the codec. After an error nothing was consumed. A read
// under way is not cut short by the context. A nil context panics.
//
// A value that was on disk is a copy, made by the codec.
func (c *Elastic[T]) Recv(ctx context.Context) (T, error) {
	if ctx == nil {
		panic("spill: Recv: nil context")
	}
	// Direct before and after, and a value: all else is another call, the last one, so
	// that nothing has to be kept across a call.
	if c.state.Load()&spilling == 0 {
		v, err := c.head.Recv(ctx)
		if err == nil && c.state.Load()&spilling == 0 {
			return v, nil
		}
		return c.received(v, err)
	}
	return c.recvSpilling(ctx)
}

// received does what is due when head gave v, or failed with err, to a Recv.
func (c *Elastic[T]) received(v T, err error) (T, error) {
	if err != nil {
		return v, c.ended(err)
	}
	c.took()
	return v, nil
}

// recvSpilling is Recv of a channel that was spilling.
func (c *Elastic[T]) recvSpilling(ctx context.Context) (T, error) {
	for c.state.Load()&spilling != 0 {
		v, err := c.TryRecv()
		if err != sluice.ErrEmpty {
			return v, err
		}
	}
	return c.received(c.head.Recv(ctx)) // direct by now
}

// TryRecv receives the next value if there is one. Otherwise it fails with
// [sluice.ErrEmpty], or as Recv does. It may read a block.
func (c *Elastic[T]) TryRecv() (T, error) {
	for {
		state := c.state.Load()
		v, err := c.head.TryRecv()
		switch {
		case err == nil:
			c.took()
			return v, nil
		case err != sluice.ErrEmpty:
			return v, c.ended(err)
		case state&spilling != 0:
			c.fetch()
		case c.state.Load() == state:
			return v, err
		}
	}
}

// RecvBatch waits for a value like Recv, then takes as many as there are, up to
// len(buf), into buf, in order, from disk too. n > 0 implies err == nil; an error is
// as for Recv.
func (c *Elastic[T]) RecvBatch(ctx context.Context, buf []T) (n int, err error) {
	if ctx == nil {
		panic("spill: RecvBatch: nil context")
	}
	if len(buf) == 0 {
		return 0, nil
	}
	spilled := c.state.Load()&spilling != 0
	if spilled {
		if buf[0], err = c.Recv(ctx); err == nil {
			n = 1
		}
	} else {
		n, err = c.head.RecvBatch(ctx, buf)
		spilled = c.state.Load()&spilling != 0
		if n > 0 {
			c.took()
		}
	}
	if err != nil {
		return 0, c.ended(err)
	}
	for n < len(buf) && spilled { // once more when it is direct again
		spilled = c.state.Load()&spilling != 0
		more, err := c.head.RecvBatch(never, buf[n:])
		if err != nil && spilled {
			c.fetch()
		}
		if more > 0 {
			c.took()
		}
		n += more
	}
	return n, nil
}

// never is the context of one who does not wait.
var never = func() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}()

// ended is an error of head as one of the channel.
func (c *Elastic[T]) ended(err error) error {
	if err == sluice.ErrClosed {
		return c.end()
	}
	return err
}

// took does what is due when values have left head.
func (c *Elastic[T]) took() {
	if state := c.state.Load(); state&spilling != 0 {
		c.readAhead(state)
	}
}

// weight is what v counts in head if a user's code says its size. What comes back from
// disk is taken, whatever the codec has made of it: so head cannot tell what is too
// large, and a sender asks before. Of a slice or a string no codec may make a longer
// one (see decodeNext), and a sender saves a fifth of the time.
func (c *Elastic[T]) weight(v T) int { return int(min(int64(c.size(v)), c.config.limit)) }

// isLow reports whether head should be filled from the backlog.
func (c *Elastic[T]) isLow() bool { return int64(c.head.Len()) <= c.low.Load() }

// isFull takes note that head has no room: as many values as it has are many.
func (c *Elastic[T]) isFull() {
	if c.size != nil {
		c.low.Store(c.lowOf(c.head.Len()))
	}
}

// lowOf is how many values are few for a head that is full with n of them.
func (c *Elastic[T]) lowOf(n int) int64 {
	part := float64(min(c.config.limit/2, readAhead)) / float64(c.config.limit)
	return int64(float64(n) * part)
}

// readAhead is called by one who took something out of head while the channel is
// spilling.
func (c *Elastic[T]) readAhead(state uint64) {
	switch {
	case state&pressed != 0:
		c.mu.Lock()
	case !c.isLow():
		return
	case c.head.Len() == 0:
		c.mu.Lock()
	case !c.mu.TryLock():
		return
	}
	c.settle()
	c.mu.Unlock()
}

// fetch is called by one who found head empty while the channel was spilling. If it
// moves nothing, somebody else has added to head, or all that was left is there.
func (c *Elastic[T]) fetch() {
	c.mu.Lock()
	moved := c.settle()
	c.mu.Unlock()
	if !moved {
		runtime.Gosched()
	}
}

// settle moves records to head and lets senders have the room, and makes the
// channel direct if nothing is left. It reports whether something moved. The lock
// is held.
func (c *Elastic[T]) settle() (moved bool) {
	for {
		progress := c.refill()
		for w := c.line.first; w != nil && c.fits(w.record.form); w = c.line.first {
			c.line.pop()
			w.serve(c.append(w.record.form))
			progress = true
		}
		moved = moved || progress
		if c.line.n == 0 || !progress {
			break
		}
	}
	if c.line.n == 0 {
		c.set(0, pressed)
		if c.backlog.records == 0 && c.state.Load()&spilling != 0 {
			c.backlog.release()
			c.set(0, spilling)
			if c.state.Load()&closed != 0 {
				c.head.Close()
			}
		}
	}
	return moved
}

// refill moves records to head while there is room, some at a time. The lock is
// held.
func (c *Elastic[T]) refill() (moved bool) {
	for n := 0; n < refillRecords && c.backlog.records > 0; n++ {
		if err := c.decodeNext(); err != nil {
			c.fail(err)
			return true
		}
		if err := c.place(c.next.value); err == sluice.ErrFull {
			c.isFull()
			break
		} else if err != nil {
			c.fail(err)
			return true
		}
		c.backlog.drop(c.next.record)
		c.next = decoded[T]{}
		moved = true
	}
	return moved
}

// decodeNext makes next the first record of the backlog.
func (c *Elastic[T]) decodeNext() (err error) {
	if c.next.there {
		return nil
	}
	defer func() { // Size is a user's code, and the lock is held
		if p := recover(); p != nil {
			err = fmt.Errorf("spill: ElasticOptions.Size panicked: %v", p)
		}
	}()
	record, err := c.backlog.first()
	if err != nil {
		return err
	}
	value, err := decode(c.config.codec, record)
	if err != nil {
		return err
	}
	if c.size != nil {
		switch size := c.size(value); {
		case size < 0: // it must not make room
			return fmt.Errorf("spill: ElasticOptions.Size returned %d, below 0", size)
		case c.asked == nil && int64(size) > c.config.limit:
			return fmt.Errorf("spill: codec %q: Decode returned %d bytes for what was within the %d that values may take",
				c.config.codec.Name(), size, c.config.limit)
		}
	}
	c.next = decoded[T]{there: true, value: value, record: record}
	return nil
}

// fail ends the channel: what is in head can be received, and then err.
func (c *Elastic[T]) fail(err error) {
	c.failure = err
	c.lost += c.backlog.records
	c.backlog.discard()
	c.next = decoded[T]{}
	c.set(failed|closed, spilling|pressed)
	for w := c.line.pop(); w != nil; w = c.line.pop() {
		w.serve(err)
	}
	c.head.Close()
}
