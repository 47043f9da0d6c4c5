package mutant

import (
	"context"
	"iter"

	"github.com/sluice-go/sluice"
)

// Values returns a loop that ends when the channel is drained or ctx is done.
func (c *Channel[T]) Values(ctx context.Context) *sluice.Values[T] {
	switch c.fault {
	case Prefetch:
		return sluice.NewValues(ctx, &prefetcher[T]{Receiver: c, c: c})
	case SilentEnd:
		return sluice.NewValues(ctx, silent[T]{c, c})
	}
	return sluice.NewValues(ctx, c)
}

// A prefetcher receives one value more than it has returned.
type prefetcher[T any] struct {
	sluice.Receiver[T] // c
	c                  *Channel[T]
	ahead              []T
}

func (p *prefetcher[T]) Recv(ctx context.Context) (v T, err error) {
	if len(p.ahead) > 0 {
		v = p.ahead[0]
		p.ahead = p.ahead[:0]
	} else if v, err = p.c.recv(ctx); err != nil {
		return v, err
	}
	if next, err := p.c.recv(noWait); err == nil {
		p.ahead = append(p.ahead, next)
	}
	return v, nil
}

// A silent receiver reports every error as the end of the channel.
type silent[T any] struct {
	sluice.Receiver[T] // c
	c                  *Channel[T]
}

func (s silent[T]) Recv(ctx context.Context) (v T, err error) {
	if v, err = s.c.recv(ctx); err != nil {
		err = sluice.ErrClosed
	}
	return v, err
}

// TryRecvBatch receives the available values, up to len(buf).
func (c *Channel[T]) TryRecvBatch(buf []T) (n int, err error) {
	if c.fault == TryBatchShort && len(buf) > 1 {
		buf = buf[:len(buf)-1]
	}
	for n < len(buf) {
		if buf[n], err = c.recv(noWait); err != nil {
			break
		}
		n++
	}
	if n > 0 {
		return n, nil
	}
	if c.fault == TryBatchOpen && err == sluice.ErrClosed {
		err = sluice.ErrEmpty
	}
	return 0, err
}

// Drain returns an iterator over the values queued when the loop begins.
func (c *Channel[T]) Drain() iter.Seq[T] {
	return func(yield func(T) bool) {
		for left := max(1, c.Len()); left > 0; left-- {
			v, err := c.recv(noWait)
			if err != nil {
				return
			}
			if c.fault == DrainPrefetch && left > 1 {
				_, _ = c.recv(noWait)
			}
			if !yield(v) {
				return
			}
			if c.fault == DrainChases {
				left++
			}
		}
	}
}

// Discard closes c, and receives what is queued.
func (c *Channel[T]) Discard() (n int) {
	if c.is(DiscardTold) {
		c.mu.Lock()
		n += min(1, len(c.senders))
		c.mu.Unlock()
	}
	if !c.is(DiscardOpen) {
		c.Close()
	}
	for !c.is(DiscardLess) || c.Len() != 1 {
		if _, err := c.TryRecv(); err != nil {
			break
		}
		n++
	}
	return n
}
