package batch

import (
	"context"
	"errors"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/internal/engine"
)

// How a Sender works: values, slots and flushes.
//
// Values are numbered in the order in which they were accepted; value i is in slot
// i mod len(buf). The Sender holds the values head … tail-1, where tail = base + at, and
// tail-head <= most. The slots from tail on are free and belong to the owner, the
// goroutine that calls Send. The owner fills a slot and moves tail past it. While
// at < stop it needs no further check.
//
// A flush takes all values that are held at that moment, calls SendBatch with no lock
// held, and then moves head past the values that were sent. Only one flush runs at a
// time: by the owner, within its call, or by the goroutine of the timer. During a flush
// nothing writes the slots of its values, and head does not move.
//
//   - flushing == byOwner implies stop == 0, and tail does not move. So another call takes
//     the slow path, finds the flush, and panics.
//   - flushing == byTimer: the owner may accept up to max values while the flush runs.
//   - With a limit in bytes, sizes[i] is the size of the value in slot i, each Send takes the
//     lock if there is a linger, and the owner may accept up to limit bytes beside those in
//     flight. A value above the limit is not held when no flush by the owner is under way.
//     bytes, the sum of all that is held, is at most the limit without a linger, and twice
//     the limit with one, which uint64 has room for.
//
// flushing, head, buf and sizes change under the lock. Without the lock they are read by the
// owner, which alone changes buf and sizes, and by the goroutine of a flush, for which they do
// not change.

// A flusher is the goroutine that flushes at the moment.
type flusher uint8

const (
	idle flusher = iota
	byOwner
	byTimer
)

// failed is the lowest bit of claimed; the index is above it.
const failed = 1

// sendTimed is Send and TrySend with a linger. A value takes the slow path if it
// completes a batch, if a flush failed, or if it is the first of a batch: the slow path
// then moves it to slot 0 if it can, so that the batch is sent in one piece.
func (b *Sender[T]) sendTimed(ctx context.Context, v T) error {
	claimed := b.claimed.Load()
	if b.at >= b.stop || claimed&failed != 0 || claimed>>1 == b.tail() {
		return b.sendSlow(ctx, v, 0)
	}
	b.buf[b.at] = v
	b.at++
	b.publish()
	return nil
}

// publish makes the last value visible to the timer, and starts the timer if the value is
// the first one of a batch: the first that no flush has claimed.
//
// The owner publishes tail in accepted; a flush by the timer publishes the end of the
// values that it takes in claimed. Each then reads the other's word:
//
//   - The owner moves accepted, then loads claimed. If claimed is the index of its value,
//     the value is the first one.
//   - The flush moves claimed, then loads accepted again. If accepted has moved, the owner
//     may not have seen that its value is the first one.
//
// Both moves are read-modify-writes, so at least one of the two sees the other. If both
// do, the timer is started twice, for nearly the same time. Therefore, whenever no call of
// the owner is under way and the Sender is open, it holds a value only if one of these is
// true:
//
//   - The timer runs, and fires at the latest linger after the first unclaimed value was
//     accepted.
//   - A flush by the timer is under way, and takes the value, or will start again because
//     the timer fired meanwhile (overdue).
//   - A flush by the owner failed, and the timer runs since then.
//   - The failed bit of claimed is set: a flush by the timer failed, and the owner's next
//     call sees the bit and flushes again.
//
// A timer that is not stopped in time does no harm: it flushes a younger batch, and the
// linger starts again with the value after that.
func (b *Sender[T]) publish() {
	tail := b.tail()
	b.accepted.Swap(tail) // publishes the slot
	if b.claimed.Load()>>1 == tail-1 {
		b.timer.Reset(b.linger)
		if !b.declared {
			b.declared = true
			engine.SitesOf(b.s).Sends()
		}
	}
}

// tail is the index of the next value.
func (b *Sender[T]) tail() int64 { return b.base + int64(b.at) }

// The functions below are called by the owner with the lock held, unless they say
// otherwise.

// enter takes the lock for a call of the owner. It panics if another call is flushing.
func (b *Sender[T]) enter(method string) {
	b.requireMade()
	b.leaveOpen()
	b.lock.Lock()
	if b.flushing == byOwner {
		b.lock.Unlock()
		panic("batch: Sender." + method + ": called during a flush by another call: a Sender belongs to one goroutine")
	}
}

// requireMade panics if b is a zero value. The lock is not needed.
func (b *Sender[T]) requireMade() {
	if b.s == nil {
		panic(zeroSender)
	}
}

const zeroSender = "batch: Sender: a zero value: make a Sender with NewSender"

// held is the number of values in the Sender.
func (b *Sender[T]) held() int64 { return b.tail() - b.head }

// claimedTo is the end of the values that the last flush by the timer took.
func (b *Sender[T]) claimedTo() int64 { return b.claimed.Load() >> 1 }

// setStop computes stop. The slow path gets the value that completes a batch, the value
// behind the end of buf, and any value while a flush by the owner runs or b is closed.
func (b *Sender[T]) setStop() {
	if b.closed || b.flushing == byOwner {
		b.stop = 0
		b.leaveOpen()
		return
	}
	if b.at == len(b.buf) {
		b.base, b.at = b.tail(), 0
	}
	first := b.head
	if b.flushing == byTimer {
		first = b.claimedTo()
	}
	more := min(first+b.max-1, b.head+int64(len(b.buf))) - b.tail()
	b.stop = b.at + int(min(more, int64(len(b.buf)-b.at)))
	b.enterOpen()
}

// put puts v into the next slot, which is free.
func (b *Sender[T]) put(v T, size uint64) {
	if b.at == len(b.buf) {
		b.base, b.at = b.tail(), 0
	}
	b.buf[b.at] = v
	if b.sizes != nil {
		b.sizes[b.at] = size
		b.bytes += size
	}
	b.at++
}

// makeRoom grows buf if it is full. The Sender holds fewer than most values.
func (b *Sender[T]) makeRoom() {
	if b.held() < int64(len(b.buf)) {
		return
	}
	larger := make([]T, int64(len(b.buf))+min(int64(len(b.buf)), b.most-int64(len(b.buf))))
	tail := b.tail()
	for i := b.head; i < tail; i++ {
		larger[i%int64(len(larger))] = b.buf[i%int64(len(b.buf))]
	}
	if b.sizes != nil {
		sizes := make([]uint64, len(larger))
		for i := b.head; i < tail; i++ {
			sizes[i%int64(len(sizes))] = b.sizes[i%int64(len(b.sizes))]
		}
		b.sizes = sizes
	}
	b.at = int(tail % int64(len(larger)))
	b.buf, b.base = larger, tail-int64(b.at)
}

// admit accepts v and releases the lock.
func (b *Sender[T]) admit(v T, size uint64) {
	if b.flushing == idle && b.held() == 0 {
		b.settle()
	}
	b.makeRoom()
	b.put(v, size)
	if b.linger > 0 {
		b.publish()
	}
	b.setStop()
	b.lock.Unlock()
}

// fits reports whether a value of this size fits into the batch that the owner fills.
func (b *Sender[T]) fits(size uint64) bool {
	filled := b.bytes
	if b.flushing == byTimer {
		filled -= b.inFlight
	}
	return filled <= b.limit && size <= b.limit-filled
}

// sendSlow is Send and TrySend for a value that may complete a batch, or wait. Its size is 0
// without a limit in bytes. It is called without the lock.
func (b *Sender[T]) sendSlow(ctx context.Context, v T, size uint64) error {
	mayWait := engine.MayWait(ctx)
	if mayWait {
		b.enter("Send")
	} else {
		b.enter("TrySend")
	}
	var wait ownersWait
	for {
		switch {
		case b.closed:
			b.lock.Unlock()
			return sluice.ErrClosed
		case b.flushing == byTimer && b.fits(size) && b.tail() < b.claimedTo()+b.max && b.held() < b.most:
			b.admit(v, size)
			return nil
		case b.flushing == byTimer:
			if !mayWait {
				b.lock.Unlock()
				return sluice.ErrFull
			}
			if err := b.await(ctx, &wait); err != nil {
				return err
			}
		case b.claimed.Load()&failed != 0 || b.held() >= b.max || b.held() > 0 && !b.fits(size):
			// The values held go first: v belongs to another batch, or would be stuck behind
			// a failure.
			err := b.flush(ctx, false)
			b.lock.Lock()
			if err != nil && (mayWait || b.held() >= b.max || !b.fits(size) || !errors.Is(err, sluice.ErrFull)) {
				b.lock.Unlock()
				return err
			}
			if err != nil {
				b.admit(v, size)
				return nil
			}
		case b.held() < b.max-1 && size < b.limit-b.bytes:
			b.admit(v, size)
			return nil
		default:
			b.makeRoom()
			b.put(v, size)
			return b.flush(ctx, true)
		}
	}
}

// flushAll is Flush. It releases the lock.
func (b *Sender[T]) flushAll(ctx context.Context) error {
	var wait ownersWait
	for b.flushing == byTimer {
		if err := b.await(ctx, &wait); err != nil {
			return err
		}
	}
	if b.held() == 0 {
		b.lock.Unlock()
		return nil
	}
	return b.flush(ctx, false)
}

// takeUnsent is TakeUnsent. It releases the lock.
func (b *Sender[T]) takeUnsent() (unsent []T) {
	if b.flushing == byTimer {
		cancel := b.cancel
		b.lock.Unlock()
		cancel()
		b.lock.Lock()
		for b.flushing == byTimer {
			_ = b.await(context.Background(), &ownersWait{asked: true})
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

// An ownersWait is the progress of a call towards a wait.
type ownersWait struct {
	asked bool // ctx.Err was checked
	done  <-chan struct{}
}

// await waits until a flush by the timer has ended, or has taken more values. If it fails,
// with the context's error, the lock is released. It calls methods of ctx, which are a
// user's code, without the lock.
//
// No wake-up is lost: the owner sets waiting under the same lock as it saw the flush, and
// parks. A flush that ends, or starts again, clears waiting under the lock and unparks the
// owner with one token. If ctx ends the wait, the owner takes the lock: waiting is still
// set, and it clears it; or it is not, and then the owner takes the token, which is there
// or will be in a moment.
func (b *Sender[T]) await(ctx context.Context, wait *ownersWait) error {
	if !wait.asked {
		b.lock.Unlock()
		if err := ctx.Err(); err != nil {
			return err
		}
		wait.asked, wait.done = true, ctx.Done()
		b.lock.Lock()
		return nil // to check again
	}
	b.waiting = true
	b.lock.Unlock()
	woken := b.parker.Park(wait.done)
	b.lock.Lock()
	if !woken && !b.waiting {
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
