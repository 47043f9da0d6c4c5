package segqueue

import (
	"runtime"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/sluice-go/sluice/internal/engine"
)

// Who finds a lock taken for long sleeps, and gets it when it is free: each in
// turn, whatever the number.
func TestLockSleeps(t *testing.T) {
	for _, goroutines := range []int{1, 2, 5} {
		e := New(engine.Config[int]{Limit: 10})
		word := e.send.lock()
		var all sync.WaitGroup
		had := 0
		for range goroutines {
			all.Go(func() {
				word := e.send.lock()
				had++
				e.send.unlock(word + one)
			})
		}
		for e.send.word.Load()&sleepers == 0 {
			runtime.Gosched()
		}
		e.send.unlock(word)
		all.Wait()
		if had != goroutines || e.send.gate.Occupied() || e.send.word.Load() != uint64(goroutines)*one {
			t.Errorf("%d of %d had the lock; somebody sleeps: %v; the word is %#x", had, goroutines, e.send.gate.Occupied(), e.send.word.Load())
		}
	}
}

// A channel made outside of a testing/synctest bubble may be tried inside, also
// when its lock is taken for long, and used outside again.
func TestLockAcrossBubbles(t *testing.T) {
	e := New(engine.Config[int]{Limit: 10})
	for range 2 {
		word := e.send.lock()
		tried := make(chan struct{})
		go func() {
			for e.send.word.Load()&sleepers == 0 {
				runtime.Gosched()
			}
			e.send.unlock(word)
			close(tried)
		}()
		synctest.Test(t, func(t *testing.T) {
			if err := e.TrySend(1); err != nil {
				t.Error(err)
			}
		})
		<-tried
		if v, err := e.TryRecv(); v != 1 || err != nil {
			t.Errorf("TryRecv: %d, %v", v, err)
		}
	}
}

// Nobody sleeps for ever while a lock is taken for long again and again, by those
// who have slept and by those who come by.
func TestLockUnderPressure(t *testing.T) {
	const goroutines, rounds = 8, 300
	e := New(engine.Config[int]{Limit: 10})
	var all sync.WaitGroup
	had := 0
	for i := range goroutines {
		all.Go(func() {
			for round := range rounds {
				word := e.send.lock()
				had++
				if (i+round)%7 == 0 { // as if it were put aside
					for range 2 * (looks + yields) {
						runtime.Gosched()
					}
				}
				e.send.unlock(word)
			}
		})
	}
	all.Wait()
	if had != goroutines*rounds || e.send.gate.Occupied() || e.send.word.Load() != 0 {
		t.Errorf("%d of %d had the lock; somebody sleeps: %v; the word is %#x", had, goroutines*rounds, e.send.gate.Occupied(), e.send.word.Load())
	}
}
