package shard

import (
	"strings"
	"testing"
	"testing/synctest"

	"github.com/sluice-go/sluice/internal/engine"
)

// adaptive returns an engine with one lane and at most the given number.
func adaptive(lanes int) *Engine[int] {
	return newEngine(engine.Config[int]{Limit: 1 << 20}, 1, lanes)
}

// sample is one sample of lane 0, with the given contention since the last one.
func sample(e *Engine[int], contended uint32) (move bool) {
	s := e.set.Load()
	l := s.shared[0]
	l.note.seen.Store(l.queue.Contended() - contended)
	return e.adapt(s, l)
}

// TestGrow: the number of lanes doubles when one is crowded, up to max. Then
// senders of a crowded lane move to another one at times.
func TestGrow(t *testing.T) {
	e := adaptive(5)
	for _, want := range []int{2, 4, 5, 5} {
		sample(e, crowded)
		if s := e.set.Load(); s.active != want || len(s.all) != want {
			t.Fatalf("%d lanes are active, %d are open, want %d", s.active, len(s.all), want)
		}
	}
	if why := e.Stats().Lanes.Change; why != "from 4 to 5 lanes: a lock was taken 4 times in 64 values" {
		t.Errorf("Lanes.Change is %q", why)
	}
	moves := 0
	for range 10 * movesAfter {
		if sample(e, crowded) {
			moves++
		}
	}
	if moves != 10 {
		t.Errorf("%d moves in %d crowded samples, want one in %d", moves, 10*movesAfter, movesAfter)
	}
}

// TestNoChangeWithoutReason: little contention neither adds lanes nor counts as
// quiet.
func TestNoChangeWithoutReason(t *testing.T) {
	e := adaptive(8)
	sample(e, crowded)
	for range 10 * firstQuiet {
		sample(e, 0)
		sample(e, crowded-1)
	}
	if s := e.set.Load(); s.active != 2 {
		t.Errorf("%d lanes are active, want 2", s.active)
	}
}

// TestShrink: quiet samples remove lanes one by one, down to one, and their values
// can still be received. If the number grows again, the next attempt takes longer.
func TestShrink(t *testing.T) {
	e := adaptive(4)
	sample(e, crowded)
	sample(e, crowded)
	for _, l := range e.set.Load().shared {
		must(t, l.queue.TrySend(1))
	}
	for want := 3; want >= 1; want-- {
		for range firstQuiet {
			sample(e, 0)
		}
		if s := e.set.Load(); s.active != want {
			t.Fatalf("%d lanes are active after %d quiet samples, want %d", s.active, firstQuiet, want)
		}
	}
	for range 2 * firstQuiet {
		sample(e, 0)
	}
	if s := e.set.Load(); s.active != 1 || !strings.HasPrefix(s.change.String(), "from 2 to 1 lanes: no lock was taken in 16384 values") {
		t.Errorf("%d lanes are active: %v", s.active, s.change)
	}
	for range 4 {
		if _, err := e.TryRecv(); err != nil {
			t.Errorf("TryRecv: %v", err)
		}
	}

	if n := e.Stats().Lanes.Count; n != 1 {
		t.Errorf("Lanes is %d", n)
	}
	sample(e, crowded)
	for range firstQuiet {
		sample(e, 0)
	}
	if s := e.set.Load(); s.active != 2 {
		t.Errorf("a lane was removed after %d quiet samples, although fewer were too few before", firstQuiet)
	}
	for range firstQuiet {
		sample(e, 0)
	}
	if s := e.set.Load(); s.active != 1 {
		t.Errorf("%d lanes are active after twice as many quiet samples, want 1", s.active)
	}
}

// TestFixed: a fixed number of lanes does not change.
func TestFixed(t *testing.T) {
	e := fixed(3, 10)
	for range 2 * firstQuiet {
		sample(e, 0)
	}
	for range 10 {
		sample(e, checkEvery)
	}
	if s := e.Stats(); s.Lanes.Count != 3 || s.Lanes.Change != "" {
		t.Errorf("%d lanes: %s", s.Lanes.Count, s.Lanes.Change)
	}
}

// TestStaleSample: a sample that is older than the last one has no effect.
func TestStaleSample(t *testing.T) {
	e := adaptive(8)
	s := e.set.Load()
	l := s.shared[0]
	l.note.seen.Store(l.queue.Contended() + 1) // as if a later sample were recorded already
	e.adapt(s, l)
	if s := e.set.Load(); s.active != 1 {
		t.Errorf("%d lanes: %v", s.active, s.change)
	}
}

// TestUnusedLanesAreRemoved: lanes that were opened for keys are removed after quiet samples,
// once they are drained; values of a key stay in order.
func TestUnusedLanesAreRemoved(t *testing.T) {
	e := adaptive(4)
	const keys = 16
	for round := range 3 {
		for key := range keys {
			must(t, e.SendKey(background, uint64(key), round))
		}
		if n := len(e.set.Load().all); n != 4 || e.isOneLane() {
			t.Fatalf("%d lanes are open, want 4", n)
		}
		quiet := func() {
			for range e.quietNeeded.Load() {
				sample(e, 0)
			}
		}
		if quiet(); e.isOneLane() {
			t.Fatal("lanes with values were removed")
		}
		for range keys {
			v, err := e.TryRecv()
			if must(t, err); v != round {
				t.Fatalf("received a value of round %d in round %d", v, round)
			}
		}
		if quiet(); !e.isOneLane() {
			t.Fatalf("%d lanes are open after quiet samples, want 1", len(e.set.Load().all))
		}
	}
	if s := e.Stats(); s.Sent != 3*keys || s.Received != s.Sent {
		t.Errorf("%+v", s)
	}
}

// TestHandOffsAreNoSamples: values that are handed off do not move the tail of their lane, and
// say nothing of contention.
func TestHandOffsAreNoSamples(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := adaptive(8)
		laneOn(t, e)
		const values = firstQuiet - 1
		go func() {
			for range values {
				_, _ = e.Recv(background)
			}
		}()
		for range values {
			synctest.Wait()
			must(t, e.TrySend(1))
		}
		synctest.Wait()
		if n := int(e.receivers.HandOffs()); n < values/2 {
			t.Fatalf("%d of %d values were handed off: the test measures nothing", n, values)
		}
		for number, l := range e.set.Load().shared {
			if l != nil && l.note.quiet.Load() > values/checkEvery {
				t.Errorf("lane %d: %d quiet samples in %d values", number, l.note.quiet.Load(), values)
			}
		}
	})
}
