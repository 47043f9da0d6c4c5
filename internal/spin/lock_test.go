package spin

import (
	"runtime"
	"sync"
	"testing"
)

// An eager BusyLock is taken by goroutines that retry all the time.
type eager struct{ BusyLock }

func (l *eager) Lock() {
	if !l.TryLock() {
		l.Wait(false)
	}
}

func TestLocksExclude(t *testing.T) {
	for name, l := range map[string]sync.Locker{"Lock": new(Lock), "BusyLock": new(BusyLock), "eager": new(eager)} {
		inside, total := 0, 0
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() {
				for i := range 2000 {
					l.Lock()
					inside++
					if inside != 1 {
						t.Errorf("%s: two goroutines hold the lock", name)
					}
					if i%100 == 0 {
						runtime.Gosched() // a holder that is not running
					}
					total++
					inside--
					l.Unlock()
				}
			})
		}
		all.Wait()
		if total != 8000 {
			t.Errorf("%s: %d of 8000 critical sections ran", name, total)
		}
	}
}

// TestBusyLockSleeps: goroutines that find a BusyLock taken for long sleep, and
// each of them gets it once it is free.
func TestBusyLockSleeps(t *testing.T) {
	for _, sleepers := range []int32{1, 2, 5} {
		var l eager
		var all sync.WaitGroup
		acquired := int32(0)
		l.Lock()
		for range sleepers {
			all.Go(func() {
				if sleepers%2 == 0 {
					l.Lock()
				} else {
					l.BusyLock.Lock()
				}
				acquired++
				l.Unlock()
			})
		}
		for l.sleepers.asleep.Load() < sleepers || l.word.Load()&sleeping == 0 || !l.sleepers.shut.Load() {
			runtime.Gosched()
		}
		l.Unlock()
		all.Wait()
		if acquired != sleepers || l.sleepers.Any() || l.word.Load() != 0 {
			t.Errorf("%d of %d acquired the lock; asleep %v; word %d", acquired, sleepers, l.sleepers.Any(), l.word.Load())
		}
	}
}

// TestBusyLockUnderPressure: no goroutine sleeps forever while the lock is held for
// long again and again, by goroutines that slept and by others that barge.
func TestBusyLockUnderPressure(t *testing.T) {
	const goroutines, rounds = 8, 200
	var l eager
	var all sync.WaitGroup
	acquired := 0
	for i := range goroutines {
		all.Go(func() {
			for round := range rounds {
				if lock := l.Lock; i%2 == 0 {
					lock()
				} else {
					l.BusyLock.Lock()
				}
				acquired++
				if (i+round)%7 == 0 { // as if the holder were descheduled
					for range 40 {
						runtime.Gosched()
					}
				}
				l.Unlock()
			}
		})
	}
	all.Wait()
	if acquired != goroutines*rounds || l.sleepers.Any() || l.word.Load() != 0 {
		t.Errorf("%d of %d acquisitions; asleep %v; word %d", acquired, goroutines*rounds, l.sleepers.Any(), l.word.Load())
	}
}
