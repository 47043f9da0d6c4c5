package spill

import (
	"context"
	"errors"
	"iter"

	"github.com/sluice-go/sluice"
)

// ErrSettled is returned for a delivery that was acknowledged or given back before.
var ErrSettled = errors.New("spill: delivery already acknowledged or given back")

// errMissing means that a record is missing that was stored and not deleted.
var errMissing = errors.New("spill: the file lacks records that were stored in it")

// A Delivery is a received value that is stored until it is acknowledged. It is
// delivered again after Nack, and when the queue is opened again without an Ack or Nack.
type Delivery[T any] struct {
	// Value is a copy of the value that was sent, made by the codec.
	Value T
	// Attempt counts the deliveries of the value since the queue was opened: 1 for
	// the first.
	Attempt int

	from    *Durable[T]
	seq     uint64
	cost    int64 // bytes of DiskLimit
	epoch   uint64
	settled bool // guarded by from.mu
}

// Seq returns the number of the value: those sent to a queue are numbered from 1, in order, for as long
// as the queue exists. [Repair] uses these numbers.
func (d *Delivery[T]) Seq() uint64 { return d.seq }

// Ack acknowledges the value, which deletes it from disk. Ack waits for the write: after
// nil the value is never delivered again. It shares the write with senders and other
// acknowledgements. To acknowledge several deliveries in one call, see [Durable.Ack].
//
// Ack returns [ErrSettled] if the delivery was settled before, [sluice.ErrClosed] after
// Shutdown, [ErrReopened] if the queue was opened again since the receive, or an error that names the
// file. In the last case the delivery is unchanged, and the caller may try again.
func (d *Delivery[T]) Ack() error { return d.from.Ack(d) }

// Nack gives the value back: it is delivered again, before all values that were stored
// after it and are not fresh (see [DurableOptions].Fresh). Nack does not write; the value is read
// from the file when its turn comes. It returns [ErrSettled], [ErrReopened] or [sluice.ErrClosed],
// like Ack.
//
// A receiver that got ErrClosed from a drained channel must receive again to get a
// value that another receiver gives back later.
func (d *Delivery[T]) Nack() error {
	c := d.from
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.settleError(d); err != nil {
		return err
	}
	d.settled = true
	c.requeue(d.seq, d.cost, d.Attempt)
	return nil
}

// settleError returns the reason why d cannot be settled, or nil. The caller holds mu.
func (c *Durable[T]) settleError(d *Delivery[T]) error {
	switch {
	case d.settled:
		return ErrSettled
	case c.failure != nil:
		return c.failure
	case c.stopped:
		return sluice.ErrClosed
	case c.epoch != d.epoch || c.reopening != nil:
		return ErrReopened
	default:
		return nil
	}
}

// Ack acknowledges deliveries of this channel in one write: all of them, or none if it
// returns an error; see [Delivery.Ack] for the errors. Ack panics if a delivery is nil or
// belongs to another channel.
func (c *Durable[T]) Ack(ds ...*Delivery[T]) error {
	if len(ds) == 0 {
		return nil
	}
	for _, d := range ds {
		if d == nil || d.from != c {
			panic("spill: Ack: delivery is nil or belongs to another channel")
		}
	}
	c.mu.Lock()
	for i, d := range ds {
		if err := c.settleError(d); err != nil {
			c.unsettle(ds[:i])
			c.mu.Unlock()
			return err
		}
		d.settled = true
	}
	b, leads := c.join()
	epoch := c.epoch
	for _, d := range ds {
		b.delete(d.seq, d.cost)
		b.acks.add(one(d.cost))
		c.acking.add(one(d.cost))
	}
	c.mu.Unlock()
	err := c.await(context.Background(), new(lazyContext), b, leads, 0, grant{}) // a settlement is not canceled
	if err == nil && b.epoch != epoch {
		err = ErrReopened
	}
	if err != nil {
		c.mu.Lock()
		c.unsettle(ds)
		c.mu.Unlock()
	}
	return err
}

// unsettle marks deliveries as in flight again. The caller holds mu.
func (c *Durable[T]) unsettle(ds []*Delivery[T]) {
	for _, d := range ds {
		d.settled = false
	}
}

// A RecordError reports a stored record that is damaged or that the codec cannot decode.
// The receive that returns it has given the record back: it is delivered again, like after a Nack,
// until Drop removes it.
type RecordError struct {
	Raw []byte // the stored bytes of the value
	Err error  // what is wrong with them

	drop func() error
}

// Error returns the damage, or the error of the codec.
func (e *RecordError) Error() string { return e.Err.Error() + ": the record stays until it is dropped" }
func (e *RecordError) Unwrap() error { return e.Err }

// Drop deletes the record from disk, like Ack, and returns the same errors. It returns [ErrSettled] if
// the record was deleted before, or if another goroutine has received it since; that goroutine
// can drop it.
func (e *RecordError) Drop() error { return e.drop() }

// deliver returns a Delivery of a record that the caller has taken.
func (c *Durable[T]) deliver(t taken) (*Delivery[T], error) {
	d, err := c.delivery(t), t.record.Damaged
	if err == nil {
		d.Value, err = decode(c.config.codec, t.record.Payload)
	}
	if err == nil {
		return d, nil
	}
	c.mu.Lock()
	if c.epoch == d.epoch { // otherwise it is queued already
		c.requeue(d.seq, d.cost, d.Attempt)
	}
	c.mu.Unlock()
	return nil, &RecordError{Raw: t.record.Payload, Err: err, drop: func() error { return c.drop(c.delivery(t)) }}
}

// delivery returns a delivery without a value.
func (c *Durable[T]) delivery(t taken) *Delivery[T] {
	return &Delivery[T]{from: c, Attempt: t.attempts, seq: t.record.Seq, cost: diskCost(t.record), epoch: t.epoch}
}

// ackOrReturn acknowledges deliveries, or gives them back if that fails. After ErrReopened they are
// queued again already.
func (c *Durable[T]) ackOrReturn(ds ...*Delivery[T]) error {
	err := c.Ack(ds...)
	if err != nil {
		for _, d := range ds {
			_ = d.Nack()
		}
	}
	return err
}

// drop deletes the record of d, which was given back.
func (c *Durable[T]) drop(d *Delivery[T]) error {
	c.mu.Lock()
	if err := c.settleError(d); err != nil {
		c.mu.Unlock()
		return err
	}
	if !c.requeued.remove(d.seq) {
		c.mu.Unlock()
		return ErrSettled
	}
	c.received++
	c.flight.add(one(d.cost))
	d.Attempt = c.attempts[d.seq]
	c.mu.Unlock()
	return c.ackOrReturn(d)
}

// An AutoAck is a Durable as a channel of plain values: it acknowledges each value as it
// is received. No value is delivered twice, and the values that a process was working on
// when it died are lost: delivery is at most once. Until its acknowledgement is written, a
// value counts toward Capacity and cannot be dropped: under DropOldest, TrySend returns
// [sluice.ErrFull] if such values hold all of the room. AutoAck implements [sluice.Channel].
type AutoAck[T any] struct{ *Durable[T] }

// AutoAck returns c as a channel of plain values.
func (c *Durable[T]) AutoAck() AutoAck[T] { return AutoAck[T]{c} }

// Recv receives the next value like [Durable.Recv], and acknowledges it. If that fails,
// the value is given back.
func (a AutoAck[T]) Recv(ctx context.Context) (T, error) {
	return a.recv(func() (*Delivery[T], error) { return a.Durable.Recv(ctx) })
}

// TryRecv is like Recv, but does not wait for a value: see [Durable.TryRecv]. It does
// wait for the write of the acknowledgement.
func (a AutoAck[T]) TryRecv() (T, error) { return a.recv(a.Durable.TryRecv) }

// recv is recvBatch for one value.
func (a AutoAck[T]) recv(next func() (*Delivery[T], error)) (T, error) {
	var buf [1]T
	_, err := a.recvBatch(buf[:], func(ds []*Delivery[T]) (n int, err error) {
		ds[0], err = next()
		return 1, err
	})
	return buf[0], err
}

// RecvBatch receives values like [Durable.RecvBatch], and acknowledges them in one
// write.
func (a AutoAck[T]) RecvBatch(ctx context.Context, buf []T) (n int, err error) {
	return a.recvBatch(buf, func(ds []*Delivery[T]) (int, error) { return a.Durable.RecvBatch(ctx, ds) })
}

// TryRecvBatch receives values like [Durable.TryRecvBatch], and acknowledges them in one
// write.
func (a AutoAck[T]) TryRecvBatch(buf []T) (n int, err error) {
	return a.recvBatch(buf, a.Durable.TryRecvBatch)
}

// recvBatch acknowledges what next receives. If the queue was opened again in between, the values are
// queued again.
func (a AutoAck[T]) recvBatch(buf []T, next func([]*Delivery[T]) (int, error)) (n int, err error) {
	ds := make([]*Delivery[T], len(buf))
	for err = ErrReopened; errors.Is(err, ErrReopened); {
		if n, err = next(ds); err == nil {
			err = a.ackOrReturn(ds[:n]...)
		}
	}
	if err != nil {
		return 0, err
	}
	for i, d := range ds[:n] {
		buf[i] = d.Value
	}
	return n, nil
}

// Drain returns an iterator over the values that are queued when the loop begins, like
// [Durable.Drain], and acknowledges each.
func (a AutoAck[T]) Drain() iter.Seq[T] { return drainSeq(a.Len, a.TryRecv) }

// Values returns a loop over values, like [Durable.Values], and acknowledges each.
func (a AutoAck[T]) Values(ctx context.Context) *sluice.Values[T] {
	notNil(ctx, "Values")
	return sluice.NewValues(ctx, a)
}
