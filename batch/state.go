package batch

import (
	"context"
	"errors"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/internal/engine"
)

// How a Sender works.
//
// The owner is the goroutine that calls the methods. A Sender with a linger has a second
// goroutine, of its timer, and a lock; without a linger it has neither, and lock and unlock do
// nothing. The values that were accepted and not sent are in held, oldest first. The open batch
// is what the owner fills: all of held but what a flush by the timer has taken.
//
// A flush takes all of held, calls the channel without the lock, and then removes what was sent
// from the front of held. Therefore:
//
//   - One flush runs at a time, and state names its goroutine. Only its end removes values.
//   - During a flush by the owner no value is accepted: another call panics in enter.
//   - During a flush by the timer the owner may accept a second batch behind the first one.
//   - A value leaves held in one of three ways: it was sent, TakeUnsent returns it, or it was put
//     there by a Send that fails. So no value is lost, and none is sent after its refusal.
//   - inFlight is zero, except during a flush by the timer. held is at most two batches then, and
//     after such a flush has failed; otherwise it is at most one.
//
// Each method of the owner is between enter and exit, and so has the lock. It releases the lock
// only to wait, and to call code of others: the channel, a context, OnUndelivered.
type state uint8

const (
	resting        state = iota // no flush is under way
	failed                      // resting, but a flush by the timer has left values: they go first
	flushedByOwner              // within a call of the owner
	flushedByTimer              // by the goroutine of the timer
)

const zeroSender = "batch: Sender: a zero value: make a Sender with NewSender"

// requireMade panics if b is a zero value. The lock is not needed.
func (b *Sender[T]) requireMade() {
	if b.channel.to == nil {
		panic(zeroSender)
	}
}

// enter begins a call of the owner. It panics if another call is flushing.
func (b *Sender[T]) enter(method string) {
	b.requireMade()
	b.lock()
	if b.state == flushedByOwner {
		b.unlock()
		panic("batch: Sender." + method + ": called during a flush by another call: a Sender belongs to one goroutine")
	}
	b.leaveDirect()
}

// exit ends a call of the owner.
func (b *Sender[T]) exit() {
	b.goDirect()
	b.unlock()
}

func (b *Sender[T]) lock() {
	if b.timer != nil {
		b.timer.lock()
	}
}

func (b *Sender[T]) unlock() {
	if b.timer != nil {
		b.timer.mu.Unlock()
	}
}

// The functions below are called with the lock.

// openBatch returns how much is in the batch that the owner fills.
func (b *Sender[T]) openBatch() amount { return b.held.amount().minus(b.inFlight) }

// fits reports whether a value of this size fits into the open batch, and beside what is in
// flight.
func (b *Sender[T]) fits(size uint64) bool {
	return b.openBatch().leaves(b.max, size) && b.held.amount().leaves(b.held.most, size)
}

// completes reports whether a value of this size, which fits or is alone, completes the open
// batch.
func (b *Sender[T]) completes(size uint64) bool {
	return b.openBatch().plus(size).reaches(b.max)
}

// othersFirst reports whether the values that are held must be sent before a value of this size
// is accepted: it belongs to another batch, or would be stuck behind a failure.
func (b *Sender[T]) othersFirst(size uint64) bool {
	return b.held.n > 0 && (b.state == failed || !b.fits(size))
}

// send is Send and TrySend of a value that is not held yet. Its size is 0 without a limit in
// bytes. It is called without the lock.
func (b *Sender[T]) send(ctx context.Context, v T, size uint64) error {
	mayWait, method := engine.MayWait(ctx), "Send"
	if !mayWait {
		method = "TrySend"
	}
	b.enter(method)
	defer b.exit()
	var wait ownersWait
	for {
		switch {
		case b.closed:
			return sluice.ErrClosed
		case size > b.max.bytes && b.sizing.policy == Fail:
			return b.sizing.failure(size)
		case size > b.max.bytes && b.sizing.policy == Drop:
			b.discard(v)
			return nil
		case b.state == flushedByTimer && b.fits(size):
			b.accept(v, size)
			return nil
		case b.state == flushedByTimer && !mayWait:
			return sluice.ErrFull
		case b.state == flushedByTimer:
			if err := b.await(ctx, &wait); err != nil {
				return err
			}
		case b.othersFirst(size):
			err := b.flush(ctx, false)
			if !mayWait && errors.Is(err, sluice.ErrFull) && b.fits(size) {
				b.accept(v, size)
				return nil
			}
			if err != nil {
				return err
			}
		case b.completes(size):
			b.held.push(v, size)
			return b.flush(ctx, true)
		default:
			b.accept(v, size)
			return nil
		}
	}
}

// discard applies Drop to v. It releases the lock meanwhile.
func (b *Sender[T]) discard(v T) {
	b.unlock()
	defer b.lock()
	b.sizing.drop(v)
}

// accept puts v into the open batch, which has room for it.
func (b *Sender[T]) accept(v T, size uint64) {
	b.held.push(v, size)
	if b.timer != nil && b.openBatch().n == 1 {
		b.timer.start(b.channel.to)
	}
}

// flushAll is Flush.
func (b *Sender[T]) flushAll(ctx context.Context) error {
	var wait ownersWait
	for b.state == flushedByTimer {
		if err := b.await(ctx, &wait); err != nil {
			return err
		}
	}
	if b.held.n == 0 {
		return nil
	}
	return b.flush(ctx, false)
}

// flush is a flush by the owner: it sends the values that are held; under engine.NoWait, as many
// as there is room for. If candidate is set, the last value is the argument of a Send, and is
// taken out again unless it is accepted: it was sent, or the Sender has room for it because
// others were.
func (b *Sender[T]) flush(ctx context.Context, candidate bool) (err error) {
	values, all, sent, kept := b.held.run, b.held.n, 0, false
	b.state = flushedByOwner
	b.unlock()
	defer func() { // also if the channel panics or calls Goexit
		b.lock()
		b.flushed(sent, candidate && sent < all && !kept)
	}()
	err = b.channel.sendAll(ctx, &values, b.max.bytes, &sent)
	if kept = candidate && roomMade(ctx, sent, err); kept {
		return nil
	}
	return err
}

// roomMade reports whether a flush that failed has made room for the value that completed the
// batch: a TrySend that finds the channel full accepts it then.
func roomMade(ctx context.Context, sent int, err error) bool {
	return sent > 0 && err != nil && errors.Is(err, sluice.ErrFull) && !engine.MayWait(ctx)
}

// flushed ends a flush by the owner that has sent so many values, and takes the last value out
// again if it is refused.
func (b *Sender[T]) flushed(sent int, refused bool) {
	b.held.drop(sent)
	if refused {
		b.held.pop()
	}
	b.settle()
}

// settle ends the part of a call that had values sent or taken out. The timer tries again what
// is left.
func (b *Sender[T]) settle() {
	b.state = resting
	if b.timer != nil && b.held.n > 0 && !b.closed {
		b.timer.start(b.channel.to)
	}
}
