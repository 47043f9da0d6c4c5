package spill

import (
	"context"
	"errors"
	"time"
	"weak"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/internal/age"
	"github.com/sluice-go/sluice/internal/engine"
	"github.com/sluice-go/sluice/internal/park"
	"github.com/sluice-go/sluice/spill/internal/logstore"
)

// How a Durable drops values that are too old. docs/design/spill.md has the arguments.
//
// A record has the time at which its commit was taken. Within a process times ascend with the
// sequence numbers: see clock. Records of earlier processes may have any times. Only the first record
// of the queue is looked at: by receives (expire), by commits that add records (admit), and by a
// timer for senders that wait. Invariant:
//
//	a sender waits, and a record is queued: the timer is set for the first record, or it is
//	    too old and promised to a sender that is awake or a member of the pending commit; if
//	    it cannot be read, the timer is set for the next attempt

// errTooOld means that the first records of the queue are too old, and must be deleted first.
var errTooOld = errors.New("spill: the oldest values are too old")

// expireStep and expireBytes are how many records a receive deletes in one write.
const (
	expireStep  = 256
	expireBytes = 1 << 20
)

// A clock returns the time in nanoseconds, which ascends: the monotonic clock, added to the time of
// the system when the queue was opened. So steps of the system's clock do not matter.
type clock struct {
	start  time.Time // with a monotonic reading
	opened int64     // the time of the system at start
	known  uint64    // records with lower numbers were stored by earlier processes
}

func newClock(known uint64) clock {
	now := time.Now()
	return clock{start: now, opened: now.UnixNano(), known: known}
}

// now returns the time for the ages of records.
func (c *Durable[T]) now() int64 { return c.clock.opened + int64(time.Since(c.clock.start)) }

// storedAt returns when a record was stored, as far as its age is concerned.
func (k *clock) storedAt(r logstore.Record) int64 {
	if r.Time == 0 || r.Seq < k.known && r.Time > k.opened {
		return k.opened
	}
	return r.Time
}

// An expiry is the timer for senders that wait, and the time of the first requeued record.
type expiry struct {
	timer *time.Timer
	armed bool
	until int64 // when the timer expires, if armed

	seq uint64
	at  int64 // when seq was stored
}

// storedAt returns when the record at position i of a part of the queue was stored; nil means
// requeued. It may return false for i > 0. The caller holds mu.
func (c *Durable[T]) storedAt(part *reader, i int) (at int64, ok bool, err error) {
	switch {
	case i >= c.queued() || part == nil && i > 0:
		return 0, false, nil
	case part == nil:
		e := &c.expiry
		if e.seq != c.requeued[0] {
			record, err := c.reread(c.requeued[0])
			if err != nil {
				return 0, false, err
			}
			e.seq, e.at = record.Seq, c.clock.storedAt(record)
		}
		return e.at, true, nil
	}
	if err := c.fill(part); err != nil || i >= part.window.Len() {
		return 0, false, err
	}
	return c.clock.storedAt(part.window.At(i)), true, nil
}

// isOld reports whether the record at position i of a part of the queue is too old. The caller
// holds mu.
func (c *Durable[T]) isOld(part *reader, i int) (bool, error) {
	if c.config.maxAge == 0 || c.reopening != nil {
		return false, nil
	}
	at, ok, err := c.storedAt(part, i)
	return ok && c.now()-at > int64(c.config.maxAge), err
}

// expire deletes the first records of the queue that are too old, and calls the hook. The caller
// holds mu; expire releases it.
func (c *Durable[T]) expire() error {
	if c.stopped {
		c.mu.Unlock() // the caller looks again
		return nil
	}
	var old []logstore.Record
	for bytes := int64(0); len(old) < expireStep && bytes < expireBytes; {
		if tooOld, err := c.isOld(c.oldest(), 0); err != nil || !tooOld {
			break
		}
		record, err := c.pull(c.oldest())
		if err != nil {
			break
		}
		bytes += record.Memory()
		old = append(old, record)
	}
	if len(old) == 0 {
		c.mu.Unlock() // another receiver was faster; reread has forgotten the age after an error
		return nil
	}
	b, leads := c.join()
	epoch := c.epoch
	for i, record := range old {
		b.delete(record.Seq, diskCost(record))
		b.old = append(b.old, record.Seq)
		if c.config.undelivered == nil && record.Damaged == nil {
			old[i].Payload = nil
		}
	}
	c.dropping += len(old)
	c.serveWaiters() // the other receivers may find values behind them
	c.mu.Unlock()
	err := c.await(context.Background(), new(lazyContext), b, leads, 0, grant{})
	if err == nil && b.epoch != epoch || err == ErrReopened {
		return nil // they are queued again
	}
	if err != nil {
		return err // publish has queued them again
	}
	engine.CallEach(func(r logstore.Record) { c.passRecord(r, sluice.TooOld) }, old)
	return nil
}

// watchAge wakes waiting senders if there are records that are too old, or sets the timer
// for the first one. The caller holds mu.
func (c *Durable[T]) watchAge() {
	if c.config.maxAge == 0 || c.config.overflow == sluice.DropOldest {
		return
	}
	e := &c.expiry
	if c.senders.Len() == 0 {
		if e.armed {
			e.armed = false
			e.timer.Stop()
		}
		return
	}
	if c.reopening != nil {
		return // publish calls it
	}
	c.retry(func(*waiter) bool { return c.spare(1, 0) > 0 })
	at, ok, err := c.storedAt(c.oldest(), 0)
	if c.senders.Len() == 0 || err == nil && !ok {
		return
	}
	if err != nil { // try again soon
		at = c.now() - int64(c.config.maxAge) + int64(min(c.config.maxAge, time.Second))
	}
	// A value of exactly that age is not too old.
	wait := time.Duration(at-c.now()) + c.config.maxAge + 1
	if wait <= 0 && c.promised+c.retrying == 0 {
		wait = time.Second // retry could not read it
	}
	if wait <= 0 || e.armed && e.until == at {
		return // it is promised; or the timer is set
	}
	e.armed, e.until = true, at
	if e.timer != nil {
		e.timer.Reset(wait)
		return
	}
	ref := weak.Make(c) // the timer does not keep the channel
	e.timer = time.AfterFunc(wait, func() {
		if c := ref.Value(); c != nil {
			c.roomFires()
		}
	})
}

// roomFires runs when the timer has expired.
func (c *Durable[T]) roomFires() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.expiry.armed = false
	if !c.stopped {
		c.serveWaiters()
	}
}

// oldestAge returns the age of the oldest queued record. The caller holds mu.
func (c *Durable[T]) oldestAge() age.Age {
	part := c.oldest()
	if c.config.maxAge > 0 && part != nil && part.window.Len() > 0 {
		return age.Age{Estimate: max(0, time.Duration(c.now()-c.clock.storedAt(part.window.First())))}
	}
	return c.ages.Inspect(park.Now(), c.oldestSeq(), c.tail, 1)
}
