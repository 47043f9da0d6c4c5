package spill

import (
	"context"
	"errors"
	"iter"

	"github.com/sluice-go/sluice"
)

// ErrSettled: the delivery was acknowledged, or given back, before.
var ErrSettled = errors.New("spill: the delivery was settled before")

// errGap cannot be: numbers that were stored and not removed are missing.
var errGap = errors.New("spill: records are missing in the file")

// A Delivery is a value on loan: it is stored until Ack, and comes back after Nack,
// and when the queue is opened again without either.
type Delivery[T any] struct {
	// Value is a copy of what was sent, made by the codec.
	Value T
	// Attempt is how often the value was delivered since the queue was opened, with
	// this one; from 1.
	Attempt int

	from    *Durable[T]
	number  uint64
	cost    int64 // bytes of the disk limit
	settled bool  // guarded by from.mu
}

// Ack says that the value is done, and returns when it is removed on disk for good:
// after nil it never comes back. It shares its write with senders and other
// acknowledgements; for many at once see [Durable.Ack].
//
// It fails with [ErrSettled] if the delivery was settled before, with
// [sluice.ErrClosed] after Shutdown, or with an error that names the file: then the
// delivery is as before, and Ack can be tried again.
func (d *Delivery[T]) Ack() error { return d.from.ack(d) }

// Nack gives the value back: it is delivered again, before all that was stored after
// it. Nothing is written; when its turn comes it is read again from the file. It fails
// with [ErrSettled] or [sluice.ErrClosed] like Ack.
//
// Receivers that got ErrClosed from a drained channel have to ask again for what is
// given back after that.
func (d *Delivery[T]) Nack() error {
	c := d.from
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.settleable(d); err != nil {
		return err
	}
	d.settled = true
	c.back(d.number)
	return nil
}

// settleable is why d cannot be settled, or nil. The lock is held.
func (c *Durable[T]) settleable(d *Delivery[T]) error {
	switch {
	case d.settled:
		return ErrSettled
	case c.failure != nil:
		return c.failure
	case c.stopped:
		return sluice.ErrClosed
	default:
		return nil
	}
}

// Ack acknowledges deliveries of this channel, all in one write: all of them, or none
// if it fails, as [Delivery.Ack] may. One of another channel panics, and so does nil.
func (c *Durable[T]) Ack(ds ...*Delivery[T]) error {
	if len(ds) == 0 {
		return nil
	}
	return c.ack(ds...)
}

func (c *Durable[T]) ack(ds ...*Delivery[T]) error {
	for _, d := range ds {
		if d == nil || d.from != c {
			panic("spill: Ack: a delivery of another channel, or none")
		}
	}
	c.mu.Lock()
	for i, d := range ds {
		if err := c.settleable(d); err != nil {
			c.restore(ds[:i])
			c.mu.Unlock()
			return err
		}
		d.settled = true
	}
	b, leads := c.join()
	for _, d := range ds {
		b.drops = append(b.drops, d.number)
		b.freed += d.cost
	}
	c.mu.Unlock()
	err := c.await(nil, new(turn), b, leads, 0, 0) //nolint:staticcheck // nil: nothing ends it
	if err != nil {
		c.mu.Lock()
		c.restore(ds)
		c.mu.Unlock()
	}
	return err
}

// restore makes deliveries unsettled again.
func (c *Durable[T]) restore(ds []*Delivery[T]) {
	for _, d := range ds {
		d.settled = false
	}
}

// A RecordError is that a stored record is not what the codec can read, or not what
// was stored. Whoever receives it has given the record back: it comes again, first of
// all, unless Drop removes it.
type RecordError struct {
	Raw []byte // what is stored
	Err error  // what is wrong with it

	drop func() error
}

func (e *RecordError) Error() string { return e.Err.Error() }
func (e *RecordError) Unwrap() error { return e.Err }

// Drop removes the record for good, as Ack does. It fails with [ErrSettled] if that was
// done before, or somebody else has just received the record: then it is theirs to drop.
func (e *RecordError) Drop() error { return e.drop() }

// deliver makes a Delivery of a record in the caller's hands.
func (c *Durable[T]) deliver(record stored, tries int) (*Delivery[T], error) {
	d := &Delivery[T]{from: c, number: record.number, cost: int64(len(record.form)) + recordCost}
	var v T
	err := record.damaged
	if err == nil {
		v, err = decode(c.config.codec, record.form)
	}
	if err == nil {
		d.Value, d.Attempt = v, tries
		return d, nil
	}
	c.mu.Lock()
	c.back(d.number)
	c.mu.Unlock()
	return nil, &RecordError{Raw: record.form, Err: err, drop: func() error { return c.drop(d.number, d.cost) }}
}

// drop removes a record that was given back.
func (c *Durable[T]) drop(number uint64, cost int64) error {
	c.mu.Lock()
	if !c.returned.take(number) {
		c.mu.Unlock()
		return ErrSettled
	}
	c.queued--
	c.received++
	c.unsettled++
	c.mu.Unlock()
	d := &Delivery[T]{from: c, number: number, cost: cost}
	err := d.Ack()
	if err != nil {
		_ = d.Nack()
	}
	return err
}

// An AutoAck is a Durable as a channel of plain values: each is acknowledged as it is
// received, so nothing comes twice, and what a process was working on when it died is
// gone: at most once. Sending is that of the Durable.
type AutoAck[T any] struct{ *Durable[T] }

// AutoAck returns c as a channel of plain values.
func (c *Durable[T]) AutoAck() AutoAck[T] { return AutoAck[T]{c} }

// Recv receives the next value like [Durable.Recv], and acknowledges it. If that
// fails, the value is given back.
func (a AutoAck[T]) Recv(ctx context.Context) (v T, err error) {
	d, err := a.Durable.Recv(ctx)
	if err != nil {
		return v, err
	}
	return a.accept(d)
}

// TryRecv is Recv, but for that it does not wait for a value: see [Durable.TryRecv].
func (a AutoAck[T]) TryRecv() (v T, err error) {
	d, err := a.Durable.TryRecv()
	if err != nil {
		return v, err
	}
	return a.accept(d)
}

func (a AutoAck[T]) accept(d *Delivery[T]) (v T, err error) {
	if err := d.Ack(); err != nil {
		_ = d.Nack()
		return v, err
	}
	return d.Value, nil
}

// RecvBatch is [Durable.RecvBatch], and acknowledges all that it received at once.
func (a AutoAck[T]) RecvBatch(ctx context.Context, buf []T) (n int, err error) {
	ds := make([]*Delivery[T], len(buf))
	n, err = a.Durable.RecvBatch(ctx, ds)
	if err == nil {
		err = a.Ack(ds[:n]...)
	}
	if err != nil {
		for _, d := range ds[:n] {
			_ = d.Nack()
		}
		return 0, err
	}
	for i, d := range ds[:n] {
		buf[i] = d.Value
	}
	return n, nil
}

// All is [Durable.All], of acknowledged values.
func (a AutoAck[T]) All(ctx context.Context) iter.Seq[T] { return all(a.Recv, ctx) }
