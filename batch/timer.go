package batch

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/sluice-go/sluice/internal/engine"
	"github.com/sluice-go/sluice/internal/park"
	"github.com/sluice-go/sluice/internal/spin"
)

// A flushTimer is what a Sender with a linger has besides: the timer, and what the owner shares
// with its goroutine.
//
// In direct mode the owner accepts values without the lock, and published is how many are held.
// Otherwise it is taken.
//
//   - The owner fills the slot behind the values, and moves published from n to n+1 by a
//     compare-and-swap, which publishes the slot. That is the acceptance of the value.
//   - A flush by the timer exchanges published for taken, and gets all values that were
//     accepted. The compare-and-swap of the next value fails, and the owner takes the lock.
//   - Only the owner ends that state, under the lock: in goDirect, when no flush is under way.
//
// So each value is in a batch that the timer has taken, or the owner knows that it is not; and
// the owner knows which value is the first one of a batch, for which it starts the timer.
// Therefore, whenever no call of the owner is under way and the Sender is open, it holds a
// value only if one of these is true:
//
//   - It is resting. The timer was started when the first value of the open batch was accepted,
//     or when a flush by the owner failed, and was not started since.
//   - A flush by the timer is under way, and takes the value; or it does not, and the timer was
//     started for the first value that it did not take, and runs, or has fired meanwhile: then
//     overdue is set, and the flush will start again.
//   - A flush by the timer has failed: the owner's next call flushes again.
//
// A timer that is not stopped in time does no harm: it flushes a younger batch early.
type flushTimer struct {
	*time.Timer
	linger    time.Duration
	published atomic.Int64

	mu       spin.Lock   // guards the fields below, and those of the Sender
	overdue  bool        // the timer has fired during a flush by the timer
	waiting  bool        // the owner waits for a flush by the timer
	parker   park.Parker // of the owner
	ctx      context.Context
	cancel   context.CancelFunc // of ctx, the context of flushes by the timer
	declared bool               // the owner's function, for the map of package livepage
}

const taken = -1

func newFlushTimer(linger time.Duration, fire func()) *flushTimer {
	t := &flushTimer{Timer: time.AfterFunc(1<<63-1, fire), linger: linger, parker: park.NewParker()}
	t.Stop()
	t.ctx, t.cancel = context.WithCancel(context.Background())
	t.published.Store(taken)
	return t
}

// lock is not inlined, so that Sender.lock is: most Senders have no timer.
//
//go:noinline
func (t *flushTimer) lock() { t.mu.Lock() }

// start starts the timer, from a call of the owner of a Sender that sends to channel.
func (t *flushTimer) start(channel any) {
	t.Reset(t.linger)
	if !t.declared {
		t.declared = true
		engine.SitesOf(channel).Sends()
	}
}

// publish accepts value n of the open batch, in direct mode. It reports whether it did. It is
// called without the lock.
func (b *Sender[T]) publish(n int) bool {
	if !b.timer.published.CompareAndSwap(int64(n-1), int64(n)) {
		return false
	}
	if n == 1 {
		b.timer.start(b.channel.to)
	}
	return true
}

// The functions below are called with the lock.

// collect ends the publication of values.
func (b *Sender[T]) collect() {
	if n := b.timer.published.Swap(taken); n != taken {
		b.held.n = int(n)
	}
}

// fire is run by the timer, in a goroutine of its own, without the lock.
func (b *Sender[T]) fire() {
	b.lock()
	defer b.unlock()
	switch b.state {
	case flushedByTimer:
		b.timer.overdue = true
		return
	case flushedByOwner:
		return // the end of that flush starts the timer again
	}
	b.collect()
	for due := b.held.n > 0 && !b.closed; due; due = b.flushAgain() {
		b.flushByTimer()
	}
}

// flushAgain reports whether a batch is due that the owner has filled during a flush by the
// timer.
func (b *Sender[T]) flushAgain() bool {
	return b.state == resting && !b.closed && b.held.n > 0 && (b.timer.overdue || b.held.amount().reaches(b.max))
}

// flushByTimer is a flush by the timer. A failure is repeated by the owner's next call.
func (b *Sender[T]) flushByTimer() {
	values, ctx, sent, all := b.held.run, b.timer.ctx, 0, false
	b.state, b.inFlight, b.timer.overdue = flushedByTimer, b.held.amount(), false
	b.unlock()
	defer func() { // also if the channel panics or calls Goexit
		b.lock()
		b.held.drop(sent)
		b.state, b.inFlight = failed, amount{}
		if all {
			b.state = resting
		}
		if b.timer.waiting {
			b.timer.waiting = false
			b.timer.parker.Unpark()
		}
	}()
	all = b.channel.sendAll(ctx, &values, b.max.bytes, &sent) == nil
}

// cancelFlush ends the flush by the timer that is under way.
func (b *Sender[T]) cancelFlush() {
	cancel := b.timer.cancel
	b.unlock()
	cancel()
	b.lock()
	for b.state == flushedByTimer {
		_ = b.await(context.Background(), &ownersWait{asked: true})
	}
	b.timer.ctx, b.timer.cancel = context.WithCancel(context.Background())
}

// An ownersWait is the progress of a call towards a wait.
type ownersWait struct {
	asked bool // ctx.Err was checked
	done  <-chan struct{}
}

// await waits until a flush by the timer has ended, or fails with the context's error. It
// releases the lock meanwhile, also to call methods of ctx, which are a user's code. The first
// call does not wait, but returns for another look.
//
// No wake-up is lost: the owner sets waiting under the same lock as it saw the flush, and
// parks. A flush that ends clears waiting under the lock and unparks the owner with one token.
// If ctx ends the wait, the owner takes the lock: waiting is still set, and it clears it; or it
// is not, and then the token is there, and the owner takes it.
func (b *Sender[T]) await(ctx context.Context, wait *ownersWait) error {
	if wait.asked && b.park(wait.done) {
		return nil
	}
	b.unlock()
	defer b.lock()
	if wait.asked {
		return engine.ContextError(ctx)
	}
	wait.asked = true
	if err := ctx.Err(); err != nil {
		return err
	}
	wait.done = ctx.Done()
	return nil
}

// park waits, and reports whether a flush has ended the wait rather than done.
func (b *Sender[T]) park(done <-chan struct{}) (woken bool) {
	t := b.timer
	t.waiting = true
	b.unlock()
	woken = t.parker.Park(done)
	b.lock()
	if !woken && !t.waiting {
		t.parker.Wait()
		return true
	}
	t.waiting = false
	return woken
}
