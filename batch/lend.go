package batch

import (
	"context"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/internal/engine"
	"github.com/sluice-go/sluice/internal/stage"
)

// Batches by reference: SendSlice gives a full slice away and gets an empty one, and a loop
// over batches lends the slice to its body.
//
// given is the slice that SendSlice returned last. Only that one is ever given away, so a
// channel gets no memory that a caller may use for something else. It has the capacity of all
// slices of its channel, and while it was not given away it is the caller's.

// lendBytes is the size of a batch below which copying the values is cheaper than an exchange
// of slices. ADR 8 has the measurements.
const lendBytes = 128

// lenderOf returns the engine of channel if it can lend, or nil.
func lenderOf[T any](channel any) engine.Lender[T] {
	e, _ := engine.Of(stage.Unwrap(channel))
	l, _ := e.(engine.Lender[T])
	return l
}

// drops reports whether channel is a kind whose policy drops values.
func drops(channel any) bool {
	e, _ := engine.Of(channel)
	p, ok := e.(interface{ Overflow() engine.Overflow })
	return ok && p.Overflow() > engine.Reject
}

// SendSlice sends the values that are held, and then those of vs, as one batch of any length.
// It returns what is to be sent next: after success an empty slice to fill, with room for max
// values, or for 1 MiB of them; after a failure the values of vs that were not sent, in order,
// and the error. The Sender holds none of them.
//
//	for reading := range readings {
//		if vs = append(vs, reading); len(vs) == 64 {
//			if vs, err = b.SendSlice(ctx, vs); err != nil {
//				…
//			}
//		}
//	}
//
// The first vs may be nil. From the second one on, if vs is what SendSlice has returned, it is
// given away with its values: the channel need not copy them, and a loop over [Receive] gets
// the slice itself. The caller must not use it any more, nor a part of it. Any other slice is
// copied, and stays the caller's.
//
// Slices are passed without a copy by a [sluice.Bounded] of up to 1 MiB, with the policy
// Block or Reject, if its senders use the same max and a slice is large enough to be worth
// it. Such a slice is sent as a whole: SendSlice may wait for room for all of vs, while
// SendBatch would send a part. Any other channel copies, with the same results.
//
// With a limit in bytes, SendSlice copies, and sends the values of vs in batches within the
// limit. A value that [Drop] discards counts as sent.
//
// The channel keeps slices that came back, for its senders, until it is garbage: as many as
// were in use at once. With those in use they have about as many slots as the channel, at least
// two slices, and so can double its memory. Stats counts them in Bytes.
//
// SendSlice waits as SendBatch does under ctx, and fails as [Sender.Flush] does, or with
// [sluice.ErrClosed] after Close. It allocates slices at first, and later only to replace one
// that a receiver has kept. A nil ctx panics.
func (b *Sender[T]) SendSlice(ctx context.Context, vs []T) (next []T, err error) {
	if ctx == nil {
		panic("batch: Sender.SendSlice: nil context")
	}
	if b.inBuf && len(b.open) == 0 && b.mayLend(vs) {
		if spare, lent := b.lender.TryLend(vs); lent {
			return b.exchanged(spare), nil
		}
	}
	b.enter("SendSlice")
	if b.closed {
		b.lock.Unlock()
		return vs, sluice.ErrClosed
	}
	if err := b.flushAll(ctx); err != nil {
		return vs, err
	}
	if len(vs) > 0 && b.isGiven(vs) {
		return b.giveAway(ctx, vs)
	}
	n := 0
	if len(vs) > 0 {
		b.beginSlice()
		defer b.endSlice()
		if n, err = b.transmitSlice(ctx, vs); err != nil {
			return vs[n:], err
		}
	}
	if cap(b.given) == 0 {
		b.lendFirst()
	}
	return b.given[:0], nil
}

// isGiven reports whether vs is the slice that SendSlice returned last.
func (b *Sender[T]) isGiven(vs []T) bool {
	return engine.Same(vs, b.given)
}

// mayLend reports whether vs may be lent, and is large enough for that.
func (b *Sender[T]) mayLend(vs []T) bool {
	return b.lender != nil && len(vs) >= b.lendFrom && b.isGiven(vs)
}

// exchanged returns the slice to give away next: spare, or a new one if that is nil.
func (b *Sender[T]) exchanged(spare []T) []T {
	if spare == nil {
		spare = make([]T, 0, cap(b.given))
	}
	b.given = spare
	return spare
}

// lendFirst makes the first slice, when it is known that SendSlice is used.
func (b *Sender[T]) lendFirst() {
	slots := firstSlots[T](int(b.max))
	size := max(1, engine.SizeOf[T]())
	b.lendFrom = (lendBytes + size - 1) / size
	if l := lenderOf[T](b.s); l != nil && b.sizing == nil && slots >= b.lendFrom && l.Lends(slots) {
		b.lender = l
	}
	b.given = make([]T, 0, slots)
}

// beginSlice and endSlice enclose the time in which the channel is called and no values are
// held: another call of the owner is refused meanwhile.
func (b *Sender[T]) beginSlice() {
	b.lock.Lock()
	defer b.lock.Unlock()
	b.leaveOpen()
	b.flushing, b.stop = byOwner, 0
}

func (b *Sender[T]) endSlice() {
	b.lock.Lock()
	defer b.lock.Unlock()
	b.flushing = idle
	b.setStop()
}

// giveAway sends vs, the slice that SendSlice returned last. No values are held.
func (b *Sender[T]) giveAway(ctx context.Context, vs []T) (next []T, err error) {
	b.beginSlice()
	defer b.endSlice()
	n := 0
	if b.mayLend(vs) {
		var spare []T
		var lent bool
		if n, spare, lent, err = b.lender.Lend(ctx, vs); lent {
			return b.exchanged(spare), nil
		}
	} else {
		n, err = b.transmitSlice(ctx, vs)
	}
	left := copy(vs, vs[n:])
	if b.clears {
		clear(vs[left:])
	}
	return vs[:left], err
}

// transmitSlice sends copies of vs.
func (b *Sender[T]) transmitSlice(ctx context.Context, vs []T) (int, error) {
	if b.sizing != nil {
		return b.transmitSized(ctx, vs)
	}
	var sent int64
	err := b.transmit(ctx, values[T]{buf: vs, to: int64(len(vs))}, &sent)
	return int(sent), err
}
