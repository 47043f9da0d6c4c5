package jetstream

import (
	"context"
	"sync/atomic"

	"github.com/sluice-go/sluice"
)

// A Delivery is a value in flight. Its receiver settles it once: Ack removes the value from
// the channel, Nack has it redelivered after Options.NackDelay, to any receiver. If the
// process dies, the servers redeliver it after Options.AckWait.
//
// While it is in flight it is extended in the background, so a job may take longer than
// AckWait. It expires after Options.MaxInProgress, and when the servers have confirmed no
// progress acknowledgment for AckWait, as in a process that was paused or cut off. Another
// receiver may have the value then, and all methods fail with ErrExpired.
type Delivery[T any] struct {
	// Value is the value that was sent.
	Value T
	// Attempt counts the deliveries of the value, including this one: 1 for the first. The
	// servers count, so values that were fetched in advance and returned are included:
	// see Options.MaxDeliver.
	Attempt int
	// Reason is why the value is a dead letter; empty in any other channel.
	Reason string
	// Err is why a dead letter could not be decoded; Value is zero then.
	Err error
	// Raw is the stored value, as the codec encoded it.
	Raw []byte

	channel *Channel[T] // not garbage while a delivery is in flight
	core    *core       // of its stream
	message *message
	settled atomic.Bool
}

// Ack acknowledges the value. It does not wait for the servers: if the connection breaks
// first, the value may be redelivered. It fails with ErrExpired, ErrSettled, or if there is
// no connection; then the servers have not been told.
func (d *Delivery[T]) Ack() error {
	return d.settle(func() error { return d.core.deliveries.ack(d.message) })
}

// AckSync acknowledges the value, and waits until the servers have confirmed it: then it
// is not redelivered. If the answer is lost with the connection, AckSync repeats the
// request until AckWait is over. After an error other than ErrExpired and ErrSettled, the
// value may or may not be redelivered.
func (d *Delivery[T]) AckSync(ctx context.Context) error {
	notNil(ctx, "AckSync")
	return d.settle(func() error { return d.core.deliveries.ackSync(ctx, d.message) })
}

// Nack has the value redelivered after Options.NackDelay, to any receiver. If it had
// Options.MaxDeliver attempts, Nack moves it to the dead letters. It waits until the
// servers have recorded the first attempt, or stored the dead letter, for up to four
// seconds.
func (d *Delivery[T]) Nack() error {
	return d.settle(func() error {
		d.core.dead.retry(d.message)
		return nil
	})
}

// InProgress sends a progress acknowledgment. One is sent every third of AckWait anyway:
// call it before an effect that must not happen if the delivery has expired.
func (d *Delivery[T]) InProgress() error {
	if d.settled.Load() {
		return ErrSettled
	}
	err := d.core.deliveries.inProgress(d.message)
	if err == ErrExpired && d.settled.Load() { // settled meanwhile
		return ErrSettled
	}
	return err
}

// settle ends the flight of d, then calls acknowledge. It fails the second time.
func (d *Delivery[T]) settle(acknowledge func() error) error {
	if d.settled.Swap(true) {
		return ErrSettled
	}
	core := d.core
	err := core.deliveries.untrack(d.message)
	if err == nil {
		err = acknowledge()
	}
	if core.life.closed.Load() {
		core.inbox.stateChanged() // it may have been the last one
	}
	return err
}

// AckEach returns a function for workers.Run over [Channel.Deliveries]: it calls f with each
// value, then Ack, or Nack if f fails. It always returns nil, so neither an error of f nor a
// lost connection ends a worker: the value is redelivered.
func AckEach[T any](f func(ctx context.Context, v T) error) func(ctx context.Context, d *Delivery[T]) error {
	return func(ctx context.Context, d *Delivery[T]) error {
		err := d.Err
		if err == nil {
			err = f(ctx, d.Value)
		}
		if err != nil {
			_ = d.Nack()
		} else {
			_ = d.Ack()
		}
		return nil
	}
}

// Deliveries is the receiving side of a channel whose values are acknowledged by their
// receiver. It is a [sluice.BatchReceiver], for workers.Run:
//
//	err := workers.Run(ctx, c.Deliveries(), 8, jetstream.AckEach(work), nil)
type Deliveries[T any] struct {
	shared
	c *Channel[T]
}

var _ sluice.BatchReceiver[*Delivery[int]] = Deliveries[int]{}

// Recv receives the next value, and waits if necessary. It fails with ErrClosed once the
// channel is closed and every value is acknowledged: until then, one may be redelivered.
func (r Deliveries[T]) Recv(ctx context.Context) (*Delivery[T], error) {
	var buf [1]*Delivery[T]
	_, err := r.RecvBatch(ctx, buf[:])
	return buf[0], err
}

// TryRecv receives the next value if there is one. It waits only for the servers' answers.
func (r Deliveries[T]) TryRecv() (*Delivery[T], error) {
	var buf [1]*Delivery[T]
	_, err := r.TryRecvBatch(buf[:])
	return buf[0], err
}

// RecvBatch waits for a value, then takes up to len(buf) that have been fetched. Values that
// are redelivered come one at a time, so that one that kills the process costs the others
// no attempt.
func (r Deliveries[T]) RecvBatch(ctx context.Context, buf []*Delivery[T]) (int, error) {
	notNil(ctx, "RecvBatch")
	return r.receive(buf, func(ms []*message) (*core, int, error) { return r.c.lanes.take(ctx, ms, asDeliveries) })
}

// TryRecvBatch receives up to len(buf) values if there are any, as [Channel.TryRecvBatch]
// and RecvBatch do.
func (r Deliveries[T]) TryRecvBatch(buf []*Delivery[T]) (int, error) {
	return r.receive(buf, func(ms []*message) (*core, int, error) { return r.c.lanes.tryTake(ms, asDeliveries) })
}

// Ready returns the channel of [Channel.Ready].
func (r Deliveries[T]) Ready() <-chan struct{} { return r.c.Ready() }

func (r Deliveries[T]) receive(buf []*Delivery[T], take takeFunc) (int, error) {
	counted := func(ms []*message) (*core, int, error) {
		from, n, err := take(ms)
		for _, m := range ms[:n] {
			from.attempts.begin(m)
		}
		return from, n, err
	}
	return receive(r.c, buf, counted, func(from *core, m *message, v T, decodeErr error) (*Delivery[T], error) {
		from.deliveries.track(m)
		return &Delivery[T]{
			Value: v, Attempt: m.delivered, Reason: m.reason, Err: decodeErr, Raw: m.data,
			channel: r.c, core: from, message: m,
		}, nil
	})
}
