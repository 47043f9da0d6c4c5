package jetstream

import (
	"context"
	"fmt"
	"iter"
	"runtime"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/codec"
	"github.com/sluice-go/sluice/inspect"
	"github.com/sluice-go/sluice/internal/stage"
)

// A Channel is a channel whose values are stored by NATS servers. Its methods are safe for
// concurrent use. It implements [sluice.Channel].
//
// Other processes use the channel too, so a stage that ends early, such as workers.Run, does
// not close it.
type Channel[T any] struct {
	shared
	core  *core  // the first of lanes
	lanes *lanes // one, or several by key
	codec codec.Codec[T]
	key   func(T) string // nil if there is one
}

type shared = stage.Shared

var _ sluice.Channel[int] = (*Channel[int])(nil)

// Open opens the channel that o names, and creates it if it does not exist. ctx limits the
// opening only. Call [Channel.Shutdown] at the end; a channel that is garbage collected is
// shut down too.
func Open[T any](ctx context.Context, o *Options[T]) (*Channel[T], error) {
	config, values, err := o.resolve()
	if err != nil {
		return nil, err
	}
	core, err := openCore(ctx, config, nil)
	if err != nil {
		return nil, err
	}
	return newChannel(core, values), nil
}

// notNil panics if ctx is nil, in the name of the method that the user called.
func notNil(ctx context.Context, method string) {
	if ctx == nil {
		panic("jetstream: " + method + ": nil context")
	}
}

func newChannel[T any](opened *core, values codec.Codec[T]) *Channel[T] {
	c := &Channel[T]{shared: shared{}, core: opened, lanes: &lanes{name: opened.config.name, all: []*core{opened}}, codec: values}
	runtime.AddCleanup(c, abandon, opened)
	inspect.Register(opened.config.name, "JetStream", c)
	return c
}

// Send stores v, and waits while there is no room or no connection. It returns nil once a
// majority of the servers have stored v. It fails with
//
//   - [sluice.ErrClosed], [ErrShutdown], [ErrDeleted], [sluice.ErrTooLarge], the error of
//     the codec or of ctx: then v is not stored;
//   - an [UnknownError]: then it is unknown whether v is stored;
//   - [ErrNoSpace], if the servers have no space in any channel: then v is not stored, unless
//     it is an UnknownError, too. Send does not wait for space;
//   - [ErrRemoved]: then v is lost with this process, unless a receiver in it gets v before.
//
// With the embedded server, Send looks for its lock before it sends v, and for all its files
// after the server has synced v, and before it returns nil. So it notices each removal before that moment; one after it loses
// what is queued, and the next Send, Close or Stats notices. Of other servers' files it
// sees nothing.
//
// While an answer is pending, Send waits for it for up to two seconds even if ctx is done,
// so that it can report the outcome. The values of a sender that calls one Send at a time
// keep their order.
func (c *Channel[T]) Send(ctx context.Context, v T) error {
	notNil(ctx, "Send")
	defer runtime.KeepAlive(c) // c is not garbage while it waits
	return c.sendOne(ctx, v, waitRoom)
}

// TrySend makes one attempt to store v, and waits only for its answer. It fails with
// [sluice.ErrFull] if there is no room, and otherwise as Send does.
func (c *Channel[T]) TrySend(v T) error {
	defer runtime.KeepAlive(c)
	return c.sendOne(context.Background(), v, waitNever)
}

func (c *Channel[T]) sendOne(ctx context.Context, v T, policy waitPolicy) error {
	to := c.lanes.all[c.lane(v)]
	if err := to.life.sendErr(); err != nil {
		return err
	}
	payload, err := c.codec.Append(nil, v)
	if err != nil {
		return fmt.Errorf("jetstream: encoding a value: %w", err)
	}
	return to.publisher.sendOne(ctx, payload, policy)
}

// SendBatch stores vs in order, in atomic batches of up to 1000 values: the servers store
// all values of a batch consecutively, or none. It returns how many values are known to be
// stored: a prefix of vs. The error is nil only if all are. Errors are as for Send; an
// UnknownError and its Retry are about the batch after that prefix.
//
// A batch keeps its order whatever fails. It is also much faster on servers that sync each
// write: they sync once per batch.
func (c *Channel[T]) SendBatch(ctx context.Context, vs []T) (n int, err error) {
	notNil(ctx, "SendBatch")
	if len(vs) == 0 {
		return 0, nil
	}
	defer runtime.KeepAlive(c)
	if c.key != nil {
		return c.sendShares(ctx, vs)
	}
	return c.sendTo(ctx, c.core, vs)
}

// sendTo sends a batch to one stream.
func (c *Channel[T]) sendTo(ctx context.Context, to *core, vs []T) (n int, err error) {
	if err := to.life.sendErr(); err != nil {
		return 0, err
	}
	for n < len(vs) {
		batch := vs[n:min(len(vs), n+maxBatch)]
		payloads := make([][]byte, len(batch))
		for i, v := range batch {
			if payloads[i], err = c.codec.Append(nil, v); err != nil {
				// The values before it are sent, as they would be one by one.
				sent, sendErr := to.publisher.sendBatch(ctx, payloads[:i])
				if sendErr != nil {
					return n + sent, sendErr
				}
				return n + sent, fmt.Errorf("jetstream: encoding a value: %w", err)
			}
		}
		sent, err := to.publisher.sendBatch(ctx, payloads)
		if n += sent; err != nil {
			return n, err
		}
	}
	return n, nil
}

// Recv receives the next value, and waits if necessary. The value is acknowledged as Recv
// returns it: if this process dies before it has processed the value, the value is lost.
// To prevent that, receive from [Channel.Deliveries].
//
// It fails with [sluice.ErrClosed] once the channel is closed, by any process, and
// drained; with [ErrShutdown] and [ErrDeleted]; and with the error of ctx. After an error
// no value was consumed. Recv waits for a connection that is lost.
func (c *Channel[T]) Recv(ctx context.Context) (T, error) {
	var buf [1]T
	_, err := c.RecvBatch(ctx, buf[:])
	return buf[0], err
}

// TryRecv receives the next value if there is one. It waits only for the servers' answer,
// for at most one second.
func (c *Channel[T]) TryRecv() (T, error) {
	var buf [1]T
	_, err := c.TryRecvBatch(buf[:])
	return buf[0], err
}

// RecvBatch waits for a value, then takes up to len(buf) that have been fetched, in order.
func (c *Channel[T]) RecvBatch(ctx context.Context, buf []T) (n int, err error) {
	notNil(ctx, "RecvBatch")
	return c.receive(buf, func(ms []*message) (*core, int, error) { return c.lanes.take(ctx, ms, asValues) })
}

// TryRecvBatch receives up to len(buf) values if there are any: those that have been
// fetched, or else those that one request brings. It waits as TryRecv does.
func (c *Channel[T]) TryRecvBatch(buf []T) (n int, err error) {
	return c.receive(buf, func(ms []*message) (*core, int, error) { return c.lanes.tryTake(ms, asValues) })
}

func (c *Channel[T]) receive(buf []T, take takeFunc) (int, error) {
	return receive(c, buf, take, func(from *core, m *message, v T, decodeErr error) (T, error) {
		if decodeErr != nil { // an unreadable dead letter: only a Delivery can show it
			from.nak(m, from.config.nackDelay)
			return v, decodeErr
		}
		return v, from.deliveries.ack(m)
	})
}

// A takeFunc takes messages of one stream.
type takeFunc func([]*message) (from *core, n int, err error)

// receive takes messages, and converts each with convert into what the caller gets. It
// skips those that go to the dead letters instead, and those that could not be
// acknowledged, which are redelivered. If none is left, it takes others.
func receive[T, Out any](c *Channel[T], buf []Out, take takeFunc, convert func(*core, *message, T, error) (Out, error)) (int, error) {
	if len(buf) == 0 {
		return 0, nil
	}
	var one [1]*message
	messages := one[:]
	if len(buf) > 1 {
		messages = make([]*message, min(len(buf), c.core.config.prefetch))
	}
	for {
		from, taken, err := take(messages)
		if err != nil {
			return 0, err
		}
		n := 0
		var unreadable error
		for _, m := range messages[:taken] {
			if from.overdue(m) { // the process was paused: the servers redeliver it
				continue
			}
			value, err := c.codec.Decode(m.data)
			if err != nil && !from.config.dead {
				from.dead.move(m, "codec "+c.codec.Name()+" cannot decode it: "+err.Error())
				continue
			}
			if from.dead.exhausted(m) {
				continue
			}
			if buf[n], err = convert(from, m, value, err); err == nil {
				n++
			} else if from.config.dead {
				unreadable = err
			}
		}
		clear(buf[n:taken])
		if n > 0 {
			from.counters.received.Add(uint64(n))
			return n, nil
		}
		if unreadable != nil {
			return 0, unreadable
		}
	}
}

// Values returns a loop over the values of the channel, which receives until the channel
// is closed and drained, or ctx is done while it waits. As with Recv, each value is
// acknowledged as the loop gets it.
func (c *Channel[T]) Values(ctx context.Context) *sluice.Values[T] {
	notNil(ctx, "Values")
	return sluice.NewValues[T](ctx, c)
}

// Ready returns a channel for a select statement beside built-in channels:
//
//	case _, ok := <-jobs.Ready():
//		for job := range jobs.Drain() {
//			…
//		}
//
// It becomes readable when TryRecv may return a value, and is closed after Close, when ok
// is false; to receive what is left then, use Recv or Values. From the first call on, one
// value is fetched in advance. Every call returns the same channel.
func (c *Channel[T]) Ready() <-chan struct{} { return c.lanes.readyChan() }

// Drain returns an iterator over the values that are stored when the loop begins and that
// no other receiver takes first. It waits for the servers' answers, as TryRecv does.
func (c *Channel[T]) Drain() iter.Seq[T] {
	return func(yield func(T) bool) {
		for left := max(1, c.Len()); left > 0; left-- {
			v, err := c.TryRecv()
			if err != nil || !yield(v) {
				return
			}
		}
	}
}

// Deliveries returns a receiver for jobs: its values are acknowledged by their receiver.
func (c *Channel[T]) Deliveries() Deliveries[T] { return Deliveries[T]{shared: shared{}, c: c} }

// Close closes the channel for all processes, for good: the servers accept no more values,
// and receivers get [sluice.ErrClosed] once all that are stored are acknowledged. Close
// waits up to ten seconds for the servers. If they do not confirm it, it is retried in the
// background until Shutdown, and Stats has a warning. CloseContext returns an error instead.
func (c *Channel[T]) Close() {
	defer runtime.KeepAlive(c)
	_ = c.lanes.each(func(i int) error { c.lanes.all[i].stream.close(); return nil })
}

// CloseContext closes the channel as Close does. It returns nil once the servers have
// confirmed it, and otherwise an error when ctx is done.
func (c *Channel[T]) CloseContext(ctx context.Context) error {
	defer runtime.KeepAlive(c)
	return c.lanes.each(func(i int) error { return c.lanes.all[i].stream.seal(ctx) })
}

// Shutdown ends the use of the channel by this process. The channel itself stays open, and
// keeps its values: those that were fetched and not received are returned to the servers.
// Pending operations fail with [ErrShutdown]. Shutdown closes the connection, and stops the
// embedded server with its last channel.
//
// Settle all deliveries before: those in flight are redelivered after AckWait. So are, at
// the next Open, values that were fetched while an embedded server stopped.
func (c *Channel[T]) Shutdown(ctx context.Context) error {
	return c.lanes.each(func(i int) error { return c.lanes.all[i].shutdown(ctx) })
}

// Len returns how many values are stored, including those in flight. It asks the servers;
// if they do not answer within 250ms, it returns the last known number.
func (c *Channel[T]) Len() int { return c.lanes.total().Len }

// Cap returns [Options].Capacity.
func (c *Channel[T]) Cap() int { return c.lanes.capacity() }

// Stats returns the counters of the channel. Len, HighWater, OldestValue, Disk.Bytes and
// Closed are about all processes; the servers are asked as in Len. OldestValue includes
// values in flight. All others count this process only.
// Dropped counts dead letters. Disk.Warning is not empty if a guarantee of this package is at
// risk.
func (c *Channel[T]) Stats() sluice.Stats { return c.lanes.total() }

// StreamStats returns the counters of each stream of a channel by key: one of any other. The
// Name is the name of the stream.
func (c *Channel[T]) StreamStats() []sluice.Stats { return c.lanes.stats() }

// DeadLetters opens the channel of the values that had MaxDeliver attempts without an
// acknowledgment, or that the codec could not decode. It has the name of this channel with
// the suffix "-dead", and needs a Shutdown of its own. Receive from its Deliveries, which
// have the reason.
func (c *Channel[T]) DeadLetters(ctx context.Context) (*Channel[T], error) {
	core, err := c.core.openDead(ctx)
	if err != nil {
		return nil, err
	}
	return newChannel(core, c.codec), nil
}
