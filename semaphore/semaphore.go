// Package semaphore limits how much of something is in use at once: connections,
// requests in flight, bytes in memory. A [Semaphore] has a number of permits, of which each
// [Semaphore.Acquire] takes some and waits until they are free.
//
//	s := semaphore.New(64<<20, nil) // bytes
//	if err := s.Acquire(ctx, size); err != nil {
//		return err
//	}
//	defer s.Release(size)
//
// It has what golang.org/x/sync/semaphore has, and in addition: it can be resized and closed, it can
// let running goroutines pass waiting ones, it allocates only if more than 64 goroutines wait at
// once, and its fast path is one compare-and-swap.
package semaphore

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/sluice-go/sluice/internal/engine"
)

// Options are the optional settings of a [Semaphore].
type Options struct {
	// Barging lets a goroutine that calls Acquire take permits that are free although
	// others wait. That saves a switch of goroutines for each Acquire, and so carries
	// several times as much where permits are held briefly, but the wait of an unlucky
	// goroutine takes longer. It is bounded: after 16 spurious wake-ups, or 16 releases that
	// were too few for it, no other goroutine passes the first waiter.
	//
	// Without Barging, permits are granted strictly in the order of the calls. Then a
	// request for many permits holds up all behind it, and never starves.
	Barging bool
}

// A Semaphore has a number of permits. Make one with [New]. Its methods may be called by
// several goroutines at once. It has no goroutine of its own.
//
// In the terminology of the Go memory model, a Release synchronizes before an Acquire
// that takes one of its permits.
type Semaphore struct {
	// state is the number of free permits, shifted by freeShift, and the bits waiting and
	// strict. It is negative if a Resize took permits that are in use.
	state    atomic.Int64
	capacity atomic.Int64
	queue    queue
}

// The bits of Semaphore.state are changed under the lock of the queue only.
const (
	waiting int64 = 1 // a Release calls serve
	strict  int64 = 2 // an Acquire joins the queue, or finds that Close was called

	freeShift = 2
	permit    = 1 << freeShift

	// maxCapacity is the largest number of permits.
	maxCapacity = 1<<60 - 1
)

// New returns a semaphore with capacity permits, all free. It panics if capacity is negative, or
// 1<<60 or more. A nil o means FIFO order.
func New(capacity int64, o *Options) *Semaphore {
	s := &Semaphore{}
	requireCapacity("New", capacity)
	s.capacity.Store(capacity)
	s.state.Store(capacity * permit)
	s.queue.made = true
	s.queue.barging = o != nil && o.Barging
	return s
}

func requireCapacity(function string, capacity int64) {
	if capacity < 0 || capacity > maxCapacity {
		panic(fmt.Sprintf("semaphore: %s: capacity is %d (want 0 to %d)", function, capacity, int64(maxCapacity)))
	}
}

// requireMade panics if s is a zero value.
func (s *Semaphore) requireMade() {
	if !s.queue.made {
		panic("semaphore: Semaphore: a zero value: make a Semaphore with New")
	}
}

// requireCount panics if n, which is not positive, is negative, or if s is a zero value. A zero
// value has no permits, so a call with a positive n finds that later.
func (s *Semaphore) requireCount(method string, n int64) {
	s.requireMade()
	if n < 0 {
		panic(fmt.Sprintf("semaphore: %s: negative number of permits %d", method, n))
	}
}

// Acquire takes n permits, all at once, and waits until that many are free. It fails with
// [github.com/sluice-go/sluice.ErrClosed] after Close, even if it waits at that moment; with [github.com/sluice-go/sluice.ErrTooLarge] if
// the semaphore has fewer than n, or is resized to fewer while Acquire waits; and with the
// context's error if ctx is done and it would have to wait. After an error, no permit was taken. An n of 0 waits like any other. It panics if ctx is nil or n is negative.
func (s *Semaphore) Acquire(ctx context.Context, n int64) error {
	if ctx == nil {
		panic("semaphore: Acquire: nil context")
	}
	if s.TryAcquire(n) {
		return nil
	}
	return s.wait(ctx, n)
}

// TryAcquire takes n permits if that is possible without waiting, and reports whether it
// did. Without Barging it fails while others wait, and after Close always. It panics if n is negative.
func (s *Semaphore) TryAcquire(n int64) bool {
	if n <= 0 {
		s.requireCount("TryAcquire", n)
	}
	if s.take(n, strict) {
		return true
	}
	s.requireMade()
	return false
}

// take takes n permits if they are free, and none of the bits is set.
func (s *Semaphore) take(n, bits int64) bool {
	for {
		state := s.state.Load()
		if state&bits != 0 || state>>freeShift < n {
			return false
		}
		if s.state.CompareAndSwap(state, state-n*permit) {
			return true
		}
	}
}

// Release frees n permits. It never waits. It panics if n is negative, or if fewer than n
// permits are taken; during a Resize it may miss that.
func (s *Semaphore) Release(n int64) {
	if n <= 0 {
		s.requireCount("Release", n)
	}
	for {
		state := s.state.Load()
		if n > s.capacity.Load()-state>>freeShift {
			s.checkTaken(n)
			continue // a Resize was in between
		}
		if !s.state.CompareAndSwap(state, state+n*permit) {
			continue
		}
		if state&waiting != 0 {
			s.released()
		}
		return
	}
}

// checkTaken panics if fewer than n permits are taken.
func (s *Semaphore) checkTaken(n int64) {
	s.requireMade()
	s.queue.lock.Lock()
	taken := s.taken()
	s.queue.lock.Unlock()
	if n > taken {
		panic(fmt.Sprintf("semaphore: Release of %d permits, but only %d are taken", n, taken))
	}
}

// Resize changes the number of permits. It never waits: if more permits than that are
// taken now, Acquire waits until enough were released. It panics as [New] does.
func (s *Semaphore) Resize(capacity int64) {
	s.requireMade()
	requireCapacity("Resize", capacity)
	q := &s.queue
	q.lock.Lock()
	// In between, too many permits seem to be taken, never too few.
	if more := capacity - s.capacity.Load(); more >= 0 {
		s.capacity.Store(capacity)
		s.state.Add(more * permit)
	} else {
		s.state.Add(more * permit)
		s.capacity.Store(capacity)
	}
	s.serveAndUnlock(q.refuse(capacity, engine.ErrTooLarge))
}

// Close makes each Acquire fail with [github.com/sluice-go/sluice.ErrClosed] from now on, those that wait included, and each
// TryAcquire. One that has been granted its permits before still returns nil. Permits that are
// taken stay so, until their holders call Release, which works as before, as do Resize, Cap
// and Taken: so Taken is 0 once all work has ended. Close never waits, is idempotent, and may be
// called from any goroutine.
func (s *Semaphore) Close() {
	s.requireMade()
	q := &s.queue
	q.lock.Lock()
	q.closed = true
	s.serveAndUnlock(q.refuse(-1, engine.ErrClosed))
}

// Cap returns the number of permits, free or taken.
func (s *Semaphore) Cap() int64 {
	s.requireMade()
	return s.capacity.Load()
}

// Taken returns the number of permits that are taken. After a Resize it may exceed Cap.
func (s *Semaphore) Taken() int64 {
	s.requireMade()
	s.queue.lock.Lock() // no Resize meanwhile
	defer s.queue.lock.Unlock()
	return s.taken()
}

func (s *Semaphore) taken() int64 { return s.capacity.Load() - s.state.Load()>>freeShift }

// Waiting returns the number of goroutines that wait.
func (s *Semaphore) Waiting() int {
	s.requireMade()
	s.queue.lock.Lock()
	defer s.queue.lock.Unlock()
	return s.queue.waiters.Len()
}
