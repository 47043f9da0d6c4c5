package park

import (
	"runtime"
	"sync"
	"testing"
)

// TestGateCounts: who sleeps is counted before it marks the lock, and others are
// told; who could not mark it does not sleep.
func TestGateCounts(t *testing.T) {
	var g Gate
	try := func(marked, wantOthers bool) {
		t.Helper()
		counted := false
		slept, others := g.Sleep(func() bool { counted = g.Occupied(); return marked })
		if !counted || slept != marked || others != wantOthers {
			t.Errorf("marked %v: counted before %v, slept %v, others %v", marked, counted, slept, others)
		}
	}
	try(false, false)
	try(true, false) // the first one passes
	var sleeper sync.WaitGroup
	sleeper.Go(func() { g.Sleep(func() bool { return true }) })
	for !g.Occupied() {
		runtime.Gosched()
	}
	try(false, true)
	g.Open()
	sleeper.Wait()
	if g.Occupied() {
		t.Error("somebody is counted whom nobody will wake")
	}
}

// Who finds a BusyLock taken for long sleeps, and gets it when it is free: each
// in turn, whatever the number.
func TestBusyLockSleeps(t *testing.T) {
	for _, sleepers := range []int32{1, 2, 5} {
		var l BusyLock
		var all sync.WaitGroup
		had := int32(0)
		l.Lock()
		for range sleepers {
			all.Go(func() {
				l.Lock()
				had++
				l.Unlock()
			})
		}
		for l.gate.asleep.Load() < sleepers || l.held.Load() != wished || !l.gate.shut.Load() {
			runtime.Gosched()
		}
		l.Unlock()
		all.Wait()
		if had != sleepers || l.gate.Occupied() || l.held.Load() != free {
			t.Errorf("%d of %d had the lock; somebody sleeps: %v; it is %d", had, sleepers, l.gate.Occupied(), l.held.Load())
		}
	}
}

// Nobody sleeps for ever while the lock is taken for long again and again, by
// those who have slept and by those who come by.
func TestBusyLockUnderPressure(t *testing.T) {
	const goroutines, rounds = 8, 200
	var l BusyLock
	var all sync.WaitGroup
	had := 0
	for i := range goroutines {
		all.Go(func() {
			for round := range rounds {
				l.Lock()
				had++
				if (i+round)%7 == 0 { // as if it were put aside
					for range 40 {
						runtime.Gosched()
					}
				}
				l.Unlock()
			}
		})
	}
	all.Wait()
	if had != goroutines*rounds || l.gate.Occupied() || l.held.Load() != free {
		t.Errorf("%d of %d had the lock; somebody sleeps: %v; it is %d", had, goroutines*rounds, l.gate.Occupied(), l.held.Load())
	}
}
