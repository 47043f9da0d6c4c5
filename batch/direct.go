package batch

import (
	"context"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/internal/engine"
)

// How Send is inlined. Its body may cost no more than the compiler's budget, which is an
// append, a comparison and a call. So Send appends to open first, and looks whether
// anything else must be done only if len(open) reaches room.
//
//   - In direct mode open is held itself: its values, which are in one piece, and free slots
//     behind them, for at least one value and at most for a batch. The length of held is not kept. The Sender is resting, not closed,
//     and has no limit in bytes.
//   - Without a timer, nobody else uses held: Send is done with an append that leaves a free
//     slot, and room is cap(open).
//   - With a timer, room is 0, and slow publishes each value: see flushTimer. The timer may have
//     taken the values before it, and then it is not accepted yet.
//   - Otherwise open is one. In each case that is not done, sendOpen takes the value out of
//     open again, and accepts it as if it had never been there.
//
// open has room for a value whenever no call is under way. room is 0 in a zero Sender: there
// append makes an open that may hold several small values, but the first call of slow panics.

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

// goDirect begins the direct mode if that is possible. It is called with the lock.
func (b *Sender[T]) goDirect() {
	if b.state != resting || b.closed || b.sizing != nil {
		return
	}
	if b.open = b.held.inPlace(b.max.n); b.open == nil {
		b.open = b.one[:0]
		return
	}
	b.direct = true
	if b.timer == nil {
		b.room = cap(b.open)
	} else {
		b.timer.published.Store(int64(b.held.n))
	}
}

// leaveDirect ends the direct mode. It is called with the lock.
func (b *Sender[T]) leaveDirect() {
	if !b.direct {
		return
	}
	if b.timer == nil {
		b.held.n = len(b.open)
	} else {
		b.collect()
	}
	b.direct, b.open, b.room = false, b.one[:0], 0
}

// sendOpen is Send and TrySend after the value was appended to open.
func (b *Sender[T]) sendOpen(ctx context.Context) error {
	if ctx != nil && b.direct {
		switch n := len(b.open); {
		case b.timer == nil && n == b.max.n: // the batch is complete, and in place
			b.leaveDirect()
			err := b.flush(ctx, true)
			b.goDirect()
			return err
		case b.timer != nil && n < cap(b.open) && b.publish(n):
			return nil
		}
	}
	last := len(b.open) - 1
	v := b.open[last]
	clear(b.open[last:])
	b.open = b.open[:last]
	if ctx == nil {
		panic("batch: Sender.Send: nil context")
	}
	var size uint64
	if b.sizing != nil {
		size = b.sizing.of(v) // without the lock: it is user code
		if size > b.max.bytes && b.sizing.policy != Alone {
			return b.sendTooLarge(ctx, v, size)
		}
		if b.timer == nil && b.state == resting && !b.closed && !b.held.amount().plus(size).reaches(b.max) {
			b.held.push(v, size)
			return nil
		}
	}
	return b.send(ctx, v, size)
}

// sendTooLarge applies Fail or Drop to v, which is above the limit.
func (b *Sender[T]) sendTooLarge(ctx context.Context, v T, size uint64) error {
	b.enterSend(engine.MayWait(ctx))
	closed := b.closed
	b.exit()
	switch {
	case closed:
		return sluice.ErrClosed
	case b.sizing.policy == Drop:
		b.sizing.drop(v)
		return nil
	}
	return b.sizing.failure(size)
}
