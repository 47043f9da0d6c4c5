package contender

import (
	"context"
	"fmt"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/batch"
)

// batching is a sluice.Bounded whose users have values one by one, and batch them:
// each sender has a Batcher, receivers take what a RecvBatch or Batches gives.
type batching struct {
	bounded
	size   int
	linger time.Duration
}

func (k batching) SendRange(lo, hi uint64) {
	b := batch.NewSender(k.c, k.size, k.linger)
	for v := lo; v < hi; v++ {
		if b.Send(k.ctx, v) != nil {
			return
		}
	}
	_ = b.Close(k.ctx) // what it could not send, the tally misses
}

func (k batching) Drain() Tally {
	if k.linger == 0 {
		return k.DrainBatch(k.size)
	}
	var t Tally
	for vs := range batch.Receive(k.ctx, k.c, k.size, k.linger).All() {
		t.AddAll(vs)
	}
	return t
}

// Batching is sluice.Bounded behind a sluice.Batcher of that size for each sender.
// Receivers use RecvBatch; with a linger they use batch.Receive, and both ends
// linger as long.
func Batching(ctx context.Context, size int, linger time.Duration) Contender {
	name := fmt.Sprintf("sluice.Batcher %d", size)
	if linger > 0 {
		name += fmt.Sprintf(" and Batches, linger %v", linger)
	}
	return own(name, Buffered, ctx, nil, func(capacity int) Channel {
		return batching{bounded{ctx, sluice.NewBounded[uint64](capacity, nil)}, size, linger}
	})
}
