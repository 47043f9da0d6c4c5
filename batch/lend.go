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
// of slices.
const lendBytes = 128

// lenderOf returns the engine of channel if it can lend, or nil.
func lenderOf[T any](channel any) engine.Lender[T] {
	e, _ := engine.Of(stage.Unwrap(channel))
	l, _ := e.(engine.Lender[T])
	return l
}

// lending is what SendSlice needs to give slices away.
type lending[T any] struct {
	lender engine.Lender[T] // nil if slices are copied
	from   int              // values of a slice that is lent
	given  []T
}

// isGiven reports whether vs is the slice that SendSlice returned last.
func (l *lending[T]) isGiven(vs []T) bool { return engine.Same(vs, l.given) }

// mayLend reports whether vs may be lent, and is large enough for that.
func (l *lending[T]) mayLend(vs []T) bool {
	return l.lender != nil && len(vs) >= l.from && l.isGiven(vs)
}

// exchanged returns the slice to give away next: spare, or a new one if that is nil.
func (l *lending[T]) exchanged(spare []T) []T {
	if spare == nil {
		spare = make([]T, 0, cap(l.given))
	}
	l.given = spare
	return spare
}

// SendSlice sends the values that are held, and then the values of vs, as one batch of any length.
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
	if b.direct && len(b.open) == 0 && b.lending.mayLend(vs) {
		if spare, lent := b.lending.lender.TryLend(vs); lent {
			return b.lending.exchanged(spare), nil
		}
	}
	b.enter("SendSlice")
	defer b.exit()
	if b.closed {
		return vs, sluice.ErrClosed
	}
	if err := b.flushAll(ctx); err != nil {
		return vs, err
	}
	if len(vs) == 0 {
		return b.emptySlice(), nil
	}
	b.state = flushedByOwner
	b.unlock()
	defer func() { // also if the channel or ctx panics
		b.lock()
		b.settle()
	}()
	return b.sendSlice(ctx, vs)
}

// sendSlice sends vs. Nothing is held.
func (b *Sender[T]) sendSlice(ctx context.Context, vs []T) (next []T, err error) {
	l, n := &b.lending, 0
	switch {
	case l.mayLend(vs):
		var spare []T
		var lent bool
		if n, spare, lent, err = l.lender.Lend(ctx, vs); lent {
			return l.exchanged(spare), nil
		}
	case b.sizing != nil:
		n, err = b.sendSized(ctx, vs)
	default:
		values := runOf(vs)
		err = b.channel.sendAll(ctx, &values, b.max.bytes, &n)
	}
	switch {
	case l.isGiven(vs): // the rest moves to its front
		left := copy(vs, vs[n:])
		if b.held.clears {
			clear(vs[left:])
		}
		return vs[:left], err
	case err != nil:
		return vs[n:], err
	}
	return b.emptySlice(), nil
}

// emptySlice returns the slice to give away, and makes it when it is known that SendSlice is used.
func (b *Sender[T]) emptySlice() []T {
	l := &b.lending
	if cap(l.given) == 0 {
		slots := firstSlots[T](b.max.n)
		size := max(1, engine.SizeOf[T]())
		l.from = (lendBytes + size - 1) / size
		if e := lenderOf[T](b.channel.to); e != nil && b.sizing == nil && slots >= l.from && e.Lends(slots) {
			l.lender = e
		}
		l.given = make([]T, 0, slots)
	}
	return l.given[:0]
}
