package jetstream

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/sluice-go/sluice"
)

// A Delivery is a value in somebody's hands, who says what became of it: Ack, and it
// is done; Nack, and it is delivered again, after Options.NackDelay, to anybody. Of a
// process that dies all deliveries come again, after Options.AckWait.
//
// As long as it is in hand it is marked as in progress, so a job may take longer
// than AckWait. It lapses after Options.MaxInProgress, and when no mark is known to have reached
// the servers for AckWait, as in a process that was stopped or cut off from them: then
// somebody else may have it, and what is said of it here is refused with ErrExpired.
type Delivery[T any] struct {
	// Value is what was sent.
	Value T
	// Attempt is how often it was delivered, with this one; from 1. That may be more often
	// than a worker had it: Options.MaxDeliver.
	Attempt int
	// Reason is why it is a dead letter; empty of any other.
	Reason string
	// Err is why the bytes of a dead letter could not be read; then Value is zero.
	Err error
	// Raw is what was stored: the value as the codec wrote it.
	Raw []byte

	channel *Channel[T] // which is no garbage while one of its deliveries is in hand
	parcel  *parcel
	settled atomic.Bool
}

// Ack says that the value is done. It does not wait for the servers to hear of it: if
// the connection breaks first, the value may come again. An error says that they
// certainly will not hear of it: ErrExpired, ErrSettled, or there is no connection.
func (d *Delivery[T]) Ack() error {
	return d.settle(func() error { return d.channel.core.acknowledge(d.parcel) })
}

// AckSync is Ack, and waits until the servers have confirmed it: then the value
// does not come again. An answer that gets lost with its connection is asked for again,
// until AckWait is over. With another error than ErrExpired and ErrSettled the value may
// or may not come again.
func (d *Delivery[T]) AckSync(ctx context.Context) error {
	if ctx == nil {
		panic("jetstream: AckSync: nil context")
	}
	return d.settle(func() error { return d.channel.core.confirm(ctx, d.parcel) })
}

// Nack says that the value is to be delivered again, after Options.NackDelay, to
// anybody; or to the dead letters, if it had Options.MaxDeliver. It waits until the servers
// have noted the first try, or the dead letter, two to four seconds at most.
func (d *Delivery[T]) Nack() error {
	return d.settle(func() error {
		d.channel.core.again(d.parcel)
		return nil
	})
}

// InProgress says that the value is worked on. It is said every third of AckWait
// anyway: call it before something that must not be done twice, and that is to be
// done only if the delivery has not lapsed.
func (d *Delivery[T]) InProgress() error {
	h := &d.channel.core.held
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case d.settled.Load():
		return ErrSettled
	case h.of[d.parcel.key] != d.parcel, d.channel.core.lapsed(d.parcel, time.Now()):
		return ErrExpired
	}
	return d.channel.core.link.nc.Publish(d.parcel.reply, sayProgress)
}

// settle says what became of d, once.
func (d *Delivery[T]) settle(say func() error) error {
	if d.settled.Swap(true) {
		return ErrSettled
	}
	err := d.channel.core.release(d.parcel)
	if err == nil {
		err = say()
	}
	if d.channel.core.closed.Load() {
		d.channel.core.changed() // it may have been the last one
	}
	return err
}

// AckEach returns the function that [workers.Run] is to call for deliveries: it
// calls f with the value, then acknowledges it, or gives it back if f failed. The
// error of f ends no worker; one of a connection that is lost does not either, as
// the value comes again.
func AckEach[T any](f func(ctx context.Context, v T) error) func(ctx context.Context, d *Delivery[T]) error {
	return func(ctx context.Context, d *Delivery[T]) error {
		var err error
		if err = d.Err; err == nil {
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

// Deliveries is the receiving side of a channel whose values are acknowledged by
// whoever works on them. It is a [sluice.BatchReceiver], for [workers.Run]:
//
//	err := workers.Run(ctx, c.Deliveries(), 8, jetstream.AckEach(work), nil)
type Deliveries[T any] struct{ c *Channel[T] }

var _ sluice.BatchReceiver[*Delivery[int]] = Deliveries[int]{}

// Shared reports true: see [Channel.Shared].
func (r Deliveries[T]) Shared() bool { return true }

// Recv receives the next value. It fails with ErrClosed once the channel is closed
// and every value of it is acknowledged: until then one may come back.
func (r Deliveries[T]) Recv(ctx context.Context) (*Delivery[T], error) {
	var buf [1]*Delivery[T]
	_, err := r.RecvBatch(ctx, buf[:])
	return buf[0], err
}

// TryRecv receives the next value if there is one: it waits for nothing but the
// answer of the servers.
func (r Deliveries[T]) TryRecv() (*Delivery[T], error) {
	var buf [1]*Delivery[T]
	_, err := r.receive(buf[:], func(parcels []*parcel) (int, error) { return r.c.core.tryTake(parcels, toTry) })
	return buf[0], err
}

// RecvBatch waits for a value, then takes as many as are here, up to len(buf); but of those
// that come again only one: if it kills the process, the others were not tried.
func (r Deliveries[T]) RecvBatch(ctx context.Context, buf []*Delivery[T]) (int, error) {
	if ctx == nil {
		panic("jetstream: RecvBatch: nil context")
	}
	return r.receive(buf, func(parcels []*parcel) (int, error) { return r.c.core.take(ctx, parcels, toTry) })
}

func (r Deliveries[T]) receive(buf []*Delivery[T], take func([]*parcel) (int, error)) (int, error) {
	weighed := func(parcels []*parcel) (int, error) {
		n, err := take(parcels)
		for _, p := range parcels[:n] {
			r.c.core.weigh(p)
		}
		return n, err
	}
	return receive(r.c, buf, weighed, func(p *parcel, v T, bad error) (*Delivery[T], error) {
		r.c.core.hold(p)
		return &Delivery[T]{Value: v, Attempt: p.tries, Reason: p.reason, Err: bad, Raw: p.data, channel: r.c, parcel: p}, nil
	})
}
