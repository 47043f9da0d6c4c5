package broadcast

import (
	"context"

	"github.com/sluice-go/sluice/internal/engine"
	"github.com/sluice-go/sluice/internal/spin"
	"github.com/sluice-go/sluice/internal/waitq"
)

// Recv receives the next value. This is the fast path: it is in the pinned block.
func (s *Subscription[T]) Recv(ctx context.Context) (v T, err error) {
	if ctx == nil {
		panic("hub: Recv: nil context")
	}
	s.probe()
	w := s.word.Load()
	next := w >> 1
	if next != s.hub.tail.Load() && w&locked == 0 && !s.owns && s.word.CompareAndSwap(w, w|locked) {
		// The tail of this moment: the account may have the next value as dropped by now.
		tail := s.hub.tail.Load()
		if b := s.block; b != nil && tail-next <= s.capacity && next-b.base < uint64(len(b.values)) {
			v = b.values[next-b.base]
			s.observe(tail - next)
			s.releaseAt(next + 1)
			s.received(tail-next > 1)
			return v, nil
		}
		s.release()
	}
	var one [1]T
	_, err = s.recvSlow(ctx, one[:])
	return one[0], err
}

// TryRecv receives the next value if there is one.
func (s *Subscription[T]) TryRecv() (T, error) { return s.Recv(engine.NoWait{}) }

// RecvBatch receives at least one value, and up to len(buf).
func (s *Subscription[T]) RecvBatch(ctx context.Context, buf []T) (int, error) {
	s.probe()
	return s.recvSlow(ctx, buf)
}

// received is called after values were received. left is whether there are more.
func (s *Subscription[T]) received(left bool) {
	if s.overflow == engine.Block && s.hub.senders.Waiting() {
		s.hub.roomMade(s)
	}
	if left {
		s.ready.Post()
	}
}

// recvSlow moves queued values into buf, and waits until there is at least one; under
// engine.NoWait it never waits.
func (s *Subscription[T]) recvSlow(ctx context.Context, buf []T) (n int, err error) {
	var wait waitq.Wait
	var attempt spin.Attempt
	joined := false
	poll := !engine.MayWait(ctx) || s.hasValue() || s.hub.closed.Load()
	for ; ; poll = true {
		if !poll { // the first attempt, when it would most likely find nothing
			err = engine.ErrEmpty
		} else if n, err = s.take(buf); err != engine.ErrEmpty {
			break
		}
		if !engine.MayWait(ctx) || wait.Canceled() {
			break
		}
		switch {
		case wait.Joined():
			s.hub.wakeNext()
			if !wait.Queued() || s.enlist() {
				wait.Step()
			}
		case ctx.Err() != nil:
			wait.Cancel()
		case s.spinFor(&attempt):
			attempt.Spun()
		case !attempt.Yielded() && s.yields.Allow():
			attempt.Yield()
			s.yields.Record(s.hasValue())
		default:
			wait.Join(&s.receivers, ctx.Done())
			joined = true
			if s.hub.wakeNext(); s.enlist() { // which looks for a value
				wait.Step()
			}
		}
	}
	if wait.Leave() {
		s.pass()
	}
	if joined {
		s.hub.wakeNext()
	}
	if err == engine.ErrEmpty && engine.MayWait(ctx) {
		err = engine.ContextError(ctx)
	}
	return n, err
}

// spinFor spins if that has paid lately, and reports whether a value has come.
func (s *Subscription[T]) spinFor(a *spin.Attempt) bool {
	if !s.spins.Allows() || !a.MaySpin() {
		return false
	}
	tail := s.hub.tail.Load()
	_ = spin.Delay(spin.RunDelay)
	came := s.hub.tail.Load() - tail
	s.spins.Record(came >= spin.GoodRun)
	return came > 0
}

// take moves queued values into buf. It fails if there is none, with ErrEmpty or with why
// there will be none.
func (s *Subscription[T]) take(buf []T) (n int, err error) {
	for {
		closed := s.hub.closed.Load() // before tail: it does not move after that
		for n < len(buf) {
			m, err := s.takeRun(buf[n:])
			if m == 0 && err == nil && s.hasValue() {
				m, err = s.takeMoved(buf[n:])
			}
			if err != nil && n == 0 {
				return 0, err
			}
			if m == 0 {
				break
			}
			n += m
		}
		switch {
		case n > 0:
			return n, nil
		case closed:
			return 0, engine.ErrClosed
		case !s.hasValue() && !s.hub.closed.Load(): // it was empty and open at one moment
			return 0, engine.ErrEmpty
		}
	}
}

// takeRun moves values into buf that are in the pinned block, or in the queue of s.
func (s *Subscription[T]) takeRun(buf []T) (n int, err error) {
	next := s.acquire()
	if s.err != nil {
		err = s.err
		s.release()
		return 0, err
	}
	left := false
	if s.owns {
		if s.hub.publishing.Load() {
			s.release()
			return s.takeMoved(buf)
		}
		n, left = s.takeOwn(buf, next)
	} else {
		tail := s.hub.tail.Load()
		n = s.copyRun(buf, next, tail)
		left = tail-next > uint64(n)
		s.releaseAt(next + uint64(n))
	}
	if n > 0 {
		s.received(left)
	}
	return n, nil
}

// takeOwn moves values from the queue of s to buf, and releases the lock.
func (s *Subscription[T]) takeOwn(buf []T, next uint64) (n int, left bool) {
	for ; n < len(buf) && s.own.Len() > 0; n++ {
		buf[n] = s.own.Pop().value
	}
	s.own.Shrink(minOwn)
	left = s.own.Len() > 0
	s.releaseAt(next + uint64(n))
	return n, left
}

// copyRun copies values to buf: those from next on that are in the pinned block, unless s has
// to drop some of them. The lock is held.
func (s *Subscription[T]) copyRun(buf []T, next, tail uint64) int {
	b := s.block
	if b == nil || tail-next > s.capacity || next-b.base >= uint64(len(b.values)) {
		return 0
	}
	s.observe(tail - next)
	end := min(tail-b.base, uint64(len(b.values)))
	return copy(buf, b.values[next-b.base:end])
}

// takeMoved is takeRun with the lock of the Hub, after s has dropped the values for which it has
// no room, and has moved its pin to the block of the next value.
func (s *Subscription[T]) takeMoved(buf []T) (n int, err error) {
	h := s.hub
	h.acquire()
	next := s.acquire()
	if s.err != nil {
		err = s.err
		s.release()
		h.lock.Unlock()
		return 0, err
	}
	left := false
	if s.owns {
		n, left = s.takeOwn(buf, next)
	} else {
		tail := h.tail.Load()
		s.observe(tail - next)
		if tail-next > s.capacity {
			s.dropped += tail - s.capacity - next
			next = tail - s.capacity
		}
		s.repin(next)
		n = s.copyRun(buf, next, tail)
		left = tail-next > uint64(n)
		s.releaseAt(next + uint64(n))
	}
	h.lock.Unlock()
	if n > 0 {
		s.received(left)
	}
	return n, nil
}

// repin moves the pin to the block of next. Both locks are held.
func (s *Subscription[T]) repin(next uint64) {
	if old := s.block; next-old.base >= uint64(len(old.values)) {
		s.block = s.hub.log.pin(next)
		s.hub.log.unpin(old, s.hub.keep())
	}
}

// minOwn is the least size of a queue of a subscription's own.
const minOwn = 16
