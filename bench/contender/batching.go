package contender

import (
	"context"
	"fmt"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/batch"
)

// batching is a sluice.Bounded whose users send values one by one through a
// batch.Sender each; receivers use RecvBatch or batch.Receive.
type batching struct {
	bounded
	size   int
	linger time.Duration
}

func (k batching) SendRange(lo, hi uint64) {
	b := batch.NewSender(k.c, k.size, &batch.Options[uint64]{Linger: k.linger})
	for v := lo; v < hi; v++ {
		if b.Send(k.ctx, v) != nil {
			return
		}
	}
	_ = b.Close(k.ctx) // the tally reveals unsent values
}

func (k batching) Drain() Tally {
	if k.linger == 0 {
		return k.DrainBatch(k.size)
	}
	var t Tally
	for vs := range batch.Receive(k.ctx, k.c, k.size, &batch.Options[uint64]{Linger: k.linger}).All() {
		t.AddAll(vs)
	}
	return t
}

// Batching is sluice.Bounded with a batch.Sender of the given size for each
// sender. Receivers use RecvBatch; with a linger they use batch.Receive, with
// the same linger as the senders.
func Batching(ctx context.Context, size int, linger time.Duration) Contender {
	name := fmt.Sprintf("batch.Sender %d", size)
	if linger > 0 {
		name += fmt.Sprintf(" and batch.Receive, linger %v", linger)
	}
	return own(name, Buffered, ctx, nil, func(capacity int) Channel {
		return batching{bounded{ctx, sluice.NewBounded[uint64](capacity, nil)}, size, linger}
	})
}
