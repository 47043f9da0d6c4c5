package jetstream

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/codec"
	"github.com/sluice-go/sluice/inspect"
)

// A Keyed is a channel over several streams, chosen by a key of each value: for more values
// than one stream can take, as the servers share the streams among them. Its methods are
// safe for concurrent use. It implements [sluice.Channel].
//
// Order: the values of one key that a sender sends one at a time, or with one SendBatch,
// keep their order, and so do values of several senders that wait for each other. There is
// no order across keys. Several receivers and redeliveries reorder values, as in a
// [Channel]; with [Options].Ordered, a value is received only after the one before it in
// its stream was acknowledged, by any process, so the values of a key arrive in order. All
// that holds while processes come and go, and while [Keyed.Resize] changes the number of
// streams: the values of a key that are not acknowledged are always in one stream.
//
// The guarantees of a Channel hold for each stream. [Options].Limit, LimitBytes, Prefetch
// and Ordered are per stream. A stream that has no leader delays the values of its keys,
// and no others.
type Keyed[T any] struct {
	shared
	core  *keyedCore
	codec codec.Codec[T]
	key   func(T) string
}

var _ sluice.Channel[int] = (*Keyed[int])(nil)

// OpenKeyed opens the channel that o names, and creates it with a number of streams, 1 to
// 1024, if it does not exist; an existing one keeps its number, which only Resize changes.
// key returns the key of a value; it must be the same function in all processes, safe for
// concurrent use, and depend on the value only. ctx limits the opening only. Call
// [Keyed.Shutdown] at the end.
//
// The channel uses streams whose names begin with the Name of o, which has at most 160
// bytes. A [Channel] of the same name is another channel.
func OpenKeyed[T any](ctx context.Context, streams int, key func(T) string, o *Options[T]) (*Keyed[T], error) {
	if key == nil {
		panic("jetstream: OpenKeyed: nil key")
	}
	if err := checkStreams("OpenKeyed", streams); err != nil {
		return nil, err
	}
	config, values, err := o.resolve()
	if err == nil && len(config.name) > maxKeyedName {
		err = fmt.Errorf("jetstream: OpenKeyed: Name has %d bytes (want at most %d)", len(config.name), maxKeyedName)
	}
	if err != nil {
		return nil, err
	}
	core, err := openKeyed(ctx, config, streams, func(c *core) any { return &Channel[T]{core: c, codec: values} })
	if err != nil {
		return nil, err
	}
	c := &Keyed[T]{core: core, codec: values, key: key}
	inspect.Register(config.name, "JetStream by key", c)
	return c, nil
}

// Send stores v in the stream of its key, as [Channel.Send] does, with its errors. While
// Resize moves the key to another stream, it waits until no value of the key can be stored
// in the old one anymore: with several replicas, for two seconds.
//
// If the answer to an attempt is lost just before the key moves, the outcome stays unknown:
// the error is an [UnknownError], whose Retry fails, as only the old stream could recognize
// the retry.
func (c *Keyed[T]) Send(ctx context.Context, v T) error {
	if ctx == nil {
		panic("jetstream: Send: nil context")
	}
	return c.send(ctx, v, waitRoom)
}

// TrySend makes one attempt to store v, and waits only for the servers' answers. It fails
// with [sluice.ErrFull] if there is no room in the stream of its key, or while Resize moves
// the key, and otherwise as Send does.
func (c *Keyed[T]) TrySend(v T) error { return c.send(context.Background(), v, waitNever) }

func (c *Keyed[T]) send(ctx context.Context, v T, policy waitPolicy) error {
	if err := c.core.sendErr(c.core.layout.Load()); err != nil {
		return err
	}
	payload, err := c.codec.Append(nil, v)
	if err != nil {
		return fmt.Errorf("jetstream: encoding a value: %w", err)
	}
	return c.core.send(ctx, hashKey(c.key(v)), payload, policy)
}

// SendBatch stores vs: the values of each stream in order and in atomic batches, as
// [Channel.SendBatch] does, and different streams in parallel. It returns how many
// values are known to be stored before the first one that is not. If values after that one
// are stored, too, because their keys have other streams, the error is a [BatchError], which
// has the values that are left: sending them again, in order, keeps the order of each key.
// Otherwise the errors are as for Channel.SendBatch.
//
// A batch costs each stream the same as one value does, so it should have many values for
// each stream.
func (c *Keyed[T]) SendBatch(ctx context.Context, vs []T) (n int, err error) {
	if ctx == nil {
		panic("jetstream: SendBatch: nil context")
	}
	for n < len(vs) {
		if err := c.core.sendErr(c.core.layout.Load()); err != nil {
			return n, err
		}
		most := maxBatch * len(c.core.layout.Load().lanes)
		part := vs[n:min(len(vs), n+most)]
		payloads, hashes, codecErr := c.encode(part)
		sent, err := c.core.sendBatch(ctx, hashes, payloads)
		if batch := (*BatchError)(nil); errors.As(err, &batch) {
			batch.shift(n, n+len(payloads), len(vs))
		}
		if n += sent; err != nil {
			return n, err
		}
		if codecErr != nil { // the values before it are sent, as they would be one by one
			return n, fmt.Errorf("jetstream: encoding a value: %w", codecErr)
		}
	}
	return n, nil
}

// encode returns the payloads and the hashes of vs, up to the first that fails.
func (c *Keyed[T]) encode(vs []T) (payloads [][]byte, hashes []uint64, err error) {
	payloads, hashes = make([][]byte, 0, len(vs)), make([]uint64, 0, len(vs))
	for _, v := range vs {
		payload, err := c.codec.Append(nil, v)
		if err != nil {
			return payloads, hashes, err
		}
		payloads, hashes = append(payloads, payload), append(hashes, hashKey(c.key(v)))
	}
	return payloads, hashes, nil
}

// Recv receives the next value of any stream, and waits if necessary. The rest is as for
// [Channel.Recv]: the value is acknowledged as Recv returns it.
func (c *Keyed[T]) Recv(ctx context.Context) (T, error) {
	var buf [1]T
	_, err := c.RecvBatch(ctx, buf[:])
	return buf[0], err
}

// TryRecv receives the next value if there is one. It waits only for the servers' answers,
// for at most one second.
func (c *Keyed[T]) TryRecv() (T, error) {
	var buf [1]T
	_, err := c.TryRecvBatch(buf[:])
	return buf[0], err
}

// RecvBatch waits for a value, then takes up to len(buf) of its stream that have been
// fetched, in order. Streams take turns.
func (c *Keyed[T]) RecvBatch(ctx context.Context, buf []T) (n int, err error) {
	if ctx == nil {
		panic("jetstream: RecvBatch: nil context")
	}
	if len(buf) == 0 {
		return 0, nil
	}
	return c.core.next(ctx, takeValues(buf))
}

// TryRecvBatch receives up to len(buf) values of one stream if there are any. It waits as
// TryRecv does.
func (c *Keyed[T]) TryRecvBatch(buf []T) (n int, err error) {
	if len(buf) == 0 {
		return 0, nil
	}
	return c.core.tryNext(takeValues(buf))
}

// takeValues returns a function that receives values from a lane.
func takeValues[T any](buf []T) takeFunc {
	return func(l *lane) (int, error) {
		return l.channel.(*Channel[T]).receive(buf, func(ms []*message) (int, error) { return l.core.inbox.takeNow(ms, asValues) })
	}
}

// Values returns a loop over the values of the channel, as [Channel.Values] does.
func (c *Keyed[T]) Values(ctx context.Context) *sluice.Values[T] {
	if ctx == nil {
		panic("jetstream: Values: nil context")
	}
	return sluice.NewValues[T](ctx, c)
}

// Ready returns a channel for a select statement, as [Channel.Ready] does. From the first
// call on, one value of each stream is fetched in advance.
func (c *Keyed[T]) Ready() <-chan struct{} { return c.core.readyChan() }

// Drain returns an iterator over the values that are stored when the loop begins and that
// no other receiver takes first. It waits for the servers' answers, as TryRecv does.
func (c *Keyed[T]) Drain() iter.Seq[T] {
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
func (c *Keyed[T]) Deliveries() KeyedDeliveries[T] { return KeyedDeliveries[T]{c: c} }

// Resize changes the number of streams to n, 1 to 1024, for all processes. It returns nil
// once the servers have n streams and accept no more values in those before, whose values
// are received first: a value of the new streams is received once all values of its range
// of keys in the old ones are acknowledged. So a delivery that is not settled delays those
// keys. The old streams are deleted by a receiver.
//
// With several replicas, sends wait for two seconds, and the values after them at least as
// long. If the process dies meanwhile, the channel has either number of streams, and other
// processes complete the rest; calling Resize again is safe. It fails with
// [sluice.ErrClosed], [ErrShutdown], [ErrNoSpace], the error of ctx, if another process
// resizes the channel at the same time, or if the old streams of the last four changes are
// not drained.
func (c *Keyed[T]) Resize(ctx context.Context, n int) error {
	if err := checkStreams("Resize", n); err != nil {
		return err
	}
	return c.core.resize(ctx, n)
}

// Close closes the channel for all processes, for good, as [Channel.Close] does.
func (c *Keyed[T]) Close() { c.core.closeLater() }

// CloseContext closes the channel as Close does. It returns nil once the servers have
// confirmed it for all streams, and otherwise an error when ctx is done.
func (c *Keyed[T]) CloseContext(ctx context.Context) error { return c.core.close(ctx) }

// Shutdown ends the use of the channel by this process, as [Channel.Shutdown] does.
func (c *Keyed[T]) Shutdown(ctx context.Context) error { return c.core.shutdown(ctx) }

// Len returns how many values are stored in all streams, including those in flight. It asks
// the servers, for each stream.
func (c *Keyed[T]) Len() int { return c.core.length() }

// Cap returns the sum of [Options].Limit over the streams.
func (c *Keyed[T]) Cap() int { return c.core.capacity() }

// Stats returns the sums of the counters of all streams, as [Channel.Stats] does. HighWater
// and OldestValue are the maximum over the streams; Lanes is the number of streams, without
// those that Resize replaced.
func (c *Keyed[T]) Stats() sluice.Stats { return c.core.total(c.core.stats()) }

// StreamStats returns the counters of each stream, including those that Resize replaced and
// that are not drained. The Name is the name of the stream.
func (c *Keyed[T]) StreamStats() []sluice.Stats { return c.core.stats() }

// DeadLetters opens the channel of dead letters, as [Channel.DeadLetters] does: one channel
// for all streams.
func (c *Keyed[T]) DeadLetters(ctx context.Context) (*Channel[T], error) {
	config := c.core.config
	config.deadName = config.name + deadSuffix
	if c.core.life.shutdown.Load() || !c.core.conn.share() {
		return nil, ErrShutdown
	}
	opened, err := openCore(ctx, config.deadLetters(), c.core.conn)
	if err != nil {
		return nil, err
	}
	return newChannel(opened, c.codec), nil
}

// KeyedDeliveries is the receiving side of a [Keyed] whose values are acknowledged by their
// receiver, as [Deliveries] is for a [Channel].
type KeyedDeliveries[T any] struct {
	shared
	c *Keyed[T]
}

var _ sluice.BatchReceiver[*Delivery[int]] = KeyedDeliveries[int]{}

// Recv receives the next value of any stream, and waits if necessary. It fails with
// ErrClosed once the channel is closed and every value is acknowledged.
func (r KeyedDeliveries[T]) Recv(ctx context.Context) (*Delivery[T], error) {
	var buf [1]*Delivery[T]
	_, err := r.RecvBatch(ctx, buf[:])
	return buf[0], err
}

// TryRecv receives the next value if there is one. It waits only for the servers' answers.
func (r KeyedDeliveries[T]) TryRecv() (*Delivery[T], error) {
	var buf [1]*Delivery[T]
	_, err := r.TryRecvBatch(buf[:])
	return buf[0], err
}

// RecvBatch waits for a value, then takes up to len(buf) of its stream, as
// [Deliveries.RecvBatch] does. Streams take turns.
func (r KeyedDeliveries[T]) RecvBatch(ctx context.Context, buf []*Delivery[T]) (int, error) {
	if ctx == nil {
		panic("jetstream: RecvBatch: nil context")
	}
	if len(buf) == 0 {
		return 0, nil
	}
	return r.c.core.next(ctx, takeDeliveries(buf))
}

// TryRecvBatch receives up to len(buf) values of one stream if there are any.
func (r KeyedDeliveries[T]) TryRecvBatch(buf []*Delivery[T]) (int, error) {
	if len(buf) == 0 {
		return 0, nil
	}
	return r.c.core.tryNext(takeDeliveries(buf))
}

// takeDeliveries returns a function that receives deliveries from a lane.
func takeDeliveries[T any](buf []*Delivery[T]) takeFunc {
	return func(l *lane) (int, error) {
		from := Deliveries[T]{c: l.channel.(*Channel[T])}
		return from.receive(buf, func(ms []*message) (int, error) { return l.core.inbox.takeNow(ms, asDeliveries) })
	}
}

// Ready returns the channel of [Keyed.Ready].
func (r KeyedDeliveries[T]) Ready() <-chan struct{} { return r.c.Ready() }
