package batch

import (
	"context"
	"errors"
	"fmt"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/internal/engine"
)

// The flush by the owner, the flush by the timer, and the calls to SendBatch in both.
// flush.go has the protocol.

// flush is a flush by the owner: it sends the values that are held; under engine.NoWait,
// as many as there is room for. If candidate is set, the last value is the argument of a
// Send, and is taken out again unless the call succeeds. flush releases the lock.
func (b *Sender[T]) flush(ctx context.Context, candidate bool) (err error) {
	b.flushing, b.stop = byOwner, 0
	taken := b.taken(b.tail())
	b.lock.Unlock()
	var sent int64
	ended := false
	end := func(accept bool) {
		ended = true
		b.finish(sent, accept)
	}
	defer func() {
		if !ended { // the channel panicked or called Goexit
			end(!candidate || sent == taken.to-taken.from)
		}
	}()
	err = b.transmit(ctx, taken, &sent)
	if candidate && sent > 0 && errors.Is(err, sluice.ErrFull) && !engine.MayWait(ctx) {
		err = nil // there is room for it in the Sender now
	}
	end(err == nil || !candidate)
	return err
}

// finish ends a flush by the owner that sent n values. Unless accept is set, the last
// value is refused.
func (b *Sender[T]) finish(n int64, accept bool) {
	b.lock.Lock()
	b.drop(n)
	if !accept {
		b.unput()
	}
	b.flushing = idle
	b.settle()
	b.lock.Unlock()
}

// drop removes the first n values: they were sent, or taken out.
func (b *Sender[T]) drop(n int64) {
	for n > 0 {
		lo := b.head % int64(len(b.buf))
		run := min(n, int64(len(b.buf))-lo)
		clear(b.buf[lo : lo+run])
		if b.sizes != nil {
			for _, size := range b.sizes[lo : lo+run] {
				b.bytes -= size
			}
		}
		b.head += run
		n -= run
	}
}

// unput takes out the value that was put last.
func (b *Sender[T]) unput() {
	b.at--
	var zero T
	b.buf[b.at] = zero
	if b.sizes != nil {
		b.bytes -= b.sizes[b.at]
	}
}

// settle derives the other fields from head and at, while no flush runs.
func (b *Sender[T]) settle() {
	if b.held() == 0 { // from slot 0 on, a batch is in one piece
		b.head, b.base, b.at = 0, 0, 0
	}
	if b.linger > 0 {
		b.accepted.Store(b.tail())
		b.claimed.Store(b.head << 1)
		if b.held() > 0 && !b.closed {
			b.timer.Reset(b.linger)
		}
	}
	b.setStop()
}

// fire is run by the timer, in a goroutine of its own.
func (b *Sender[T]) fire() {
	b.lock.Lock()
	if b.flushing != idle || b.closed || b.accepted.Load() == b.head {
		b.overdue = b.flushing == byTimer
		b.lock.Unlock()
		return
	}
	b.claim()
	for again := true; again; {
		taken, ctx := b.taken(b.claimedTo()), b.ctx
		b.lock.Unlock()
		again = b.flushClaimed(ctx, taken)
	}
}

// claim begins a flush by the timer, whose goroutine holds the lock.
func (b *Sender[T]) claim() {
	b.flushing, b.overdue = byTimer, false
	to := b.accepted.Load()
	b.inFlight = b.bytes // with a limit in bytes, to is tail
	b.claimed.Swap(to << 1)
	if b.accepted.Load() != to {
		b.timer.Reset(b.linger)
	}
}

// flushClaimed is a flush by the timer. It reports whether the next one has begun: then
// it returns with the lock held. It is called without the lock.
func (b *Sender[T]) flushClaimed(ctx context.Context, taken values[T]) (again bool) {
	var sent int64
	defer func() { // even if the channel panics or calls Goexit
		b.lock.Lock()
		b.drop(sent)
		all := b.head == taken.to
		more := b.accepted.Load() - taken.to
		again = all && !b.closed && more > 0 && (b.overdue || more >= b.max || b.bytes >= b.limit)
		switch {
		case again:
			b.claim()
		case !all:
			b.claimed.Store(b.head<<1 | failed)
			fallthrough
		default:
			b.flushing = idle
		}
		if b.waiting {
			b.waiting = false
			b.parker.Unpark()
		}
		if !again {
			b.lock.Unlock()
		}
	}()
	_ = b.transmit(ctx, taken, &sent) // the owner's next call repeats it
	return
}

// values are the values from … to-1, which a flush has taken. Value i is in slot i mod
// len(buf).
type values[T any] struct {
	buf      []T
	sizes    []uint64 // by slot; nil without a limit in bytes
	from, to int64
}

// taken returns the values before to, for a flush, which reads them without the lock.
func (b *Sender[T]) taken(to int64) values[T] { return values[T]{b.buf, b.sizes, b.head, to} }

// transmit sends the values, in batches within the limit in bytes if there is one, and counts
// them in sent. Under engine.NoWait it fails with ErrFull instead of waiting. The lock is not
// held.
func (b *Sender[T]) transmit(ctx context.Context, vs values[T], sent *int64) error {
	buf, to := vs.buf, vs.to
	for i := vs.from; i < to; {
		lo := i % int64(len(buf))
		hi := min(lo+to-i, int64(len(buf)))
		if vs.sizes != nil {
			hi = lo + prefix(vs.sizes[lo:hi], b.limit)
		}
		var n int
		var err error
		if b.own || engine.MayWait(ctx) {
			n, err = b.sendBatch(ctx, buf[lo:hi:hi], sent)
		} else { // only the kinds know engine.NoWait
			hi = lo + 1
			if err = b.s.TrySend(buf[lo]); err == nil {
				n = 1
			}
		}
		run := int(hi - lo)
		if n < 0 || n > run || n < run && err == nil {
			panic(fmt.Sprintf("batch: Sender: SendBatch of %d values returned %d, %v", run, n, err))
		}
		*sent += int64(n)
		if n < run {
			return err
		}
		i += int64(n)
	}
	return nil
}

// sendBatch is SendBatch of the channel. If that panics or calls Goexit, and has sent vs all the
// same, they are added to sent.
func (b *Sender[T]) sendBatch(ctx context.Context, vs []T, sent *int64) (n int, err error) {
	if !b.drops {
		return b.s.SendBatch(ctx, vs)
	}
	returned := false
	defer func() {
		if !returned {
			*sent += int64(len(vs))
		}
	}()
	n, err = b.s.SendBatch(ctx, vs)
	returned = true
	return n, err
}

// prefix returns how many of the sizes, from the first one on, make a batch: those whose sum is
// at most limit, and at least one.
func prefix(sizes []uint64, limit uint64) int64 {
	n, sum := 1, sizes[0]
	for n < len(sizes) && sum <= limit && sizes[n] <= limit-sum {
		sum += sizes[n]
		n++
	}
	return int64(n)
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
