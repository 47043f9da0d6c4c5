package shard

import (
	"strings"
	"testing"

	"github.com/sluice-go/sluice/internal/engine"
)

// automatic returns an engine that may have up to so many lanes, with one.
func automatic(lanes int) *Engine[int] {
	e := New(engine.Config[int]{Limit: 1 << 20})
	e.max = lanes
	e.set.Store(&set[int]{shared: make([]*lane[int], lanes), active: 1})
	e.open(0)
	return e
}

// look is one look at lane 0, at which locks were found taken so often since the
// last.
func look(e *Engine[int], contended uint32) (move bool) {
	s := e.set.Load()
	l := s.shared[0]
	l.note.seen.Store(l.Contended() - contended)
	return e.watch(s, l)
}

// The number of lanes doubles when one is crowded, up to max, and no further;
// then whoever meets the crowd is told to move, now and then.
func TestGrow(t *testing.T) {
	e := automatic(5)
	for _, want := range []int{2, 4, 5, 5} {
		look(e, crowd)
		if s := e.set.Load(); s.active != want || len(s.all) != want {
			t.Fatalf("%d lanes are active, %d are open, want %d", s.active, len(s.all), want)
		}
	}
	if why := e.Stats().LaneChange; why != "from 4 to 5 lanes: a lock was taken 4 times in 64 values" {
		t.Errorf("LaneChange is %q", why)
	}
	moves := 0
	for range 10 * movesAfter {
		if look(e, crowd) {
			moves++
		}
	}
	if moves != 10 {
		t.Errorf("told to move %d times in %d crowded looks, want one in %d", moves, 10*movesAfter, movesAfter)
	}
}

// A little contention neither grows nor counts as quiet.
func TestNoChangeWithoutReason(t *testing.T) {
	e := automatic(8)
	look(e, crowd)
	for range 10 * firstPatience {
		look(e, 0)
		look(e, crowd-1)
	}
	if s := e.set.Load(); s.active != 2 {
		t.Errorf("%d lanes are active, want 2", s.active)
	}
}

// Quiet takes lanes away one by one, down to one, and what is in them stays
// receivable. Growing again makes the next try wait longer.
func TestShrink(t *testing.T) {
	e := automatic(4)
	look(e, crowd)
	look(e, crowd)
	for _, l := range e.set.Load().shared {
		must(t, l.TrySend(1))
	}
	for want := 3; want >= 1; want-- {
		for range firstPatience {
			look(e, 0)
		}
		if s := e.set.Load(); s.active != want {
			t.Fatalf("%d lanes are active after %d quiet looks, want %d", s.active, firstPatience, want)
		}
	}
	for range 2 * firstPatience {
		look(e, 0)
	}
	if s := e.set.Load(); s.active != 1 || !strings.HasPrefix(s.change.String(), "from 2 to 1 lanes: no lock was taken in 16384 values") {
		t.Errorf("%d lanes are active: %v", s.active, s.change)
	}
	for range 4 {
		if _, err := e.TryRecv(); err != nil {
			t.Errorf("TryRecv: %v", err)
		}
	}

	if n := e.Stats().Lanes; n != 1 {
		t.Errorf("Lanes is %d", n)
	}
	look(e, crowd)
	for range firstPatience {
		look(e, 0)
	}
	if s := e.set.Load(); s.active != 2 {
		t.Errorf("a lane less after %d quiet looks, though fewer were too few before", firstPatience)
	}
	for range firstPatience {
		look(e, 0)
	}
	if s := e.set.Load(); s.active != 1 {
		t.Errorf("%d lanes are active after twice the patience, want 1", s.active)
	}
}

// A fixed number of lanes stays.
func TestFixed(t *testing.T) {
	e := fixed(3, 10)
	for range 2 * firstPatience {
		look(e, 0)
	}
	for range 10 {
		look(e, settleEvery)
	}
	if s := e.Stats(); s.Lanes != 3 || s.LaneChange != "" {
		t.Errorf("%d lanes: %s", s.Lanes, s.LaneChange)
	}
}

// A look that another one has overtaken finds nothing.
func TestLookOvertaken(t *testing.T) {
	e := automatic(8)
	s := e.set.Load()
	l := s.shared[0]
	l.note.seen.Store(l.Contended() + 1) // as of a look that began later
	e.watch(s, l)
	if s := e.set.Load(); s.active != 1 {
		t.Errorf("%d lanes: %v", s.active, s.change)
	}
}
