package batch

import (
	"context"
	"fmt"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/internal/engine"
)

// A channel is where a Sender sends to, and what decides how.
type channel[T any] struct {
	to    sluice.BatchSender[T]
	kind  bool // of package sluice: knows engine.NoWait
	drops bool // a kind whose policy drops values: a SendBatch that panics has sent them
}

func channelOf[T any](s sluice.BatchSender[T]) channel[T] {
	e, _ := engine.Of(s)
	p, ok := e.(interface{ Overflow() engine.Overflow })
	return channel[T]{to: s, kind: ours(s), drops: ok && p.Overflow() > engine.Reject}
}

// sendAll sends the values, in batches within the limit in bytes if there is one, and counts
// them in sent. Under engine.NoWait it fails with ErrFull instead of waiting.
func (c *channel[T]) sendAll(ctx context.Context, values *run[T], limit uint64, sent *int) error {
	for values.n > 0 {
		vs := values.batch(limit)
		var n int
		var err error
		switch {
		case c.drops:
			n, err = c.sendDropping(ctx, vs, sent)
		case c.kind || engine.MayWait(ctx):
			n, err = c.to.SendBatch(ctx, vs)
		default: // only the kinds know engine.NoWait
			vs = vs[:1]
			if err = c.to.TrySend(vs[0]); err == nil {
				n = 1
			}
		}
		if n < 0 || n > len(vs) || n < len(vs) && err == nil {
			panic(fmt.Sprintf("batch: Sender: SendBatch of %d values returned %d, %v", len(vs), n, err))
		}
		*sent += n
		if n < len(vs) {
			return err
		}
		values.skip(n)
	}
	return nil
}

// sendDropping is SendBatch of a channel that drops values. If that panics or calls Goexit, it
// has sent vs all the same, and they are added to sent.
func (c *channel[T]) sendDropping(ctx context.Context, vs []T, sent *int) (n int, err error) {
	returned := false
	defer func() {
		if !returned {
			*sent += len(vs)
		}
	}()
	n, err = c.to.SendBatch(ctx, vs)
	returned = true
	return n, err
}

// sendSized sends copies of vs, in batches within the limit, and returns how many were sent
// or dropped.
func (b *Sender[T]) sendSized(ctx context.Context, vs []T) (n int, err error) {
	var c cut
	for n < len(vs) {
		if b.sizing.extend(&c, vs[n:], len(vs)) == tooLarge && c.n == 0 {
			switch b.sizing.policy {
			case Fail:
				return n, b.sizing.failure(c.next)
			case Drop:
				c.skip()
				n++
				b.sizing.drop(vs[n-1])
				continue
			}
			c.alone()
		}
		values := runOf(vs[n : n+c.n])
		if err := b.channel.sendAll(ctx, &values, b.max.bytes, &n); err != nil {
			return n, err
		}
		c.shift()
	}
	return n, nil
}
