package contender

import (
	"context"

	"github.com/sluice-go/sluice"
)

// recvBuffer is the batch size of receivers that receive in batches.
const recvBuffer = 256

type sharded struct {
	ctx context.Context
	c   *sluice.Sharded[uint64]
}

func (k sharded) SendRange(lo, hi uint64) {
	for v := lo; v < hi; v++ {
		if k.c.Send(k.ctx, v) != nil {
			return
		}
	}
}

func (k sharded) Drain() Tally {
	var t Tally
	for {
		v, err := k.c.Recv(k.ctx)
		if err != nil {
			return t
		}
		t.Add(v)
	}
}

func (k sharded) SendRangeBatch(lo, hi uint64, size int) { k.sendBatches(k.c, lo, hi, size) }

func (k sharded) sendBatches(to sluice.BatchSender[uint64], lo, hi uint64, size int) {
	batch := make([]uint64, size)
	for lo < hi {
		batch = batch[:min(uint64(size), hi-lo)]
		fill(batch, lo)
		lo += uint64(len(batch))
		if _, err := to.SendBatch(k.ctx, batch); err != nil {
			return
		}
	}
}

func (k sharded) DrainBatch(size int) Tally {
	var t Tally
	buf := make([]uint64, size)
	for {
		n, err := k.c.RecvBatch(k.ctx, buf)
		if err != nil {
			return t
		}
		t.AddAll(buf[:n])
	}
}

func (k sharded) Send(v uint64) bool { return k.c.Send(k.ctx, v) == nil }

func (k sharded) Recv() (uint64, bool) {
	v, err := k.c.Recv(k.ctx)
	return v, err == nil
}

func (k sharded) Close() { k.c.Close() }

// byLane is a sharded whose senders have a lane each and send one by one, and
// whose receivers receive in batches.
type byLane struct{ sharded }

func (k byLane) SendRange(lo, hi uint64) {
	lane := k.c.Lane()
	defer lane.Close()
	for v := lo; v < hi; v++ {
		if lane.Send(k.ctx, v) != nil {
			return
		}
	}
}

func (k byLane) SendRangeBatch(lo, hi uint64, size int) {
	lane := k.c.Lane()
	defer lane.Close()
	k.sendBatches(lane, lo, hi, size)
}

func (k byLane) Drain() Tally { return k.DrainBatch(recvBuffer) }

// Sharded is sluice.Sharded without a limit, which keeps no order. o may be
// nil.
func Sharded(ctx context.Context, o *Options) Contender {
	c := own("sluice.Sharded", UnboundedOnly, ctx, o, func(int) Channel {
		return sharded{ctx, sluice.NewSharded(sluice.Unlimited, o.sharded())}
	})
	c.AnyOrder = true
	return c
}

// ShardedBounded is a Sharded with the capacity as the limit of each lane.
func ShardedBounded(ctx context.Context, o *Options) Contender {
	c := own("sluice.Sharded, limited", Buffered, ctx, o, func(capacity int) Channel {
		return sharded{ctx, sluice.NewSharded(capacity, o.sharded())}
	})
	c.AnyOrder = true
	return c
}

// ShardedLanes is a Sharded with a lane per sender, with the capacity as the
// limit of each lane, and receivers that receive in batches.
func ShardedLanes(ctx context.Context, o *Options) Contender {
	return own("sluice.Sharded, lanes, runs", Buffered, ctx, o, func(capacity int) Channel {
		return byLane{sharded{ctx, sluice.NewSharded(capacity, o.sharded())}}
	})
}
