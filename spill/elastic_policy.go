package spill

import (
	"context"
	"errors"
	"fmt"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/internal/engine"
)

// Limits and policies of an Elastic.
//
// With a Capacity, or with DropOldest, the flag locked is set for good: each sender takes mu,
// so that the queue only shrinks while a sender has mu. Receivers take values from head
// without it, as always. So under mu,
//
//	head.Len() + backlog.records <= Capacity
//	ErrFull, or a value dropped: at one moment under mu there was no room
//
// DropOldest drops the first value of head, because head is the oldest part of the queue. The
// channel is full when the value is dropped, whatever receivers do meanwhile:
//
//	n := head.Len() -> no room -> head removes its first value if it still has n
//
// Without a sender, n values are left only if no receive took place in between. If one did, there
// may be room, and the sender tries again. From the removal until the new value is queued,
// the state is spilling, so that goroutines that find head empty, or that count, wait for mu.

// An evictor is the engine of head.
type evictor[T any] interface {
	// Evict removes the oldest value if at least least values are queued.
	Evict(least int) (old T, ok bool)
}

// errNeedsRecord is not returned to users: the value has to be encoded first.
var errNeedsRecord = errors.New("the value needs a record")

// isLocked reports whether senders always take mu.
func (c *Elastic[T]) isLocked() bool { return c.state.Load()&locked != 0 }

// room returns how many values the limit leaves room for. The caller holds mu.
func (c *Elastic[T]) room() int {
	if c.config.capacity == sluice.Unlimited {
		return c.config.capacity
	}
	return c.config.capacity - c.head.Len() - c.backlog.records
}

// refusal returns the error of a channel that accepts no values. The caller holds mu.
func (c *Elastic[T]) refusal() error {
	switch state := c.state.Load(); {
	case state&failed != 0:
		return c.failure
	case state&closed != 0:
		return sluice.ErrClosed
	}
	return nil
}

// sendLocked sends a prefix of vs to a channel that is locked, without encoding it. n is 0 if
// it returns an error. If the error is errNeedsRecord, the caller encodes the first values, and
// tries again with sendRecords.
func (c *Elastic[T]) sendLocked(ctx context.Context, vs []T, method string) (n int, err error) {
	if vs, err = c.withinLimit(vs, method); err != nil {
		return 0, err
	}
	var old T
	dropped := false
	c.mu.Lock()
	err = c.refusal()
	direct, room := c.state.Load()&spilling == 0, c.room()
	switch {
	case err != nil:
	case room > 0 && direct:
		n, err = c.addRun(vs[:min(len(vs), room)])
		switch {
		case n > 0:
			err = nil
		case err == sluice.ErrFull:
			c.noteFull()
			err = errNeedsRecord
		}
	case room > 0:
		err = errNeedsRecord
	case c.config.overflow == sluice.Reject, c.config.overflow == sluice.Block && !engine.MayWait(ctx):
		err = sluice.ErrFull
	case c.config.overflow == sluice.DropNewest:
		c.refused++
		n, old, dropped = 1, vs[0], true
	case c.config.overflow == sluice.DropOldest && c.size == nil && direct:
		n = 1
		old, dropped = c.replaceInHead(vs[0])
	default:
		err = errNeedsRecord
	}
	c.mu.Unlock()
	if dropped {
		c.config.giveAll(sluice.Overflowed, old)
	}
	return n, err
}

// withinLimit returns the first values of vs that are not too large, or an error if the first one
// is. It calls Size without the lock.
func (c *Elastic[T]) withinLimit(vs []T, method string) ([]T, error) {
	if c.size == nil {
		return vs, nil
	}
	vs = vs[:min(len(vs), runLength)]
	for i, v := range vs {
		switch size := c.size(v); {
		case size < 0:
			panic(negativeSize(size, method))
		case int64(size) <= c.config.limit:
		case i == 0:
			return nil, sluice.ErrTooLarge
		default:
			return vs[:i], nil
		}
	}
	return vs, nil
}

// addRun is addToHead for several values. It returns the number of those that it added.
func (c *Elastic[T]) addRun(vs []T) (n int, err error) {
	if len(vs) == 1 {
		if err = c.addToHead(vs[0]); err == nil {
			n = 1
		}
		return n, err
	}
	if c.size != nil {
		defer func() {
			if p := recover(); p != nil {
				err = fmt.Errorf("spill: ElasticOptions.Size panicked: %v", p)
			}
		}()
	}
	return c.head.SendBatch(engine.NoWait{}, vs)
}

// replaceInHead adds v to head, and removes the oldest value if the channel is full. All values
// have the same size, and the backlog is empty, so head has room for v after each removal.
// The caller holds mu.
func (c *Elastic[T]) replaceInHead(v T) (old T, dropped bool) {
	c.set(spilling, 0)
	defer c.set(0, spilling)
	for {
		n := c.head.Len()
		if n < c.config.capacity && c.head.TrySend(v) == nil {
			return old, dropped
		}
		if first, ok := c.evictor.Evict(n); ok {
			c.evicted++
			old, dropped = first, true
		}
	}
}

// replaceOldest sends value n of p, and removes the oldest values until there is room for it. The
// caller holds mu.
func (c *Elastic[T]) replaceOldest(p *recordBatch[T], n int) error {
	c.set(spilling, 0)
	defer c.settle()
	for {
		queued := c.head.Len()
		if placed, err := c.place(p.values[n], p.record(n)); placed {
			return err
		}
		moved := c.refill()
		if err := c.refusal(); err != nil { // refill could not read a block
			return err
		}
		if moved {
			continue
		}
		if old, ok := c.evictor.Evict(queued); ok {
			c.evicted++
			c.drop(p, old)
		}
	}
}

// place adds a value to the end of the queue, to head if the backlog is empty, or reports
// that there is no room. No sender waits, and the caller holds mu.
func (c *Elastic[T]) place(v T, record []byte) (placed bool, err error) {
	if c.room() <= 0 {
		return false, nil
	}
	if c.backlog.records == 0 {
		if err := c.addToHead(v); err != sluice.ErrFull {
			return true, err
		}
		c.noteFull()
	}
	if !c.fits(record) {
		return false, nil
	}
	return true, c.append(record)
}

// drop keeps v for the hook, which runs when the lock is released.
func (c *Elastic[T]) drop(p *recordBatch[T], v T) {
	if c.config.undelivered != nil {
		p.dropped = append(p.dropped, v)
	}
}

// Discard closes the channel, removes the values that are queued, in memory and on disk, and
// returns their number. OnUndelivered of the options gets each of them, in the order in which they
// would have been received, in the goroutine that called Discard. A goroutine that receives at the
// same time may get some of them.
//
// Discard receives the values: they count as received in Stats, and are read from disk. If a block
// cannot be read back, Discard ends there, and Recv returns the failure. If OnUndelivered panics, it
// gets the other values all the same, and then the first panic continues. Discard is idempotent.
func (c *Elastic[T]) Discard() (n int) {
	c.Close()
	engine.Repeat(func() (more bool) {
		v, err := c.TryRecv()
		if err != nil {
			return false
		}
		n++
		c.config.giveAll(sluice.Discarded, v)
		return true
	})
	return n
}
