package locked

import (
	"runtime"
	"testing"

	"github.com/sluice-go/sluice/internal/engine"
)

// yields returns whether the next waits of e yield, when others goroutines wait already.
func yields(e *Engine[int], others, waits int) (all []bool) {
	e.lock.Lock()
	defer e.lock.Unlock()
	for range others {
		e.senders.push(new(waiter[int]), false)
	}
	for range waits {
		w := new(waiter[int])
		e.senders.push(w, false)
		all = append(all, e.mayYield(&e.senders, w))
		if all[len(all)-1] == w.Value.parked {
			panic("a goroutine that yields is not parked, any other one is")
		}
		e.senders.remove(w)
	}
	for range others {
		e.senders.pop()
	}
	return all
}

// TestMode: on one P a goroutine alone yields and a crowd parks, but not with very few
// slots; in parallel it is the reverse.
func TestMode(t *testing.T) {
	for _, test := range []struct {
		slots, others int
		parallel      bool
		want          bool
	}{
		{0, 0, false, true}, {8, 0, false, true},
		{0, 1, false, true}, {parkSlots - 1, 1, false, true}, {parkSlots, 1, false, false}, {8, 1, false, false},
		{0, 0, true, false}, {8, 0, true, false},
		{0, 1, true, true}, {8, 1, true, true},
	} {
		e := New(engine.Config[int]{Limit: test.slots})
		if test.parallel {
			e.mode.parallel = 1
		}
		if got := yields(e, test.others, 1)[0]; got != test.want {
			t.Errorf("%+v: yields: %v", test, got)
		}
	}
}

// TestModeIsForgotten: a crowd counts for the next crowdMemory waits, and a lock that was
// taken for the next parallelMemory.
func TestModeIsForgotten(t *testing.T) {
	e := New(engine.Config[int]{Limit: 8})
	yields(e, 1, 1)
	if !e.crowded.Load() {
		t.Error("the lock does not know of the crowd")
	}
	for i, yes := range yields(e, 0, crowdMemory+1) {
		if yes != (i == crowdMemory) {
			t.Errorf("wait %d after a crowd yields: %v", i, yes)
		}
	}
	if e.crowded.Load() {
		t.Error("the lock knows of a crowd that is gone")
	}

	for round := 0; round < 1000 && e.mode.parallel == 0; round++ {
		e.lock.Lock()
		taken := make(chan struct{})
		go func() {
			e.acquire()
			e.lock.Unlock()
			close(taken)
		}()
		for range 100 {
			runtime.Gosched() // until it has found the lock taken
		}
		e.lock.Unlock()
		<-taken
	}
	if e.mode.parallel != parallelMemory {
		t.Fatalf("after a lock that was taken: %+v", e.mode)
	}
	for i, yes := range yields(e, 0, parallelMemory+1) {
		if yes != (i == parallelMemory) {
			t.Errorf("wait %d after a lock that was taken yields: %v", i, yes)
		}
	}
}
