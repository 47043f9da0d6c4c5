package spill

import (
	"encoding/binary"
	"time"
	"weak"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/internal/park"
)

// MaxAge of an Elastic. docs/design/spill.md has the arguments.
//
// Then head is a locked.Dated: receives fail while its oldest value is too old, also those that wait.
// A value gets its time when it is queued, under mu, so times ascend from the head of the queue to its
// end. Its record has the time, with which the value returns to head. So only the first value of head
// is looked at. If it is too old, it is removed, under mu:
//
//	by a receive, which then begins again
//	by a send, if it needs the room, and twice for each value that it has sent
//	by advance, for the sender that waits, which gives it to the hook; the timer calls advance
//
// Each of them calls advance before it releases the lock, so for wake-ups a removal is a receive.
//
//	a receiver waits in head: head is empty; a record that comes too old from the backlog ends its wait
//	a sender waits, and head is not empty: the timer is set, and not for later than the moment at
//	which the first value becomes too old

// restore adds the first record of the backlog, decoded, to head.
func (c *Elastic[T]) restore() (err error) {
	if c.aged == nil {
		_, err = c.addToHead(c.next.value[:])
		return err
	}
	defer sizePanicked(&err)
	return c.aged.SendAt(c.next.value[0], time.Duration(binary.LittleEndian.Uint64(c.next.record)))
}

// removeOld removes the oldest value if it is too old. The caller holds mu, and then calls advance.
func (c *Elastic[T]) removeOld(into *losses[T]) (ok bool) {
	if c.aged == nil {
		return false
	}
	v, ok := c.aged.RemoveOld()
	if ok {
		c.tooOld++
		into.add(&c.config, v, sluice.TooOld)
	}
	return ok
}

// expire removes up to n values that are too old, as removeOld does, and fewer once it has read
// expireBytes: the hook gets them only when the lock is released.
func (c *Elastic[T]) expire(n int, into *losses[T]) {
	least := c.backlog.bytes - expireBytes
	for more := c.aged != nil; more && n > 0 && c.backlog.bytes > least; n-- {
		if c.isLow() { // the next one may be on disk
			c.advance()
		}
		more = c.removeOld(into)
	}
}

// dropOld removes values that are too old, and gives them to the hook. The caller received
// nothing.
func (c *Elastic[T]) dropOld() {
	var old losses[T]
	c.mu.Lock()
	c.expire(expireStep, &old)
	c.advance()
	c.mu.Unlock()
	old.report(&c.config)
}

// setAlarm sets the timer if senders wait, and stops it otherwise. The caller holds mu, and refill
// has moved what it can: if head is empty, receivers have emptied it, and call advance.
func (c *Elastic[T]) setAlarm() {
	if c.senders.Len() == 0 {
		if c.alarmed {
			c.alarmed = !c.alarm.Stop()
		}
		return
	}
	if c.aged == nil || c.alarmed {
		return
	}
	at, ok := c.aged.Oldest()
	if !ok {
		return
	}
	wait := c.config.maxAge - (park.Now() - at)
	wait = max(wait, wait+1) // a value of exactly that age is not too old; the sum may be too large
	ref := weak.Make(c)      // the timer does not keep the channel
	c.alarmed = true
	c.alarm = time.AfterFunc(wait, func() {
		if c := ref.Value(); c != nil {
			c.mu.Lock()
			c.alarmed = false
			c.advance()
			c.mu.Unlock()
		}
	})
}
