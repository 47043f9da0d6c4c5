package spill

import (
	"context"
	"errors"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/internal/engine"
)

// Limits and policies of an Elastic.
//
// With a Capacity, DropOldest or MaxAge, the flag exclusive is set for good: each sender takes mu,
// so that the queue only shrinks while a sender has mu. Receivers take values from head
// without it, as always. So under mu,
//
//	head.Len() + backlog.records <= Capacity
//	ErrFull, or a value dropped: at one moment under mu there was no room
//
// DropOldest drops the first value of head, because head is the oldest part of the queue. The
// channel is full when the value is dropped: without a sender, n values are left only if no receive
// took place in between.
//
//	n := head.Len() -> no room -> head removes its first value if it still has n
//
// From the removal until the new value is queued, the state is spilling, so that goroutines that find
// head empty, or that count, wait for mu. docs/design/spill.md has the arguments.

// A memory is the engine of head.
type memory[T any] interface {
	engine.Engine[T]
	// Evict removes the oldest value if at least least values are queued.
	Evict(least int) (old T, ok bool)
}

// errNeedsRecord is not returned to users: the value has to be encoded first.
var errNeedsRecord = errors.New("the value needs a record")

// room returns how many values the limit leaves room for. The caller holds mu.
func (c *Elastic[T]) room() int { return c.config.capacity - c.head.Len() - c.backlog.records }

// refusal returns the error of a channel that accepts no values. The caller holds mu.
func (c *Elastic[T]) refusal() error {
	if c.failure == nil && c.state.Load()&closed != 0 {
		return sluice.ErrClosed
	}
	return c.failure
}

// sendNext sends values of p, from value n on, and returns how many, or 0 if there is no room. Under
// DropOldest it makes room. The caller holds mu.
func (c *Elastic[T]) sendNext(p *recordBatch[T], n int) (sent int, err error) {
	defer c.settle()
	for {
		if err := c.refusal(); err != nil { // move may have found a block that cannot be read
			return 0, err
		}
		queued := c.head.Len()
		if c.senders.Len() == 0 {
			if sent, err = c.place(p, n); sent > 0 || err != nil {
				return sent, err
			}
		}
		switch {
		case c.move() || c.removeOld(&p.losses):
			continue
		case c.config.overflow != sluice.DropOldest:
			return 0, nil
		case len(p.ends) == 0 && (c.config.size != nil || c.backlog.records > 0):
			// Otherwise all values have the same size, and head has room after a removal.
			return 0, errNeedsRecord
		}
		c.set(spilling, 0)
		if old, ok := c.head.Evict(queued); ok {
			c.evicted++
			p.losses.add(&c.config, old, sluice.Overflowed)
		}
	}
}

// overflow does what the policy says with value n of p, for which there is no room, and returns
// how many values need no other attempt. The caller holds mu.
func (c *Elastic[T]) overflow(ctx context.Context, p *recordBatch[T], n int, lazy *lazyContext) (done int, err error) {
	switch {
	case c.config.overflow == sluice.DropNewest:
		c.refused++
		p.losses.add(&c.config, p.values[n], sluice.Overflowed)
		return 1, nil
	case c.config.overflow == sluice.Reject, !engine.MayWait(ctx):
		c.rejected++
		return 0, sluice.ErrFull
	case len(p.ends) == 0:
		return 0, errNeedsRecord
	case lazy.err != nil:
		return 0, lazy.err
	case !lazy.loaded: // user code runs without the lock; then try again
		c.mu.Unlock()
		lazy.load(ctx)
		c.mu.Lock()
		return 0, nil
	}
	if err := c.waitForRoom(ctx, lazy, p, n); err != nil {
		return 0, err
	}
	return 1, nil
}

// place adds values of p to the end of the queue, from value n on: as many as fit into head if the
// backlog is empty, or else one record. It returns 0 if there is no room. No sender waits, and the
// caller holds mu.
func (c *Elastic[T]) place(p *recordBatch[T], n int) (placed int, err error) {
	room := c.room()
	if room <= 0 {
		return 0, nil
	}
	if c.backlog.records == 0 {
		placed, err := c.addToHead(p.values[n : n+min(len(p.values)-n, room)])
		switch {
		case placed > 0:
			return placed, nil
		case err != sluice.ErrFull:
			return 0, err
		}
		c.noteFull()
	}
	if len(p.ends) == 0 {
		return 0, errNeedsRecord
	}
	record := p.record(n)
	if !c.fits(record) {
		return 0, nil
	}
	if err := c.append(record); err != nil {
		return 0, err
	}
	return 1, nil
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
