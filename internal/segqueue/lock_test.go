package segqueue

import (
	"runtime"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/sluice-go/sluice/internal/engine"
)

// TestLockSleeps: goroutines that find a lock taken for long sleep, and each of
// them gets it once it is free.
func TestLockSleeps(t *testing.T) {
	for _, goroutines := range []int{1, 2, 5} {
		e := New(engine.Config[int]{Limit: 10})
		word := e.send.lock()
		var all sync.WaitGroup
		acquired := 0
		for range goroutines {
			all.Go(func() {
				word := e.send.lock()
				acquired++
				e.send.unlock(word + one)
			})
		}
		for e.send.word.Load()&sleepers == 0 {
			runtime.Gosched()
		}
		e.send.unlock(word)
		all.Wait()
		if acquired != goroutines || e.send.sleeping.Any() || e.send.word.Load() != uint64(goroutines)*one {
			t.Errorf("%d of %d acquired the lock; occupied %v; the word is %#x", acquired, goroutines, e.send.sleeping.Any(), e.send.word.Load())
		}
	}
}

// TestLockAcrossBubbles: Try methods of a channel made outside of a
// testing/synctest bubble work inside, even if its lock is taken for long, and
// outside again.
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

// TestLockUnderPressure: no goroutine sleeps forever while the lock is held for
// long again and again, by goroutines that slept and by others that barge.
func TestLockUnderPressure(t *testing.T) {
	const goroutines, rounds = 8, 300
	e := New(engine.Config[int]{Limit: 10})
	var all sync.WaitGroup
	acquired := 0
	for i := range goroutines {
		all.Go(func() {
			for round := range rounds {
				word := e.send.lock()
				acquired++
				if (i+round)%7 == 0 { // as if the holder were descheduled
					for range 2 * (lockSpins + lockYields) {
						runtime.Gosched()
					}
				}
				e.send.unlock(word)
			}
		})
	}
	all.Wait()
	if acquired != goroutines*rounds || e.send.sleeping.Any() || e.send.word.Load() != 0 {
		t.Errorf("%d of %d acquired the lock; occupied %v; the word is %#x", acquired, goroutines*rounds, e.send.sleeping.Any(), e.send.word.Load())
	}
}
