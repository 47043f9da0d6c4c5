package sluice

import (
	"context"
	"iter"
	"time"
)

// Batches returns an iterator over runs of 1 to max values, in the order in which
// they were received: for work that costs as much for many values as for one, a
// write, a request, a transaction.
//
// A batch ends when it has max values, when linger has passed since its first
// value was received, when r is closed and drained, or when ctx is done and it
// would have to wait. Then it is yielded; in the last two cases the sequence ends
// after it. So nothing that was received is lost, and no value waits longer than
// linger for others to come. With a linger of 0 a batch is what one RecvBatch
// gives. While a batch is empty no timer runs; nor does one if the first RecvBatch
// fills it.
//
// After the loop, ctx.Err() tells a channel that was closed from a context that
// is done. Any other error of r, if it is a channel of yours, ends the sequence
// too; TryRecv then says which.
//
// The slice belongs to the body until it returns. Then it is cleared, and used
// for the next batch: copy what should stay. The body may change it, receive from
// r, and leave the loop in any way. Each range over the sequence is a loop of its
// own.
//
// A batch allocates nothing, if r is a kind of this package; for another
// BatchReceiver each that lingers costs a context. The slice is allocated by the
// loop, for max values; if they take more than 1 MiB, it grows as it is needed.
//
// A nil ctx or r, a max below 1 and a negative linger panic.
func Batches[T any](ctx context.Context, r BatchReceiver[T], max int, linger time.Duration) iter.Seq[[]T] {
	if ctx == nil {
		panic("sluice: Batches: nil context")
	}
	if r == nil {
		panic("sluice: Batches: nil receiver")
	}
	requirePositive("Batches", "max", max)
	requireLinger("Batches", linger)
	return func(yield func([]T) bool) {
		l := batching[T]{ctx: ctx, r: r, max: max, wait: linger, buf: make([]T, firstSlots[T](max))}
		defer func() {
			if l.release != nil {
				l.release()
			}
		}()
		for more := true; more; {
			var n int
			n, more = l.next()
			if n > 0 && !yield(l.buf[:n:n]) {
				return
			}
			clear(l.buf[:n])
		}
	}
}

// batching is one loop over the batches of r.
//
// buf is its own from the start of next to its end, and the body's in between.
// The context of a batch is asked for when its first values have come and it is
// not full; before, the loop waits under ctx itself. A call of RecvBatch that
// found values does not look at its context, so after each call the loop asks
// itself whether the time is over: a sender that is always one value ahead must
// not stretch a batch.
type batching[T any] struct {
	ctx  context.Context
	r    BatchReceiver[T]
	max  int
	wait time.Duration
	buf  []T

	linger  linger // nil until a batch is not full at once
	release func()
}

// next collects a batch into buf[:n]. more is false if there is none after it.
func (l *batching[T]) next() (n int, more bool) {
	n, err := l.r.RecvBatch(l.ctx, l.buf)
	if err != nil {
		return n, false
	}
	if n == len(l.buf) {
		l.buf = grown(l.buf, l.max)
	}
	if l.wait == 0 || n == l.max {
		return n, true
	}
	if l.linger == nil {
		l.linger, l.release = newLinger[T](l.ctx, l.r)
	}
	under := l.linger.start(l.wait)
	defer l.linger.end()
	for n < l.max {
		received, err := l.r.RecvBatch(under, l.buf[n:])
		n += received
		switch {
		case l.linger.over():
			// Whatever err is: the next call, under ctx, will say so again.
			return n, true
		case err != nil:
			return n, false
		}
		if n == len(l.buf) {
			l.buf = grown(l.buf, l.max)
		}
	}
	return n, true
}

// firstSlots is for how many values to take memory at once, of at most limit.
func firstSlots[T any](limit int) int {
	return min(limit, max(1, ringBytes/max(1, sizeOf[T]())))
}

// grown returns buf, which is full, with room for more values, but not for more
// than limit.
func grown[T any](buf []T, limit int) []T {
	if len(buf) == limit {
		return buf
	}
	larger := make([]T, len(buf)+min(len(buf), limit-len(buf)))
	copy(larger, buf)
	return larger
}
