package contender

import (
	"context"
	"fmt"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/batch"
	"github.com/sluice-go/sluice/bridge"
	"github.com/sluice-go/sluice/workers"
)

// ours has the loops over a kind of this library. Those that move values one by
// one have a case for each kind: a type parameter would make each call go
// through a dictionary, an interface through a method table, and a user of the
// concrete type pays for neither. A failed send ends a loop; the tally reveals it.
type ours struct {
	ctx context.Context
	c   sluice.Channel[uint64]

	// size is how many values users move at once: those who send, those who
	// receive all, and workers. With 0 they move values one by one, and the
	// workers are workers.Run.
	size int
}

func (k ours) Send(lo, hi uint64) bool {
	if k.size > 0 {
		return k.sendBatches(lo, hi)
	}
	switch c := k.c.(type) {
	case *sluice.Rendezvous[uint64]:
		return SendEach(lo, hi, func(v uint64) bool { return c.Send(k.ctx, v) == nil })
	case *sluice.Bounded[uint64]:
		return SendEach(lo, hi, func(v uint64) bool { return c.Send(k.ctx, v) == nil })
	case *sluice.Elastic[uint64]:
		return SendEach(lo, hi, func(v uint64) bool { return c.Send(k.ctx, v) == nil })
	case *sluice.Sharded[uint64]:
		return SendEach(lo, hi, func(v uint64) bool { return c.Send(k.ctx, v) == nil })
	}
	panic(fmt.Sprintf("contender: no loop that sends to a %T", k.c))
}

func (k ours) Recv(most uint64) Tally {
	if k.size > 0 && most == All {
		var t Tally
		k.eachBatch(t.AddAll)
		return t
	}
	switch c := k.c.(type) {
	case *sluice.Rendezvous[uint64]:
		return RecvEach(most, func() (uint64, bool) { v, err := c.Recv(k.ctx); return v, err == nil })
	case *sluice.Bounded[uint64]:
		return RecvEach(most, func() (uint64, bool) { v, err := c.Recv(k.ctx); return v, err == nil })
	case *sluice.Elastic[uint64]:
		return RecvEach(most, func() (uint64, bool) { v, err := c.Recv(k.ctx); return v, err == nil })
	case *sluice.Sharded[uint64]:
		return RecvEach(most, func() (uint64, bool) { v, err := c.Recv(k.ctx); return v, err == nil })
	case *sluice.Priority[uint64]:
		return RecvEach(most, func() (uint64, bool) { v, err := c.Recv(k.ctx); return v, err == nil })
	}
	panic(fmt.Sprintf("contender: no loop that receives from a %T", k.c))
}

func (k ours) sendBatches(lo, hi uint64) bool {
	batch := make([]uint64, k.size)
	for lo < hi {
		batch = batch[:min(uint64(k.size), hi-lo)]
		lo = fill(batch, lo)
		if _, err := k.c.SendBatch(k.ctx, batch); err != nil {
			return false
		}
	}
	return true
}

// eachBatch receives until the channel is closed and drained.
func (k ours) eachBatch(take func(batch []uint64)) {
	buf := make([]uint64, k.size)
	for {
		n, err := k.c.RecvBatch(k.ctx, buf)
		if err != nil {
			return
		}
		take(buf[:n])
	}
}

// Serve is workers.Run, or a simple version of it: workers that take batches of a
// fixed size, regardless of the jobs' duration, and never share their batch, with the
// tail latency that workers.Run avoids.
func (k ours) Serve(count int, job func(v uint64)) {
	if k.size > 0 {
		each(count, func() {
			k.eachBatch(func(batch []uint64) {
				for _, v := range batch {
					job(v)
				}
			})
		})
		return
	}
	err := workers.Run(k.ctx, k.c, count, func(_ context.Context, v uint64) error {
		job(v)
		return nil
	}, nil)
	if err != nil {
		panic(err)
	}
}

// InBatches is of a kind itself: a type here that embeds ours has its own way to send,
// which is lost.
func (k ours) InBatches(size int) Channel {
	k.size = size
	return k
}

func (k ours) Close() { k.c.Close() }

// Options are the settings in which contenders of one kind differ. Each kind
// uses the fields that it has an option for.
type Options struct {
	SingleSender   bool
	SingleReceiver bool
	Shrink         sluice.ShrinkMode
}

// own returns a contender of this library. Its name has the options, so that no
// two variants share a name.
func own(name string, b Bound, ctx context.Context, o *Options, build func(capacity int, o Options) Channel) Contender {
	if o == nil {
		o = new(Options)
	} else {
		name += fmt.Sprintf(" %+v", *o)
	}
	if ctx.Done() != nil {
		name += ", ctx"
	}
	return Contender{
		Name: name, Bound: b, OneSender: o.SingleSender, OneReceiver: o.SingleReceiver,
		Make: func(capacity int) Channel { return build(capacity, *o) },
	}
}

// Rendezvous is sluice.Rendezvous. Here as below, every operation uses ctx, and o
// may be nil.
func Rendezvous(ctx context.Context, o *Options) Contender {
	return own("sluice.Rendezvous", UnbufferedOnly, ctx, o, func(_ int, o Options) Channel {
		return ours{ctx: ctx, c: sluice.NewRendezvous(&sluice.RendezvousOptions[uint64]{SingleSender: o.SingleSender, SingleReceiver: o.SingleReceiver})}
	})
}

func newBounded(capacity int, o Options) *sluice.Bounded[uint64] {
	return sluice.NewBounded(capacity, &sluice.BoundedOptions[uint64]{SingleSender: o.SingleSender, SingleReceiver: o.SingleReceiver})
}

// Bounded is sluice.Bounded of the given capacity.
func Bounded(ctx context.Context, o *Options) Contender {
	return own("sluice.Bounded", Buffered, ctx, o, func(capacity int, o Options) Channel {
		return ours{ctx: ctx, c: newBounded(capacity, o)}
	})
}

// batching is a Bounded whose users send values one by one through a batch.Sender
// each; receivers use RecvBatch.
type batching struct{ ours }

func (k batching) Send(lo, hi uint64) bool {
	b := batch.NewSender(k.c, k.size, nil)
	sent := SendEach(lo, hi, func(v uint64) bool { return b.Send(k.ctx, v) == nil })
	return b.Close(k.ctx) == nil && sent
}

// Batching is sluice.Bounded with a batch.Sender of the given size for each
// sender, and receivers that use RecvBatch.
func Batching(ctx context.Context, size int) Contender {
	return own(fmt.Sprintf("batch.Sender %d", size), Buffered, ctx, nil, func(capacity int, o Options) Channel {
		return batching{ours{ctx, newBounded(capacity, o), size}}
	})
}

// lingering is a Bounded with one sender, which uses a batch.Sender that lingers.
type lingering struct {
	ours
	sender *batch.Sender[uint64]
}

func (k lingering) Send(lo, hi uint64) bool {
	return SendEach(lo, hi, func(v uint64) bool { return k.sender.Send(k.ctx, v) == nil })
}

func (k lingering) Close() {
	_ = k.sender.Close(k.ctx)
	k.ours.Close()
}

// Lingering is sluice.Bounded for one sender, which sends values one by one through a
// batch.Sender of the given size and linger. Its workers are workers.Run.
func Lingering(ctx context.Context, size int, linger time.Duration) Contender {
	c := own(fmt.Sprintf("batch.Sender %d, linger %v", size, linger), Buffered, ctx, nil, func(capacity int, o Options) Channel {
		k := ours{ctx: ctx, c: newBounded(capacity, o)}
		return lingering{k, batch.NewSender(k.c, size, &batch.Options[uint64]{Linger: linger})}
	})
	c.OneSender, c.LoopsOnly = true, true // a single value would wait for the linger
	return c
}

func newElastic(o Options) *sluice.Elastic[uint64] {
	return sluice.NewElastic(sluice.Unlimited, &sluice.ElasticOptions[uint64]{
		SingleSender: o.SingleSender, SingleReceiver: o.SingleReceiver, Shrink: o.Shrink})
}

// Elastic is sluice.Elastic without a limit.
func Elastic(ctx context.Context, o *Options) Contender {
	return own("sluice.Elastic", UnboundedOnly, ctx, o, func(_ int, o Options) Channel { return ours{ctx: ctx, c: newElastic(o)} })
}

// Pipe is a bridge.Pipe over a sluice.Elastic without a limit: built-in
// channels at both ends, like the published elastic channel. The Pipe keeps its
// single-sender and single-receiver promises, however many goroutines use the
// built-in ends.
func Pipe(o *Options) Contender {
	c := own("bridge.Pipe", UnboundedOnly, context.Background(), o, func(_ int, o Options) Channel {
		p := bridge.NewPipe(newElastic(o))
		return OverEnds(p.In, p.Out)
	})
	c.OneSender, c.OneReceiver = false, false
	return c
}

// Sharded is sluice.Sharded without a limit, which keeps no order.
func Sharded(ctx context.Context) Contender {
	c := own("sluice.Sharded", UnboundedOnly, ctx, nil, func(int, Options) Channel {
		return ours{ctx: ctx, c: sluice.NewSharded[uint64](sluice.Unlimited, nil)}
	})
	c.AnyOrder = true
	return c
}

// ShardedBounded is a Sharded with the capacity as the limit of each lane.
func ShardedBounded(ctx context.Context) Contender {
	c := own("sluice.Sharded, limited", Buffered, ctx, nil, func(capacity int, _ Options) Channel {
		return ours{ctx: ctx, c: sluice.NewSharded[uint64](capacity, nil)}
	})
	c.AnyOrder = true
	return c
}

// byLane is a Sharded whose senders have a lane each, and whose receivers receive
// in batches.
type byLane struct{ ours }

func (k byLane) Send(lo, hi uint64) bool {
	lane := k.c.(*sluice.Sharded[uint64]).Lane()
	defer lane.Close()
	return SendEach(lo, hi, func(v uint64) bool { return lane.Send(k.ctx, v) == nil })
}

// ShardedLanes is a Sharded with a lane per sender, with the capacity as the
// limit of each lane, and receivers that receive in batches of 256.
func ShardedLanes(ctx context.Context) Contender {
	return own("sluice.Sharded, lanes, runs", Buffered, ctx, nil, func(capacity int, _ Options) Channel {
		return byLane{ours{ctx, sluice.NewSharded[uint64](capacity, nil), 256}}
	})
}
