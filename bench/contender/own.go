package contender

import (
	"context"
	"fmt"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/batch"
	"github.com/sluice-go/sluice/bridge"
)

// ours has the loops over a kind of this library. Those that move values one by
// one are written out for each kind: a type parameter would make each call go
// through a dictionary, an interface through a method table, and a user of the
// concrete type pays for neither. A failed send ends a loop; the tally reveals it.
type ours struct {
	ctx context.Context
	c   sluice.Channel[uint64]
}

func (k ours) Send(lo, hi uint64) bool {
	switch c := k.c.(type) {
	case *sluice.Rendezvous[uint64]:
		for ; lo < hi; lo++ {
			if c.Send(k.ctx, lo) != nil {
				return false
			}
		}
	case *sluice.Bounded[uint64]:
		for ; lo < hi; lo++ {
			if c.Send(k.ctx, lo) != nil {
				return false
			}
		}
	case *sluice.Elastic[uint64]:
		for ; lo < hi; lo++ {
			if c.Send(k.ctx, lo) != nil {
				return false
			}
		}
	case *sluice.Sharded[uint64]:
		for ; lo < hi; lo++ {
			if c.Send(k.ctx, lo) != nil {
				return false
			}
		}
	default:
		panic(fmt.Sprintf("contender: no loop that sends to a %T", c))
	}
	return true
}

func (k ours) Recv(most uint64) Tally {
	var t Tally
	switch c := k.c.(type) {
	case *sluice.Rendezvous[uint64]:
		for t.Count < most {
			v, err := c.Recv(k.ctx)
			if err != nil {
				break
			}
			t.Add(v)
		}
	case *sluice.Bounded[uint64]:
		for t.Count < most {
			v, err := c.Recv(k.ctx)
			if err != nil {
				break
			}
			t.Add(v)
		}
	case *sluice.Elastic[uint64]:
		for t.Count < most {
			v, err := c.Recv(k.ctx)
			if err != nil {
				break
			}
			t.Add(v)
		}
	case *sluice.Sharded[uint64]:
		for t.Count < most {
			v, err := c.Recv(k.ctx)
			if err != nil {
				break
			}
			t.Add(v)
		}
	case *sluice.Priority[uint64]:
		for t.Count < most {
			v, err := c.Recv(k.ctx)
			if err != nil {
				break
			}
			t.Add(v)
		}
	default:
		panic(fmt.Sprintf("contender: no loop that receives from a %T", c))
	}
	return t
}

func (k ours) SendBatches(lo, hi uint64, size int) {
	inBatches(lo, hi, size, func(batch []uint64) error {
		_, err := k.c.SendBatch(k.ctx, batch)
		return err
	})
}

// inBatches calls send with lo … hi-1 in batches, until it fails.
func inBatches(lo, hi uint64, size int, send func([]uint64) error) {
	batch := make([]uint64, size)
	for lo < hi {
		batch = batch[:min(uint64(size), hi-lo)]
		lo = fill(batch, lo)
		if send(batch) != nil {
			return
		}
	}
}

func (k ours) RecvBatches(size int) (t Tally) {
	buf := make([]uint64, size)
	for {
		n, err := k.c.RecvBatch(k.ctx, buf)
		if err != nil {
			return t
		}
		t.AddAll(buf[:n])
	}
}

func (k ours) Close() { k.c.Close() }

// Options are the settings in which contenders of one kind differ. Each kind
// uses the fields that it has an option for.
type Options struct {
	SingleSender   bool
	SingleReceiver bool
	Shrink         sluice.ShrinkMode
}

// own returns a contender of this library. Its name lists the options that
// differ from the defaults, so that no two variants share a name.
func own(name string, b Bound, ctx context.Context, o *Options, build func(capacity int, o Options) Channel) Contender {
	if o == nil {
		o = new(Options)
	}
	c := Contender{Name: name, Bound: b, OneSender: o.SingleSender, OneReceiver: o.SingleReceiver}
	c.Make = func(capacity int) Channel { return build(capacity, *o) }
	switch {
	case o.SingleSender && o.SingleReceiver:
		c.Name += ", one to one"
	case o.SingleSender:
		c.Name += ", single sender"
	case o.SingleReceiver:
		c.Name += ", single receiver"
	}
	if o.Shrink != sluice.ShrinkHalf {
		c.Name += ", " + o.Shrink.String()
	}
	if ctx.Done() != nil {
		c.Name += ", ctx"
	}
	return c
}

// Rendezvous is sluice.Rendezvous. Here as below, every operation uses ctx, and o
// may be nil.
func Rendezvous(ctx context.Context, o *Options) Contender {
	return own("sluice.Rendezvous", UnbufferedOnly, ctx, o, func(_ int, o Options) Channel {
		return ours{ctx, sluice.NewRendezvous(&sluice.RendezvousOptions[uint64]{SingleSender: o.SingleSender, SingleReceiver: o.SingleReceiver})}
	})
}

func newBounded(capacity int, o Options) *sluice.Bounded[uint64] {
	return sluice.NewBounded(capacity, &sluice.BoundedOptions[uint64]{SingleSender: o.SingleSender, SingleReceiver: o.SingleReceiver})
}

// Bounded is sluice.Bounded of the given capacity.
func Bounded(ctx context.Context, o *Options) Contender {
	return own("sluice.Bounded", Buffered, ctx, o, func(capacity int, o Options) Channel {
		return ours{ctx, newBounded(capacity, o)}
	})
}

// batching is a Bounded whose users send values one by one through a batch.Sender
// each; receivers use RecvBatch.
type batching struct {
	ours
	size int
}

func (k batching) Send(lo, hi uint64) bool {
	b, err := batch.NewSender(k.c, k.size, nil), error(nil)
	for ; lo < hi && err == nil; lo++ {
		err = b.Send(k.ctx, lo)
	}
	return b.Close(k.ctx) == nil && err == nil
}

func (k batching) Recv(most uint64) Tally {
	if most < All {
		return k.ours.Recv(most)
	}
	return k.RecvBatches(k.size)
}

// Batching is sluice.Bounded with a batch.Sender of the given size for each
// sender, and receivers that use RecvBatch.
func Batching(ctx context.Context, size int) Contender {
	return own(fmt.Sprintf("batch.Sender %d", size), Buffered, ctx, nil, func(capacity int, o Options) Channel {
		return batching{ours{ctx, newBounded(capacity, o)}, size}
	})
}

func newElastic(o Options) *sluice.Elastic[uint64] {
	return sluice.NewElastic(sluice.Unlimited, &sluice.ElasticOptions[uint64]{
		SingleSender: o.SingleSender, SingleReceiver: o.SingleReceiver, Shrink: o.Shrink})
}

// Elastic is sluice.Elastic without a limit.
func Elastic(ctx context.Context, o *Options) Contender {
	return own("sluice.Elastic", UnboundedOnly, ctx, o, func(_ int, o Options) Channel { return ours{ctx, newElastic(o)} })
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

// sharded returns a contender that is a sluice.Sharded.
func sharded(name string, b Bound, ctx context.Context, o *Options, build func(ours) Channel) Contender {
	return own(name, b, ctx, o, func(capacity int, o Options) Channel {
		if b == UnboundedOnly {
			capacity = sluice.Unlimited
		}
		c := sluice.NewSharded(capacity, &sluice.ShardedOptions[uint64]{SingleReceiver: o.SingleReceiver, Shrink: o.Shrink})
		return build(ours{ctx, c})
	})
}

// Sharded is sluice.Sharded without a limit, which keeps no order.
func Sharded(ctx context.Context, o *Options) Contender {
	c := sharded("sluice.Sharded", UnboundedOnly, ctx, o, func(k ours) Channel { return k })
	c.AnyOrder = true
	return c
}

// ShardedBounded is a Sharded with the capacity as the limit of each lane.
func ShardedBounded(ctx context.Context, o *Options) Contender {
	c := sharded("sluice.Sharded, limited", Buffered, ctx, o, func(k ours) Channel { return k })
	c.AnyOrder = true
	return c
}

// laneBuffer is the batch size of the receivers of a byLane.
const laneBuffer = 256

// byLane is a Sharded whose senders have a lane each, and whose receivers receive
// in batches.
type byLane struct{ ours }

func (k byLane) Send(lo, hi uint64) bool {
	lane, err := k.c.(*sluice.Sharded[uint64]).Lane(), error(nil)
	defer lane.Close()
	for ; lo < hi && err == nil; lo++ {
		err = lane.Send(k.ctx, lo)
	}
	return err == nil
}

func (k byLane) SendBatches(lo, hi uint64, size int) {
	lane := k.c.(*sluice.Sharded[uint64]).Lane()
	defer lane.Close()
	inBatches(lo, hi, size, func(batch []uint64) error {
		_, err := lane.SendBatch(k.ctx, batch)
		return err
	})
}

func (k byLane) Recv(most uint64) Tally {
	if most < All {
		return k.ours.Recv(most)
	}
	return k.RecvBatches(laneBuffer)
}

// ShardedLanes is a Sharded with a lane per sender, with the capacity as the
// limit of each lane, and receivers that receive in batches.
func ShardedLanes(ctx context.Context, o *Options) Contender {
	return sharded("sluice.Sharded, lanes, runs", Buffered, ctx, o, func(k ours) Channel { return byLane{k} })
}
