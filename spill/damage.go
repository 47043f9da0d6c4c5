package spill

import (
	"fmt"
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
	// deleted, and receives continue with the next one. [Durable.Repaired] and the Warning of
	// Stats report what was lost.
	SetDamageAside
)

// A Repair is what a Durable with the policy SetDamageAside has lost since it was opened.
type Repair struct {
	// Err is the damage that was found first. It names the file. It is nil if there was none.
	Err error
	// Lost counts the records that were stored and cannot be read. How many there were is
	// not always known: it may be 0 although Err is not nil.
	Lost int
	// First and Last are the sequence numbers of the first and the last lost record, or 0.
	// The records of a queue are numbered from 1 in the order of the sends.
	First, Last uint64
	// Files are the damaged files, under the names that they were given. Nothing reads them
	// any more.
	Files []string
	// Returned means that acknowledgements were lost, too: values may be delivered that were
	// acknowledged before.
	Returned bool
}

// String describes the repair in one line.
func (r Repair) String() string {
	if r.Err == nil {
		return "no damage"
	}
	s := fmt.Sprintf("%d damaged records were lost", r.Lost)
	if r.Lost > 0 {
		s += fmt.Sprintf(" (numbers %d to %d)", r.First, r.Last)
	}
	if len(r.Files) > 0 {
		s += fmt.Sprintf(", set aside: %q", r.Files)
	}
	return s + ": " + r.Err.Error()
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

// Repaired returns what was lost to damage since OpenDurable was called. Without the policy
// SetDamageAside, it is the zero Repair.
func (c *Durable[T]) Repaired() Repair {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.repair
}

// skip deletes a damaged record that the caller has taken.
func (c *Durable[T]) skip(record storedRecord) error {
	d := &Delivery[T]{from: c, seq: record.seq, cost: record.cost()}
	if err := d.Ack(); err != nil {
		_ = d.Nack()
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.repair.add(record.damaged, 1, record.seq, record.seq)
	return nil
}
