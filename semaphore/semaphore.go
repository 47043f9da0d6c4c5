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
	"errors"
	"fmt"
	"sync/atomic"
)

// ErrTooLarge: more permits were asked for than the semaphore has.
var ErrTooLarge = errors.New("semaphore: more permits than the semaphore has")

// ErrClosed: Close was called before the permits were taken.
var ErrClosed = errors.New("semaphore: closed")

// Options are the optional settings of a [Semaphore].
type Options struct {
	// Barging lets a goroutine that calls Acquire take permits that are free although
	// others wait. That saves a switch of goroutines for each Acquire, and so carries
	// several times as much where permits are held briefly, but the wait of an unlucky
	// goroutine takes longer. It is bounded: once the first of those that wait was woken
	// in vain 16 times, or 16 releases were too few for it, nobody passes it.
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
	state atomic.Int64
	size  atomic.Int64
	queue queue
}

// The bits of Semaphore.state are changed under the lock of the queue only.
const (
	waiting int64 = 1 // a Release calls serve
	strict  int64 = 2 // an Acquire joins the queue, or finds that Close was called

	freeShift = 2
	permit    = 1 << freeShift

	// MaxSize is the largest number of permits.
	MaxSize = 1<<60 - 1
)

// New returns a semaphore with size permits, all free. It panics if size is negative or
// above [MaxSize]. A nil o means FIFO order.
func New(size int64, o *Options) *Semaphore {
	s := &Semaphore{}
	checkSize("New", size)
	s.size.Store(size)
	s.state.Store(size * permit)
	s.queue.barging = o != nil && o.Barging
	return s
}

func checkSize(method string, size int64) {
	if size < 0 || size > MaxSize {
		panic(fmt.Sprintf("semaphore: %s: size %d is not in 0..%d", method, size, int64(MaxSize)))
	}
}

func checkCount(method string, n int64) {
	if n < 0 {
		panic(fmt.Sprintf("semaphore: %s: negative number of permits %d", method, n))
	}
}

// Acquire takes n permits, all at once, and waits until that many are free. It fails with
// [ErrClosed] after Close, also if it waits at that moment; with [ErrTooLarge] if the semaphore has fewer than n, or is resized to fewer while Acquire waits,
// and with the context's error if ctx is done and it would have to wait. After an error, no
// permit was taken. An n of 0 waits like any other. It panics if ctx is nil or n is negative.
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
	checkCount("TryAcquire", n)
	return s.take(n, strict)
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
	checkCount("Release", n)
	for {
		state := s.state.Load()
		if n > s.size.Load()-state>>freeShift {
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
	s.queue.lock.Lock()
	taken := s.taken()
	s.queue.lock.Unlock()
	if n > taken {
		panic(fmt.Sprintf("semaphore: Release of %d permits, but only %d are taken", n, taken))
	}
}

// Resize changes the number of permits. It never waits: if more permits than that are
// taken now, Acquire waits until enough were released. It panics if size is negative or above
// [MaxSize].
func (s *Semaphore) Resize(size int64) {
	checkSize("Resize", size)
	q := &s.queue
	q.lock.Lock()
	// In between, too many permits seem to be taken, never too few.
	if more := size - s.size.Load(); more >= 0 {
		s.size.Store(size)
		s.state.Add(more * permit)
	} else {
		s.state.Add(more * permit)
		s.size.Store(size)
	}
	due := s.serve(q.removeAbove(size))
	q.lock.Unlock()
	due.wake()
}

// Close makes each Acquire fail with [ErrClosed] from now on, those that wait included, and each
// TryAcquire. One that has been granted its permits before still returns nil. Permits that are
// taken stay so, until their holders call Release, which works as before, as do Resize, Size
// and Taken: so Taken is 0 once all work has ended. Close never waits, is idempotent, and may be
// called from any goroutine.
func (s *Semaphore) Close() {
	q := &s.queue
	q.lock.Lock()
	q.closed = true
	due := s.serve(q.end())
	q.lock.Unlock()
	due.wake()
}

// Size returns the number of permits, free or taken.
func (s *Semaphore) Size() int64 { return s.size.Load() }

// Taken returns the number of permits that are taken. After a Resize it may exceed Size.
func (s *Semaphore) Taken() int64 {
	s.queue.lock.Lock() // no Resize meanwhile
	defer s.queue.lock.Unlock()
	return s.taken()
}

func (s *Semaphore) taken() int64 { return s.size.Load() - s.state.Load()>>freeShift }

// Waiting returns the number of goroutines that wait.
func (s *Semaphore) Waiting() int {
	s.queue.lock.Lock()
	defer s.queue.lock.Unlock()
	return s.queue.n
}
