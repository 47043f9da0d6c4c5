package chain

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
	for _, sleepers := range []int{1, 2, 5} {
		synctest.Test(t, func(t *testing.T) {
			e := New(engine.Config[int]{Limit: 10})
			word := e.send.lock()
			had := 0
			for range sleepers {
				go func() {
					word := e.send.lock()
					had++
					e.send.unlock(word + one)
				}()
			}
			synctest.Wait() // until all of them sleep
			if had > 0 || !e.send.gate.Occupied() {
				t.Fatalf("%d had the lock while it was taken; somebody sleeps: %v", had, e.send.gate.Occupied())
			}
			e.send.unlock(word)
			synctest.Wait()
			if had != sleepers || e.send.gate.Occupied() || e.send.word.Load() != uint64(sleepers)*one {
				t.Errorf("%d of %d had the lock, the word is %#x", had, sleepers, e.send.word.Load())
			}
		})
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
