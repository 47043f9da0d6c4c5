package batch

import (
	"context"
	"errors"
	"fmt"

	"github.com/sluice-go/sluice"
)

// The two flights of a Sender; flush.go has the protocol.

// A flight says who sends now.
type flight uint8

const (
	grounded   flight = iota
	foreground        // the owner
	background        // the timer's goroutine
)

// fly is a flight in the foreground: it sends all that the Sender holds, with a
// nil ctx as much as there is room for. If candidate, the last value is that of a
// Send: unless the call succeeds it is taken out again. The lock is released.
func (b *Sender[T]) fly(ctx context.Context, candidate bool) (err error) {
	b.flight, b.stop = foreground, 0
	buf, from, to := b.buf, b.head, b.tail()
	b.lock.Unlock()
	var sent int64
	landed := false
	land := func(accept bool) {
		landed = true
		b.lock.Lock()
		b.drop(sent)
		if !accept {
			b.unput()
		}
		b.flight = grounded
		b.settle()
		b.lock.Unlock()
	}
	defer func() {
		if !landed { // a panic, or Goexit, in the channel below
			land(!candidate)
		}
	}()
	err = b.transmit(ctx, buf, from, to, &sent)
	if candidate && ctx == nil && sent > 0 && errors.Is(err, sluice.ErrFull) {
		err = nil // there is room for it in the Sender now
	}
	land(err == nil || !candidate)
	return err
}

// drop forgets the first n values: they were sent, or taken out.
func (b *Sender[T]) drop(n int64) {
	for n > 0 {
		lo := b.head % int64(len(b.buf))
		run := min(n, int64(len(b.buf))-lo)
		clear(b.buf[lo : lo+run])
		b.head += run
		n -= run
	}
}

// unput takes the value out that was just put.
func (b *Sender[T]) unput() {
	b.at--
	var zero T
	b.buf[b.at] = zero
}

// settle makes the rest agree with head and at, when nothing flies.
func (b *Sender[T]) settle() {
	if b.held() == 0 { // from slot 0 on, a batch is one run
		b.head, b.base, b.at = 0, 0, 0
	}
	if b.linger > 0 {
		b.accepted.Store(b.tail())
		b.claimed.Store(b.head << 1)
		if b.held() > 0 && !b.closed {
			b.timer.Reset(b.linger)
		}
	}
	b.rebound()
}

// fire is run by the timer, in a goroutine of its own.
func (b *Sender[T]) fire() {
	b.lock.Lock()
	if b.flight != grounded || b.closed || b.accepted.Load() == b.head {
		b.overdue = b.flight == background
		b.lock.Unlock()
		return
	}
	b.claim()
	for again := true; again; {
		buf, from, to, ctx := b.buf, b.head, b.claimedTo(), b.ctx
		b.lock.Unlock()
		again = b.flyBehind(ctx, buf, from, to)
	}
}

// claim begins a flight in the background. Its goroutine holds the lock.
func (b *Sender[T]) claim() {
	b.flight, b.overdue = background, false
	to := b.accepted.Load()
	b.claimed.Swap(to << 1)
	if b.accepted.Load() != to {
		b.timer.Reset(b.linger)
	}
}

// flyBehind is a flight in the background, and reports whether the next one has
// begun: then the lock is held. It is called without.
func (b *Sender[T]) flyBehind(ctx context.Context, buf []T, from, to int64) (again bool) {
	var sent int64
	defer func() { // also of a panic, or Goexit, in the channel below
		b.lock.Lock()
		b.drop(sent)
		all := b.head == to
		more := b.accepted.Load() - to
		again = all && !b.closed && more > 0 && (b.overdue || more >= b.size)
		switch {
		case again:
			b.claim()
		case !all:
			b.claimed.Store(b.head<<1 | failed)
			fallthrough
		default:
			b.flight = grounded
		}
		if b.waiting {
			b.waiting = false
			b.parker.Unpark()
		}
		if !again {
			b.lock.Unlock()
		}
	}()
	_ = b.transmit(ctx, buf, from, to, &sent) // the owner's next call will see
	return
}

// transmit sends the values from … to-1 of buf, and counts in sent. No lock is
// held. With a nil ctx it does not wait, and fails with sluice.ErrFull.
func (b *Sender[T]) transmit(ctx context.Context, buf []T, from, to int64, sent *int64) error {
	for i := from; i < to; {
		lo := i % int64(len(buf))
		hi := min(lo+to-i, int64(len(buf)))
		var n int
		var err error
		switch {
		case ctx != nil:
			n, err = b.s.SendBatch(ctx, buf[lo:hi:hi])
		case b.own:
			n, err = b.s.SendBatch(atOnce, buf[lo:hi:hi])
		default:
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

// atOnce is a context under which a channel of this package does what it can
// without waiting, and then fails with sluice.ErrFull.
var atOnce = func() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return full{ctx}
}()

type full struct{ context.Context }

func (full) Err() error { return sluice.ErrFull }
