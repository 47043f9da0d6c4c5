package contender

import (
	"context"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/bridge"
)

type elastic struct {
	ctx context.Context
	c   *sluice.Elastic[uint64]
}

func (k elastic) SendRange(lo, hi uint64) {
	for v := lo; v < hi; v++ {
		if k.c.Send(k.ctx, v) != nil {
			return
		}
	}
}

func (k elastic) Drain() Tally {
	var t Tally
	for {
		v, err := k.c.Recv(k.ctx)
		if err != nil {
			return t
		}
		t.Add(v)
	}
}

func (k elastic) SendRangeBatch(lo, hi uint64, size int) {
	batch := make([]uint64, size)
	for lo < hi {
		batch = batch[:min(uint64(size), hi-lo)]
		fill(batch, lo)
		lo += uint64(len(batch))
		if _, err := k.c.SendBatch(k.ctx, batch); err != nil {
			return
		}
	}
}

func (k elastic) DrainBatch(size int) Tally {
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

func (k elastic) Send(v uint64) bool { return k.c.Send(k.ctx, v) == nil }

func (k elastic) Recv() (uint64, bool) {
	v, err := k.c.Recv(k.ctx)
	return v, err == nil
}

func (k elastic) Close() { k.c.Close() }

// Elastic is sluice.Elastic without a limit; every operation uses ctx. o may be
// nil.
func Elastic(ctx context.Context, o *Options) Contender {
	return own("sluice.Elastic", UnboundedOnly, ctx, o, func(_ int) Channel {
		return elastic{ctx, sluice.NewElastic[uint64](sluice.Unlimited, o.elastic())}
	})
}

// Pipe is a bridge.Pipe over a sluice.Elastic without a limit: built-in
// channels at both ends, like the published elastic channel. o may be nil; the
// Pipe keeps its single-sender and single-receiver promises, however many
// goroutines use the built-in ends.
func Pipe(o *Options) Contender {
	c := own("bridge.Pipe", UnboundedOnly, context.Background(), o, func(int) Channel {
		p := bridge.NewPipe(sluice.NewElastic[uint64](sluice.Unlimited, o.elastic()))
		return OverEnds(p.In, p.Out)
	})
	c.OneSender, c.OneReceiver = false, false
	return c
}
