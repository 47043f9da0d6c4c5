package spin

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
)

// TestSleepersCount: a goroutine that is about to sleep is counted before it marks the lock, and
// the next one learns of it. A goroutine that could not mark the lock does not sleep.
func TestSleepersCount(t *testing.T) {
	var s Sleepers
	var word atomic.Uint64
	try := func(old uint64, slept bool) {
		t.Helper()
		if got := s.sleep(&word, old, sleeping); got != slept || s.Any() {
			t.Errorf("slept %v, want %v; asleep %v", got, slept, s.Any())
		}
	}
	word.Store(taken)
	try(0, false)              // it has read another word
	try(taken|sleeping, false) // likewise
	if word.Load() != taken {
		t.Error("a goroutine that does not sleep has marked the lock")
	}
	try(taken, true) // the first one passes
	var sleeper sync.WaitGroup
	var marked atomic.Uint64 // a copy of the word, which stays as it is until the sleeper has read it
	marked.Store(taken | sleeping)
	sleeper.Go(func() {
		if !s.sleep(&marked, taken|sleeping, sleeping) {
			t.Error("a goroutine does not sleep although the lock is marked")
		}
	})
	for !s.Any() {
		runtime.Gosched()
	}
	// The lock is free, and the sleeper was not woken: who takes the lock does not lose it.
	word.Store(0)
	if old := s.Lock(&word, taken, sleeping, nil); old != 0 || word.Load() != taken {
		t.Errorf("%b before, now %b", old, word.Load())
	}
	s.Wake()
	if sleeper.Wait(); s.Any() {
		t.Error("a sleeper counts after the last one has passed")
	}
}

// TestAdmittedMarks: a goroutine that was admitted sets the bit again for those that still sleep, or
// they sleep forever. If the other one does not sleep yet, the bit may stay clear.
func TestAdmittedMarks(t *testing.T) {
	var s Sleepers
	var word atomic.Uint64
	word.Store(taken)
	var all sync.WaitGroup
	for range 2 {
		all.Go(func() {
			s.Lock(&word, taken, sleeping, func(int) bool { return false })
			if word.Swap(0)&sleeping != 0 {
				s.Wake()
			}
		})
	}
	for s.asleep.Load() < 2 || word.Load()&sleeping == 0 || !s.shut.Load() {
		runtime.Gosched()
	}
	word.Store(0)
	s.Wake()
	if all.Wait(); s.Any() {
		t.Error("a sleeper counts after both have passed")
	}
}
