package batch

import "context"

// How Send is inlined. Its body may cost no more than the compiler's budget, which is an
// append, a comparison and a call. So Send appends to open first, and looks whether
// anything else must be done only if len(open) reaches room.
//
//   - In direct mode open is the values of held, which are in one piece, with the free slots
//     behind them: at least one, and at most up to a batch. held.n is not kept. The Sender is
//     resting, not closed, and has no limit in bytes.
//   - Without a timer only the owner uses held, and room is cap(open): an append that leaves a
//     free slot is all that Send does. If none is left, the batch is complete, or what follows
//     is at the front of the ring, or in a larger one.
//   - With a timer room is 0, and slow publishes each value: see flushTimer. The timer may have
//     taken the values before it.
//   - In any other mode open is one, and room is 0.
//   - A value for which all this is not enough is taken out of open again, and then accepted or
//     refused as if it had never been there.
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
	open := b.held.inPlace(b.max.n)
	if open == nil {
		return
	}
	b.direct, b.open = true, open
	if b.timer == nil {
		b.room = cap(open)
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

// flushOpen is flush of open in direct mode without a timer, when it is a complete batch for a
// channel of package sluice. The batch is all of the ring, so after success open is empty in
// the same place.
func (b *Sender[T]) flushOpen(ctx context.Context) (err error) {
	vs, sent, kept := b.open, 0, false
	b.leaveDirect()
	b.state = flushedByOwner
	defer func() {
		if sent < len(vs) { // also if the channel panicked or called Goexit
			b.flushed(sent, !kept)
			b.goDirect()
		}
	}()
	sent, err = b.channel.to.SendBatch(ctx, vs)
	if sent < len(vs) {
		if kept = roomMade(ctx, sent, err); kept {
			return nil
		}
		return err
	}
	if b.held.clears {
		clear(vs)
	}
	b.held.n, b.state = 0, resting
	b.direct, b.open, b.room = true, vs[:0], len(vs)
	return nil
}

// sendOpen is Send and TrySend after the value was appended to open.
func (b *Sender[T]) sendOpen(ctx context.Context) error {
	if ctx != nil && b.direct {
		switch n := len(b.open); {
		case b.timer == nil && n == b.max.n && b.channel.kind && !b.channel.drops:
			return b.flushOpen(ctx)
		case b.timer != nil && n < cap(b.open) && b.publish(n):
			return nil
		}
	}
	var zero T
	last := len(b.open) - 1
	v := b.open[last]
	b.open[last] = zero
	b.open = b.open[:last]
	if ctx == nil {
		panic("batch: Sender.Send: nil context")
	}
	var size uint64
	if b.sizing != nil {
		size = b.sizing.of(v) // without the lock: it is user code
		if b.timer == nil && b.state == resting && !b.closed && !b.held.amount().plus(size).reaches(b.max) {
			b.held.push(v, size)
			return nil
		}
	}
	return b.send(ctx, v, size)
}
