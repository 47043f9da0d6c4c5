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
	settled bool  // guarded by from.mu
}

// Ack acknowledges the value, which deletes it from disk. Ack waits for the write: after
// nil the value is never delivered again. It shares the write with senders and other
// acknowledgements. To acknowledge several deliveries in one call, see [Durable.Ack].
//
// Ack returns [ErrSettled] if the delivery was settled before, [sluice.ErrClosed] after
// Shutdown, or an error that names the file. In the last case the delivery is unchanged,
// and the caller may try again.
func (d *Delivery[T]) Ack() error { return d.from.ack(d) }

// Nack gives the value back: it is delivered again, before all values that were stored
// after it. Nack does not write; the value is read from the file when its turn comes. It
// returns [ErrSettled] or [sluice.ErrClosed], like Ack.
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
	return c.ack(ds...)
}

func (c *Durable[T]) ack(ds ...*Delivery[T]) error {
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
	for _, d := range ds {
		b.deletes = append(b.deletes, d.seq)
		b.freed += d.cost
		b.acks++
		b.ackBytes += d.cost
		c.acking++
		c.ackingBytes += d.cost
	}
	c.mu.Unlock()
	err := c.await(context.Background(), new(lazyContext), b, leads, 0, grant{}) // a settlement is not canceled
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
// The receive that returns it has given the record back: it is delivered again before
// other records, until Drop removes it.
type RecordError struct {
	Raw []byte // the stored bytes of the value
	Err error  // what is wrong with them

	drop func() error
}

func (e *RecordError) Error() string { return e.Err.Error() }
func (e *RecordError) Unwrap() error { return e.Err }

// Drop deletes the record from disk, like Ack. It returns [ErrSettled] if the record was
// deleted before, or if another goroutine has received it since; that goroutine can drop
// it.
func (e *RecordError) Drop() error { return e.drop() }

// deliver returns a Delivery of a record that the caller has taken.
func (c *Durable[T]) deliver(record storedRecord, attempts int) (*Delivery[T], error) {
	d := &Delivery[T]{from: c, seq: record.seq, cost: record.cost()}
	var v T
	err := record.damaged
	if err == nil {
		v, err = decode(c.config.codec, record.payload)
	}
	if err == nil {
		d.Value, d.Attempt = v, attempts
		return d, nil
	}
	c.mu.Lock()
	c.requeue(d.seq, d.cost, attempts)
	c.mu.Unlock()
	return nil, &RecordError{Raw: record.payload, Err: err, drop: func() error { return c.drop(d.seq, d.cost) }}
}

// drop deletes a record that was given back.
func (c *Durable[T]) drop(seq uint64, cost int64) error {
	c.mu.Lock()
	if !c.requeued.remove(seq) {
		c.mu.Unlock()
		return ErrSettled
	}
	c.queued--
	c.received++
	c.inFlight++
	c.flightBytes += cost
	d := &Delivery[T]{from: c, seq: seq, cost: cost, Attempt: c.attempts[seq]}
	c.mu.Unlock()
	err := d.Ack()
	if err != nil {
		_ = d.Nack()
	}
	return err
}

// An AutoAck is a Durable as a channel of plain values: it acknowledges each value as it
// is received. No value is delivered twice, and the values that a process was working on
// when it died are lost: delivery is at most once. AutoAck implements [sluice.Channel].
type AutoAck[T any] struct{ *Durable[T] }

// AutoAck returns c as a channel of plain values.
func (c *Durable[T]) AutoAck() AutoAck[T] { return AutoAck[T]{c} }

// Recv receives the next value like [Durable.Recv], and acknowledges it. If that fails,
// the value is given back.
func (a AutoAck[T]) Recv(ctx context.Context) (v T, err error) {
	d, err := a.Durable.Recv(ctx)
	if err != nil {
		return v, err
	}
	return a.accept(d)
}

// TryRecv is like Recv, but does not wait for a value: see [Durable.TryRecv]. It does
// wait for the write of the acknowledgement.
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

// RecvBatch receives values like [Durable.RecvBatch], and acknowledges them in one
// write.
func (a AutoAck[T]) RecvBatch(ctx context.Context, buf []T) (n int, err error) {
	ds := make([]*Delivery[T], len(buf))
	n, err = a.Durable.RecvBatch(ctx, ds)
	return a.acceptBatch(buf, ds[:n], err)
}

// TryRecvBatch receives values like [Durable.TryRecvBatch], and acknowledges them in one
// write.
func (a AutoAck[T]) TryRecvBatch(buf []T) (n int, err error) {
	ds := make([]*Delivery[T], len(buf))
	n, err = a.Durable.TryRecvBatch(ds)
	return a.acceptBatch(buf, ds[:n], err)
}

// acceptBatch acknowledges ds, which were received with err, and copies their values.
func (a AutoAck[T]) acceptBatch(buf []T, ds []*Delivery[T], err error) (int, error) {
	if err == nil {
		err = a.Ack(ds...)
	}
	if err != nil {
		for _, d := range ds {
			_ = d.Nack()
		}
		return 0, err
	}
	for i, d := range ds {
		buf[i] = d.Value
	}
	return len(ds), nil
}

// Drain returns an iterator over the values that are queued when the loop begins, like
// [Durable.Drain], and acknowledges each.
func (a AutoAck[T]) Drain() iter.Seq[T] { return drainSeq(a.Len, a.TryRecv) }

// Values returns a loop over values, like [Durable.Values], and acknowledges each.
func (a AutoAck[T]) Values(ctx context.Context) *sluice.Values[T] {
	if ctx == nil {
		panic("spill: Values: nil context")
	}
	return sluice.NewValues(ctx, a)
}
