package contender

import (
	"context"

	"github.com/sluice-go/sluice/internal/engine"
	"github.com/sluice-go/sluice/internal/handoff"
)

// A withoutHandOff uses the engine of a Rendezvous or a small Bounded in a mode
// where a woken goroutine retries instead of being handed a value: the second
// study asks what the hand-off is worth. The library does not offer this mode.
type withoutHandOff struct {
	ctx context.Context
	c   engine.Engine[uint64] // called through an interface, as the kinds call it
}

func newWithoutHandOff(ctx context.Context, capacity int, o *Options) Channel {
	return withoutHandOff{ctx, handoff.New(engine.Config[uint64]{
		Limit: capacity, NoHandOff: true, SingleSender: o.SingleSender, SingleReceiver: o.SingleReceiver,
	})}
}

func (k withoutHandOff) SendRange(lo, hi uint64) {
	for v := lo; v < hi; v++ {
		if k.c.Send(k.ctx, v) != nil {
			return
		}
	}
}

func (k withoutHandOff) Drain() Tally {
	var t Tally
	for {
		v, err := k.c.Recv(k.ctx)
		if err != nil {
			return t
		}
		t.Add(v)
	}
}

func (k withoutHandOff) SendRangeBatch(lo, hi uint64, size int) {
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

func (k withoutHandOff) DrainBatch(size int) Tally {
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

func (k withoutHandOff) Send(v uint64) { _ = k.c.Send(k.ctx, v) }

func (k withoutHandOff) Recv() (uint64, bool) {
	v, err := k.c.Recv(k.ctx)
	return v, err == nil
}

func (k withoutHandOff) Close() { k.c.Close() }
