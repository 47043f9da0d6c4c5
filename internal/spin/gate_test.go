package spin

import (
	"runtime"
	"sync"
	"testing"
)

// TestGateCounts: a goroutine is counted before it marks the lock, and the next one
// learns of it. A goroutine that could not mark the lock does not sleep.
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
		t.Error("the gate counts a sleeper after the last one has passed")
	}
}
