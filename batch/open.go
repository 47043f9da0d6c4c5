package batch

import (
	"context"
	"errors"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/internal/engine"
)

// How Send is inlined. Its body may cost no more than the compiler's budget, which is an
// append, a comparison and a call. So Send appends to open first, and looks whether
// anything else must be done only if open is full then.
//
//   - In the regular case open is buf[:n:size] where n values are held: the Sender has no
//     timer and no limit in bytes, is not closed, no flush is under way, and no flush that failed has left values
//     in other slots. The value that fills open completes the batch, in its slot. at is not
//     up to date, and stop is not used: leaveOpen makes them so.
//   - Otherwise open is one, and is full with each value: sendOpen takes it out again and
//     sends it as a call of Send would without all this.
//
// open has room for a value whenever no call is under way. room is its capacity, except in a
// zero Sender: there append makes an open that may hold several small values, but room is 0,
// so the first call of slow panics.

// A slowPath calls full, which depends on no type: a call of a generic method would exceed
// the budget. So would one that is inlined.
type slowPath struct{ full func(context.Context) error }

//go:noinline
func (p *slowPath) send(ctx context.Context) error {
	if p.full == nil {
		panic(zeroSender)
	}
	return p.full(ctx)
}

// enterOpen makes open a part of buf if that is possible. No flush is under way, unless by
// the timer.
func (b *Sender[T]) enterOpen() {
	b.inBuf = b.quick && b.flushing == idle && b.head == 0 && b.base == 0 && b.at < len(b.buf)
	if b.inBuf {
		b.open, b.room = b.buf[:b.at:len(b.buf)], len(b.buf)
	} else {
		b.open, b.room = b.one[:0], len(b.one)
	}
}

// leaveOpen ends the regular case.
func (b *Sender[T]) leaveOpen() {
	if b.inBuf {
		b.at, b.inBuf = len(b.open), false
		b.stop = b.at
	}
	b.open, b.room = b.one[:0], len(b.one)
}

// sendOpen is Send and TrySend after the value has filled open.
func (b *Sender[T]) sendOpen(ctx context.Context) error {
	if ctx == nil {
		last := len(b.open) - 1
		clear(b.open[last:])
		b.open = b.open[:last]
		panic("batch: Sender.Send: nil context")
	}
	if b.inBuf {
		return b.sendFull(ctx)
	}
	v := b.one[0]
	b.open = b.one[:0]
	clear(b.one[:])
	switch {
	case b.sizing != nil:
		return b.sendSized(ctx, v)
	case b.linger > 0:
		return b.sendTimed(ctx, v)
	}
	return b.sendSlow(ctx, v, 0)
}

// sendSized is sendOpen with a limit in bytes.
func (b *Sender[T]) sendSized(ctx context.Context, v T) error {
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

// sendFull flushes buf, which the last value has filled, in the regular case. Without a
// timer no other goroutine uses b, so it takes no lock.
func (b *Sender[T]) sendFull(ctx context.Context) (err error) {
	b.leaveOpen()
	b.flushing, b.stop = byOwner, 0
	n, thrown := 0, int64(0)
	defer func() {
		if n < len(b.buf) { // also if the channel panicked or called Goexit
			b.finish(int64(n)+thrown, err == nil && int64(n)+thrown > 0)
		}
	}()
	n, err = b.sendBatch(ctx, b.buf, &thrown)
	if n < len(b.buf) {
		if n > 0 && errors.Is(err, sluice.ErrFull) && !engine.MayWait(ctx) {
			err = nil // there is room for the last value in the Sender now
		}
		return err
	}
	if b.clears {
		clear(b.buf)
	}
	b.flushing, b.at = idle, 0
	b.enterOpen()
	return nil
}
