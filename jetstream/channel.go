package jetstream

import (
	"context"
	"fmt"
	"iter"
	"runtime"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/codec"
)

// A Channel is a channel whose values are stored by NATS servers. All its methods may
// be used by many goroutines at once.
type Channel[T any] struct {
	core  *core
	codec codec.Codec[T]
}

// Open finds the channel that o names, or makes it. ctx is for opening it, no longer.
// Whoever opened it should [Channel.Shutdown] it at the end; one that is garbage is left
// all the same.
func Open[T any](ctx context.Context, o *Options[T]) (*Channel[T], error) {
	config, form, err := o.resolve()
	if err != nil {
		return nil, err
	}
	core, err := openCore(ctx, config, nil)
	if err != nil {
		return nil, err
	}
	return newChannel(core, form), nil
}

func newChannel[T any](opened *core, form codec.Codec[T]) *Channel[T] {
	c := &Channel[T]{core: opened, codec: form}
	runtime.AddCleanup(c, abandon, opened)
	sluice.Enlist(opened.config.name, "JetStream", c)
	return c
}

// Send stores v, and waits while there is no room, or no connection. Nil says that it
// is stored by a majority of the servers. It fails with
//
//   - [sluice.ErrClosed], [ErrShutdown], [ErrDeleted], [sluice.ErrTooLarge], the error of the
//     codec, or that of ctx: then v is not stored;
//   - an [UnknownError]: then that is not known.
//
// While an answer is under way, ctx is not obeyed for up to two seconds: to know what
// happened is worth it. With one Send at a time, values keep the order of sending.
func (c *Channel[T]) Send(ctx context.Context, v T) error {
	if ctx == nil {
		panic("jetstream: Send: nil context")
	}
	defer runtime.KeepAlive(c) // what waits is no garbage
	return c.sendOne(ctx, v, forRoom)
}

// TrySend is one attempt to store v, which waits for nothing but the answer. It fails
// with [sluice.ErrFull] if there is no room, and otherwise as Send.
func (c *Channel[T]) TrySend(v T) error {
	defer runtime.KeepAlive(c)
	return c.sendOne(context.Background(), v, never)
}

func (c *Channel[T]) sendOne(ctx context.Context, v T, p patience) error {
	if err := c.core.refusesSends(); err != nil {
		return err
	}
	form, err := c.codec.Append(nil, v)
	if err != nil {
		return fmt.Errorf("jetstream: writing a value: %w", err)
	}
	return c.core.sendOne(ctx, form, p)
}

// SendBatch stores vs in order, in runs of up to 1000 which are stored whole or not at
// all, and returns how many are known to be stored: a prefix. The error is nil only if
// that is all of them, and otherwise as for Send: an UnknownError is about the run
// after the prefix, and so is its Retry. Values of other senders come between two
// runs, not into one.
//
// It keeps the order whatever breaks, and it is how a server that syncs each write
// becomes fast: it syncs once for a run.
func (c *Channel[T]) SendBatch(ctx context.Context, vs []T) (n int, err error) {
	if ctx == nil {
		panic("jetstream: SendBatch: nil context")
	}
	if len(vs) == 0 {
		return 0, nil
	}
	defer runtime.KeepAlive(c)
	if err := c.core.refusesSends(); err != nil {
		return 0, err
	}
	for n < len(vs) {
		run := vs[n:min(len(vs), n+maxRun)]
		forms := make([][]byte, len(run))
		for i, v := range run {
			if forms[i], err = c.codec.Append(nil, v); err != nil {
				// Those before it are sent, as one by one.
				sent, sendErr := c.core.sendRun(ctx, forms[:i])
				if sendErr != nil {
					return n + sent, sendErr
				}
				return n + sent, fmt.Errorf("jetstream: writing a value: %w", err)
			}
		}
		sent, err := c.core.sendRun(ctx, forms)
		if n += sent; err != nil {
			return n, err
		}
	}
	return n, nil
}

// Recv receives the next value, and waits while there is none. The value is
// acknowledged as it is handed out: if this process dies before it is done with it, it
// is gone. Where that must not be, receive [Channel.Deliveries].
//
// It fails with [sluice.ErrClosed] once the channel is closed, by whoever it was, and
// drained, and otherwise as Recv of any channel; with [ErrShutdown] and [ErrDeleted]. After
// an error nothing was consumed. A connection that breaks is waited for.
func (c *Channel[T]) Recv(ctx context.Context) (T, error) {
	var buf [1]T
	_, err := c.RecvBatch(ctx, buf[:])
	return buf[0], err
}

// TryRecv receives the next value if there is one: it waits for nothing but the answer
// of the servers, a second at most.
func (c *Channel[T]) TryRecv() (T, error) {
	var buf [1]T
	_, err := c.receive(buf[:], func(parcels []*parcel) (int, error) { return c.core.tryTake(parcels, toKeep) })
	return buf[0], err
}

// RecvBatch waits for a value, then takes as many as are here, up to len(buf), in
// order: in this process, that is (Options.Prefetch).
func (c *Channel[T]) RecvBatch(ctx context.Context, buf []T) (n int, err error) {
	if ctx == nil {
		panic("jetstream: RecvBatch: nil context")
	}
	return c.receive(buf, func(parcels []*parcel) (int, error) { return c.core.take(ctx, parcels, toKeep) })
}

func (c *Channel[T]) receive(buf []T, take func([]*parcel) (int, error)) (int, error) {
	return receive(c, buf, take, func(p *parcel, v T, bad error) (T, error) {
		if bad != nil { // a dead letter, which should be received as a delivery
			c.core.giveBack(p, c.core.config.nackDelay)
			return v, bad
		}
		return v, c.core.acknowledge(p)
	})
}

// receive takes parcels and makes of each what is to be handed out. Those that go to
// the dead letters instead, and those whose acknowledgement cannot be sent, as they
// come again, are not: if none is left, it waits for others.
func receive[T, Out any](c *Channel[T], buf []Out, take func([]*parcel) (int, error), hand func(*parcel, T, error) (Out, error)) (int, error) {
	if len(buf) == 0 {
		return 0, nil
	}
	var one [1]*parcel
	parcels := one[:]
	if len(buf) > 1 {
		parcels = make([]*parcel, min(len(buf), c.core.config.prefetch))
	}
	for {
		taken, err := take(parcels)
		if err != nil {
			return 0, err
		}
		n := 0
		var bad error
		for _, p := range parcels[:taken] {
			if c.core.overdue(p) { // the process stood still: it comes again
				continue
			}
			value, err := c.codec.Decode(p.data)
			if err != nil && !c.core.config.dead {
				c.core.bury(p, "its bytes are no value of the codec "+c.codec.Name()+": "+err.Error())
				continue
			}
			if c.core.exhausted(p) {
				continue
			}
			if buf[n], err = hand(p, value, err); err == nil {
				n++
			} else if c.core.config.dead {
				bad = err
			}
		}
		clear(buf[n:taken])
		if n > 0 {
			c.core.tally.received.Add(uint64(n))
			return n, nil
		}
		if bad != nil {
			return 0, bad
		}
	}
}

// All returns an iterator that receives until the channel is closed and drained, or
// left, or ctx is done while it waits. After the loop, ctx.Err() tells whether it was
// that. Values are received one by one: leaving the loop early loses none.
func (c *Channel[T]) All(ctx context.Context) iter.Seq[T] {
	if ctx == nil {
		panic("jetstream: All: nil context")
	}
	return func(yield func(T) bool) {
		for {
			v, err := c.Recv(ctx)
			if err != nil || !yield(v) {
				return
			}
		}
	}
}

// Deliveries returns the receiving side for jobs: who receives acknowledges.
func (c *Channel[T]) Deliveries() Deliveries[T] { return Deliveries[T]{c} }

// Shared reports true: other processes use the channel too, so a stage that ends early
// does not close it.
func (c *Channel[T]) Shared() bool { return true }

// Ready returns a channel for use in a select beside native channels. It becomes
// readable when TryRecv may succeed, or the channel is closed; whoever reads from it
// should call TryRecv until that fails. From the first call on, one value is fetched
// in advance. The same channel is returned each time; after Close it is closed.
func (c *Channel[T]) Ready() <-chan struct{} { return c.core.readySignal() }

// Close closes the channel, for all processes and for good: the servers take no more
// values, what is stored stays receivable, and once that is acknowledged receivers get
// ErrClosed. It waits for the servers, ten seconds at most; if they do not confirm it
// by then, that is logged, said in Stats, and tried on until the process leaves. CloseContext
// says whether it succeeded.
func (c *Channel[T]) Close() {
	defer runtime.KeepAlive(c)
	c.core.close()
}

// CloseContext is Close, with an error: nil says that the servers have confirmed it.
func (c *Channel[T]) CloseContext(ctx context.Context) error {
	defer runtime.KeepAlive(c)
	return c.core.seal(ctx)
}

// Shutdown ends the use of the channel by this process, and nothing else: values that
// nobody received go back, connections end, and so does the server inside, with its
// last channel. Operations under way fail with [ErrShutdown]. Deliveries in hand should be
// settled before; others come again after AckWait, and so does, after the next Open, what
// was fetched in advance as the server inside ended.
func (c *Channel[T]) Shutdown(ctx context.Context) error { return c.core.depart(ctx) }

// Len returns how many values are stored, delivered ones that are not acknowledged
// among them. It asks the servers; if they do not answer it is what they last said.
func (c *Channel[T]) Len() int { return c.core.length() }

// Cap returns the limit in values.
func (c *Channel[T]) Cap() int { return c.core.config.limit }

// Stats returns what is known of the channel. Len, BytesOnDisk and Closed are of all
// processes, and asked for as in Len; what was sent, received and waited for is of this
// one. Warning says what endangers the promises.
func (c *Channel[T]) Stats() sluice.Stats { return c.core.stats() }

// DeadLetters opens the channel of those values that were delivered MaxDeliver times
// without being acknowledged, or whose bytes could not be read. It is a channel like
// any other, named like this one with "-dead" after that: it must be left, too.
// Receive it by Deliveries, which tell the reason.
func (c *Channel[T]) DeadLetters(ctx context.Context) (*Channel[T], error) {
	core, err := c.core.openDead(ctx)
	if err != nil {
		return nil, err
	}
	return newChannel(core, c.codec), nil
}
