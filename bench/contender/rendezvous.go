package contender

import (
	"context"

	"github.com/sluice-go/sluice"
)

// A failed send ends the loop, here and in the other kinds; the tally reveals
// it.
type rendezvous struct {
	ctx context.Context
	c   *sluice.Rendezvous[uint64]
}

func (k rendezvous) SendRange(lo, hi uint64) {
	for v := lo; v < hi; v++ {
		if k.c.Send(k.ctx, v) != nil {
			return
		}
	}
}

func (k rendezvous) Drain() Tally {
	var t Tally
	for {
		v, err := k.c.Recv(k.ctx)
		if err != nil {
			return t
		}
		t.Add(v)
	}
}

func (k rendezvous) SendRangeBatch(lo, hi uint64, size int) {
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

func (k rendezvous) DrainBatch(size int) Tally {
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

func (k rendezvous) Send(v uint64) bool { return k.c.Send(k.ctx, v) == nil }

func (k rendezvous) Recv() (uint64, bool) {
	v, err := k.c.Recv(k.ctx)
	return v, err == nil
}

func (k rendezvous) Close() { k.c.Close() }

// Rendezvous is sluice.Rendezvous; every operation uses ctx. o may be nil.
func Rendezvous(ctx context.Context, o *Options) Contender {
	return own("sluice.Rendezvous", UnbufferedOnly, ctx, o, func(_ int) Channel {
		return rendezvous{ctx, sluice.NewRendezvous((*sluice.RendezvousOptions[uint64])(o.bounded()))}
	})
}
