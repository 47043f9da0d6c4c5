package batch

import (
	"context"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/internal/engine"
)

// NewSizedSender is [NewSender] with a limit in bytes: the sizes of the values that one
// SendBatch of s gets add up to maxBytes at most. Use it if s sends each batch as one message,
// or to bound the memory of the values that are held.
//
// A value that would exceed maxBytes, together with the values that are held, flushes those
// first; it is refused if that fails. A value that makes the sum maxBytes completes the batch.
// A value whose size alone is above maxBytes does what o.TooLarge says. Under [Alone], the
// default, it is sent by a SendBatch of its own, within the call that accepts it: it is never
// held. Under [Fail] it is refused with a [*TooLargeError], which leaves everything else as it
// is. Under [Drop] the call returns nil.
//
// With a linger, the owner can send up to maxBytes more, of up to size values, while a flush by
// the timer waits.
//
// Send is not inlined, and takes a lock if there is a linger. It allocates nothing except a
// TooLargeError. A slot for a value takes 8 bytes more.
//
// NewSizedSender panics as NewSender does, and if maxBytes is below 1, or if an option makes no
// sense. A nil o selects the defaults, which need a T of []byte or string.
func NewSizedSender[T any](s sluice.BatchSender[T], size int, maxBytes int64, linger time.Duration, o *SizedOptions[T]) *Sender[T] {
	const function = "NewSizedSender"
	b := newSender(function, s, size, linger)
	b.sizing = newSizing(function, maxBytes, o)
	b.limit = b.sizing.limit
	b.sizes = make([]uint64, len(b.buf))
	b.slow.full = b.sendSized
	b.setStop()
	return b
}

// Dropped returns how many values the policy [Drop] has discarded. Any goroutine may call it.
func (b *Sender[T]) Dropped() uint64 {
	b.requireMade()
	if b.sizing == nil {
		return 0
	}
	return b.sizing.dropped.Load()
}

// sendSized is sendOpen with a limit in bytes. open is always one.
func (b *Sender[T]) sendSized(ctx context.Context) error {
	v := b.one[0]
	b.open = b.one[:0]
	clear(b.one[:])
	if ctx == nil {
		panic("batch: Sender.Send: nil context")
	}
	size := b.sizing.of(v) // without the lock: it is user code
	if b.at < b.stop && b.linger == 0 && size < b.limit-b.bytes {
		// Without a timer only the owner uses b, and without it no flush leaves more than
		// the limit. The value completes no batch.
		b.put(v, size)
		return nil
	}
	if size > b.limit && b.sizing.policy != Alone {
		return b.sendTooLarge(ctx, v, size)
	}
	return b.sendSlow(ctx, v, size)
}

// sendTooLarge applies Fail or Drop to v, which is above the limit.
func (b *Sender[T]) sendTooLarge(ctx context.Context, v T, size uint64) error {
	if engine.MayWait(ctx) {
		b.enter("Send")
	} else {
		b.enter("TrySend")
	}
	closed := b.closed
	b.lock.Unlock()
	switch {
	case closed:
		return sluice.ErrClosed
	case b.sizing.policy == Drop:
		b.sizing.drop(v)
		return nil
	}
	return b.sizing.failure(size)
}

// transmitSized sends copies of vs, in batches within the limit, and returns how many were sent
// or dropped.
func (b *Sender[T]) transmitSized(ctx context.Context, vs []T) (n int, err error) {
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
		var sent int64
		err := b.transmit(ctx, values[T]{buf: vs, from: int64(n), to: int64(n + c.n)}, &sent)
		n += int(sent)
		if err != nil {
			return n, err
		}
		c.shift()
	}
	return n, nil
}
