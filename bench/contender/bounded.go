package contender

import (
	"context"

	"github.com/sluice-go/sluice"
)

type bounded struct {
	ctx context.Context
	c   *sluice.Bounded[uint64]
}

func (k bounded) SendRange(lo, hi uint64) {
	for v := lo; v < hi; v++ {
		if k.c.Send(k.ctx, v) != nil {
			return
		}
	}
}

func (k bounded) Drain() Tally {
	var t Tally
	for {
		v, err := k.c.Recv(k.ctx)
		if err != nil {
			return t
		}
		t.Add(v)
	}
}

func (k bounded) SendRangeBatch(lo, hi uint64, size int) {
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

func (k bounded) DrainBatch(size int) Tally {
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

func (k bounded) Send(v uint64) bool { return k.c.Send(k.ctx, v) == nil }

func (k bounded) Recv() (uint64, bool) {
	v, err := k.c.Recv(k.ctx)
	return v, err == nil
}

func (k bounded) Close() { k.c.Close() }

// Bounded is sluice.Bounded of the given capacity; every operation uses ctx. o
// may be nil.
func Bounded(ctx context.Context, o *Options) Contender {
	return own("sluice.Bounded", Buffered, ctx, o, func(capacity int) Channel {
		return bounded{ctx, sluice.NewBounded(capacity, o.bounded())}
	})
}
