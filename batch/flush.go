package batch

import (
	"context"
	"errors"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/internal/engine"
)

// How a Sender sends.
//
// # States and ownership
//
// Values have indices, in the order in which they were accepted; value i lies in
// slot i mod len(buf). The Sender holds head … tail-1, at most b.most of them.
// The slots from tail on are free: they belong to the owner, the goroutine that
// calls Send. It fills one and moves the tail, which is base + at, past it, and may
// do so without a look at anything else while at is below stop.
//
// Sending is a flight: it takes all values held at that moment, calls SendBatch
// with no lock held, and lands by moving head past what was sent. There is one
// flight at a time, in the foreground by the owner within its call, or in the
// background by the goroutine of the timer. During a flight the slots of its
// values are only read, and head stays. During one in the foreground the owner
// is busy, so tail stays too, and stop is 0: another call finds that out, and
// panics. During one in the background the owner may go on, up to size values
// beyond those in flight.
//
// flight, head and buf change under the lock. Apart from that they are read by
// the owner, who alone changes buf, and by the goroutine of a flight, for which
// they do not change.
//
// # The timer
//
// Without a linger there is no other goroutine, and Send touches two plain
// words. With one the owner publishes the tail for each value (accepted), and the
// timer's goroutine publishes the end of what it takes (claimed). A value is the
// first of a batch if all before it are claimed; whoever sees that starts the
// timer:
//
//   - the owner moves accepted, then loads claimed: if that was the index of
//     its value, the value is the first.
//   - the flight moves claimed, then loads accepted again: if that has moved, the
//     value that it left behind may be a first one of which the owner does not know.
//
// Both announce by a read-modify-write, so at least one of them sees it; if both do, the
// timer is started twice, for nearly the same time. Thus, at every moment at which
// the owner is outside and the Sender open, it holds a value only if
//
//   - the timer runs, and ends at the latest linger after the first value that is
//     in no flight was accepted; or
//   - a flight in the background is under way, and takes the value with it or will
//     go on with it, since the timer has fired meanwhile (overdue); or
//   - a flight in the foreground has failed, and the timer runs since then; or
//   - the failed bit of claimed is set: a flight in the background has failed.
//     The owner's next call sees the bit, and flies again.
//
// A timer that is not stopped in time does no harm: its flight takes a batch that
// is younger, and the time of the value after it starts anew.
//
// # Waiting: why no wake-up is lost
//
// The owner alone waits, for a flight in the background to land or to take more
// values with it. It sets waiting under the lock hold that found the flight, and
// parks. Whoever lands, or starts again, clears waiting under the lock and puts
// down one token. A context that ends the wait clears waiting under the lock if it
// is still set; if it is not, the token is down or will be in a moment, and is
// taken.

// failed is the lowest bit of claimed; the index is above it.
const failed = 1

// sendTimed is Send, and with a nil ctx TrySend, if there is a linger. A value takes the
// slow path if it completes a batch, if something has failed, and if it is the first
// of a batch, which then starts at slot 0 if that is possible: so it is sent as one
// run.
func (b *Sender[T]) sendTimed(ctx context.Context, v T) error {
	claimed := b.claimed.Load()
	if b.at >= b.stop || claimed&failed != 0 || claimed>>1 == b.tail() {
		return b.sendSlow(ctx, v)
	}
	b.buf[b.at] = v
	b.at++
	b.publish()
	return nil
}

// publish makes the last value known to the timer's flight, and starts the timer if
// the value is the first that no flight has claimed.
func (b *Sender[T]) publish() {
	tail := b.tail()
	b.accepted.Swap(tail) // publishes the slot
	if b.claimed.Load()>>1 == tail-1 {
		b.timer.Reset(b.linger)
	}
}

// tail is the index of the next value.
func (b *Sender[T]) tail() int64 { return b.base + int64(b.at) }

// All that follows is called by the owner with the lock held, if not said
// otherwise.

// enter takes the lock for a call of the owner, or panics if another one is under
// way.
func (b *Sender[T]) enter(method string) {
	b.lock.Lock()
	if b.flight == foreground {
		b.lock.Unlock()
		panic("batch: Sender." + method + ": called during a flush by another call: a Sender belongs to one goroutine")
	}
}

// held is how many values are in the Sender.
func (b *Sender[T]) held() int64 { return b.tail() - b.head }

// claimedTo is the end of what a flight in the background took last.
func (b *Sender[T]) claimedTo() int64 { return b.claimed.Load() >> 1 }

// rebound sets stop, so that Send looks for itself at the value that completes a
// batch, at the end of buf, and if there is something to see to.
func (b *Sender[T]) rebound() {
	if b.closed || b.flight == foreground {
		b.stop = 0
		return
	}
	if b.at == len(b.buf) {
		b.base, b.at = b.tail(), 0
	}
	first := b.head
	if b.flight == background {
		first = b.claimedTo()
	}
	more := min(first+b.size-1, b.head+int64(len(b.buf))) - b.tail()
	b.stop = b.at + int(min(more, int64(len(b.buf)-b.at)))
}

// put takes v over, into a slot that is free.
func (b *Sender[T]) put(v T) {
	if b.at == len(b.buf) {
		b.base, b.at = b.tail(), 0
	}
	b.buf[b.at] = v
	b.at++
}

// room makes sure that there is a free slot: fewer than most values are held.
func (b *Sender[T]) room() {
	if b.held() < int64(len(b.buf)) {
		return
	}
	larger := make([]T, int64(len(b.buf))+min(int64(len(b.buf)), b.most-int64(len(b.buf))))
	tail := b.tail()
	for i := b.head; i < tail; i++ {
		larger[i%int64(len(larger))] = b.buf[i%int64(len(b.buf))]
	}
	b.at = int(tail % int64(len(larger)))
	b.buf, b.base = larger, tail-int64(b.at)
}

// admit accepts v, and releases the lock.
func (b *Sender[T]) admit(v T) {
	if b.flight == grounded && b.held() == 0 {
		b.settle()
	}
	b.room()
	b.put(v)
	if b.linger > 0 {
		b.publish()
	}
	b.rebound()
	b.lock.Unlock()
}

// sendSlow is Send, and with a nil ctx TrySend, for a value that may complete a
// batch, or wait. It is called without the lock.
func (b *Sender[T]) sendSlow(ctx context.Context, v T) error {
	if ctx != nil {
		b.enter("Send")
	} else {
		b.enter("TrySend")
	}
	var turn ownersTurn
	for {
		switch {
		case b.closed:
			b.lock.Unlock()
			return sluice.ErrClosed
		case b.flight == background && b.tail() < b.claimedTo()+b.size && b.held() < b.most:
			b.admit(v)
			return nil
		case b.flight == background:
			if ctx == nil {
				b.lock.Unlock()
				return sluice.ErrFull
			}
			if err := b.await(ctx, &turn); err != nil {
				return err
			}
		case b.claimed.Load()&failed != 0 || b.held() >= b.size:
			// What is there goes first, or v would wait behind a failure.
			err := b.fly(ctx, false)
			b.lock.Lock()
			if err != nil && (ctx != nil || b.held() >= b.size || !errors.Is(err, sluice.ErrFull)) {
				b.lock.Unlock()
				return err
			}
			if err != nil {
				b.admit(v)
				return nil
			}
		case b.held() < b.size-1:
			b.admit(v)
			return nil
		default:
			b.room()
			b.put(v)
			return b.fly(ctx, true)
		}
	}
}

// flushAll is Flush. It releases the lock.
func (b *Sender[T]) flushAll(ctx context.Context) error {
	var turn ownersTurn
	for b.flight == background {
		if err := b.await(ctx, &turn); err != nil {
			return err
		}
	}
	if b.held() == 0 {
		b.lock.Unlock()
		return nil
	}
	return b.fly(ctx, false)
}

// takeBack is TakeUnsent. It releases the lock.
func (b *Sender[T]) takeBack() (unsent []T) {
	if b.flight == background {
		cancel := b.cancel
		b.lock.Unlock()
		cancel()
		b.lock.Lock()
		for b.flight == background {
			_ = b.await(context.Background(), &ownersTurn{asked: true})
		}
		b.ctx, b.cancel = context.WithCancel(context.Background())
	}
	defer b.lock.Unlock()
	if b.held() == 0 {
		return nil
	}
	unsent = make([]T, 0, b.held())
	for i := b.head; i < b.tail(); i++ {
		unsent = append(unsent, b.buf[i%int64(len(b.buf))])
	}
	b.drop(b.held())
	b.settle()
	return unsent
}

// An ownersTurn is how far a call is on its way to wait.
type ownersTurn struct {
	asked bool // the context
	done  <-chan struct{}
}

// await waits until a flight in the background has landed, or taken more values
// with it. If it fails, with the context's error, the lock is released. The
// context is asked without the lock: it is a user's code.
func (b *Sender[T]) await(ctx context.Context, turn *ownersTurn) error {
	if !turn.asked {
		b.lock.Unlock()
		if err := ctx.Err(); err != nil {
			return err
		}
		turn.asked, turn.done = true, ctx.Done()
		b.lock.Lock()
		return nil // to look again
	}
	b.waiting = true
	b.lock.Unlock()
	woken := b.parker.Park(turn.done)
	b.lock.Lock()
	if !woken && !b.waiting { // called meanwhile: the token is on its way
		b.lock.Unlock()
		woken = b.parker.Park(nil)
		b.lock.Lock()
	}
	b.waiting = false
	if woken {
		return nil
	}
	b.lock.Unlock()
	return engine.ContextError(ctx)
}
