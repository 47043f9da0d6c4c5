package semaphore

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/sluice-go/sluice"
)

// Close wakes all that wait, and no Acquire succeeds after it; permits that are taken stay
// taken until they are released.
func TestClose(t *testing.T) {
	each(t, func(t *testing.T, o *Options) {
		s := New(3, o)
		if err := s.Acquire(t.Context(), 2); err != nil {
			t.Fatal(err)
		}
		errs := make(chan error, 3)
		for range cap(errs) {
			go func() { errs <- s.Acquire(t.Context(), 2) }()
		}
		expect(t, s, 2, cap(errs))
		s.Close()
		s.Close()
		for range cap(errs) {
			if err := <-errs; err != sluice.ErrClosed {
				t.Errorf("Acquire that waited: %v", err)
			}
		}
		expect(t, s, 2, 0)
		done, cancel := context.WithCancel(t.Context())
		cancel()
		refused := func(when string) {
			t.Helper()
			for _, n := range []int64{0, 1, 100} {
				if a, b := s.Acquire(t.Context(), n), s.Acquire(done, n); a != sluice.ErrClosed || b != sluice.ErrClosed || s.TryAcquire(n) {
					t.Errorf("%s: Acquire of %d: %v, with a canceled context %v", when, n, a, b)
				}
			}
		}
		refused("with permits that are free")
		s.Resize(5)
		refused("after Resize")
		s.Release(2)
		refused("with all permits free")
		expect(t, s, 0, 0)
		if n := s.Cap(); n != 5 {
			t.Errorf("Cap is %d", n)
		}
	})
}

// A waiter that Release has woken before Close has its permits in FIFO order. With Barging it
// still has to take them, and is too late.
func TestCloseAfterRelease(t *testing.T) {
	for name, o := range orders {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := New(1, o)
				if !s.TryAcquire(1) {
					t.Fatal("a new semaphore has no permit")
				}
				err := make(chan error, 1)
				go func() { err <- s.Acquire(t.Context(), 1) }()
				expect(t, s, 1, 1)
				s.queue.lock.Lock() // the waiter cannot run before Close
				q := &s.queue
				s.state.Add(permit)
				var due wakeList
				s.serve(&due)
				q.closed = true
				closing := q.refuse(-1, sluice.ErrClosed)
				s.serveAndUnlock(closing)
				due.wake()
				want, taken := error(nil), int64(1)
				if o != nil {
					want, taken = sluice.ErrClosed, 0
				}
				if got := <-err; got != want {
					t.Errorf("Acquire: %v, want %v", got, want)
				}
				expect(t, s, taken, 0)
			})
		})
	}
}

// With Close at any moment, every Acquire returns, and no permit is lost.
func TestCloseStorm(t *testing.T) {
	for name, o := range orders {
		t.Run(name, func(t *testing.T) {
			for range 300 {
				s := New(2, o)
				var acquired atomic.Int64
				var all sync.WaitGroup
				for g := range 8 {
					all.Go(func() {
						for n := 1; ; n++ {
							if n%16 == 0 {
								runtime.Gosched() // with one P, it would run for 10 ms
							}
							switch err := s.Acquire(context.Background(), int64(1+g%2)); err {
							case nil:
								acquired.Add(1)
								s.Release(int64(1 + g%2))
							case sluice.ErrClosed:
								return
							default:
								t.Error(err)
								return
							}
						}
					})
				}
				for acquired.Load() < 20 {
					runtime.Gosched()
				}
				s.Close()
				all.Wait()
				check(t, s)
				if s.Taken() != 0 || s.Waiting() != 0 {
					t.Fatalf("%d permits are taken, %d goroutines wait", s.Taken(), s.Waiting())
				}
			}
		})
	}
}
