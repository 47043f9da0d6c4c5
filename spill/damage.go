package spill

import (
	"cmp"
	"fmt"
	"strings"
)

// A DamagePolicy selects what a Durable does about stored bytes that are damaged or
// missing.
type DamagePolicy uint8

const (
	// RefuseDamage makes OpenDurable return an error if a file is damaged, and leave all
	// files as they are. A damaged record that is found later makes each receive return a
	// [RecordError] until its Drop removes it.
	RefuseDamage DamagePolicy = iota

	// SetDamageAside makes OpenDurable repair a damaged queue: it keeps all records that can be
	// read, renames damaged files, and opens the queue. A damaged record that is found later is
	// deleted, and receives continue with the next one. Its bytes are not kept: RefuseDamage
	// returns them, as the Raw of a RecordError.
	//
	// If a file cannot be written, synced or read while the queue is open, or was changed or
	// removed, the queue is closed and opened again in the same way, and continues with what is
	// there. Calls wait meanwhile. A Send whose record is not there is written once more. Deliveries
	// in flight are delivered again, and settling them returns [ErrReopened]. If the queue cannot
	// be opened, the channel has failed. A full disk is not such a failure: see [Durable.Send].
	//
	// [Durable.Repaired], Disk.Warning of Stats and the Log of the options report what was lost.
	SetDamageAside
)

// A Repair is what a Durable with the policy SetDamageAside has lost since it was opened.
type Repair struct {
	// Err is the damage that was found first. It names the file. It is nil if there was none.
	Err error
	// Lost counts the records that were stored, not acknowledged, and cannot be read. How many
	// there were is not always known: it may be 0 although Err is not nil. If Returned is
	// true, it may include records that were acknowledged.
	Lost int
	// First and Last are the sequence numbers of the first and the last lost record, or 0.
	// The records of a queue are numbered from 1 in the order of the sends: see [Delivery.Seq].
	First, Last uint64
	// Files are the damaged files, under the names that they were given. Nothing reads them
	// any more.
	Files []string
	// Returned means that acknowledgements were lost, too: values may be delivered that were
	// acknowledged before.
	Returned bool
	// Reopened counts how often the queue was opened again because its files had failed.
	Reopened int

	atMost bool  // Lost is a limit
	cause  error // of the last time that the queue was opened again
}

// String describes the repair in one line.
func (r Repair) String() string {
	if r.Err == nil {
		return "no damage"
	}
	s := "no record is known to be lost"
	if r.Lost > 0 {
		what, lost, numbers := "records", "were lost", fmt.Sprintf("the first has number %d, the last %d", r.First, r.Last)
		if r.Lost == 1 {
			what, lost = "record", "was lost"
		}
		if r.First == r.Last {
			numbers = fmt.Sprintf("number %d", r.First)
		}
		if r.Reopened == 0 {
			what = "damaged " + what
		}
		if r.Returned {
			lost += ", or had been acknowledged"
		}
		s = fmt.Sprintf("%d %s %s (%s)", r.Lost, what, lost, numbers)
		if r.atMost {
			s = "up to " + s
		}
	}
	if r.Reopened > 0 {
		times := "once"
		if r.Reopened > 1 {
			times = fmt.Sprintf("%d times", r.Reopened)
		}
		s = fmt.Sprintf("opened again %s, %s", times, s)
	}
	if len(r.Files) > 0 {
		s += fmt.Sprintf(", set aside: %q", r.Files)
	}
	if r.Returned {
		s += ", acknowledged values may come again"
	}
	return s + ": " + strings.ReplaceAll(r.Err.Error(), "\n", "; ")
}

// add adds the loss of n records.
func (r *Repair) add(err error, n int, first, last uint64) {
	if r.Err == nil {
		r.Err = err
	}
	if n == 0 {
		return
	}
	if r.Lost == 0 {
		r.First, r.Last = first, last
	}
	r.Lost += n
	r.First, r.Last = min(r.First, first), max(r.Last, last)
}

// reopened adds what was done when a queue with the failure cause was opened again. lost is how
// many records it has lost at least, the first and the last of which have these numbers if repair
// does not know better.
func (r *Repair) reopened(cause error, repair Repair, lost int, first, last uint64) {
	r.Reopened++
	r.cause = cause
	if repair.Lost > 0 {
		first, last = repair.First, repair.Last
	}
	r.add(cause, max(lost, repair.Lost), first, last)
	r.Files = append(r.Files, repair.Files...)
	r.Returned = r.Returned || repair.Returned
}

// logRepair writes a warning about r, after what has happened to the queue.
func (c *Durable[T]) logRepair(what string, r Repair) {
	c.config.log.Warn("spill: "+what, "channel", c.config.name, "lost", r.Lost, "first", r.First, "last", r.Last,
		"files", r.Files, "returned", r.Returned, "error", cmp.Or(r.cause, r.Err))
}

// Repaired returns what was lost to damage since OpenDurable was called. Without the policy
// SetDamageAside, it is the zero Repair.
func (c *Durable[T]) Repaired() Repair {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.repair
}

// skip deletes a damaged record that the caller has taken.
func (c *Durable[T]) skip(t taken) error {
	if err := c.ackOrReturn(c.delivery(t)); err != nil {
		return err
	}
	c.config.log.Warn("spill: a damaged record was deleted", "channel", c.config.name, "record", t.record.Seq, "error", t.record.Damaged)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.repair.add(t.record.Damaged, 1, t.record.Seq, t.record.Seq)
	return nil
}
