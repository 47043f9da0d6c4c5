package broadcast

import (
	"testing"

	"github.com/sluice-go/sluice/internal/engine"
)

// TestReadyBesideEviction: a subscription with a filter gets its token for a value that evicts another
// one, which changes the numbers of the filters.
func TestReadyBesideEviction(t *testing.T) {
	h := New[int](8, 0)
	subscribe := func(c Config, filter func(int) bool) *Subscription[int] {
		s, err := h.Subscribe(c, nil, filter)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	all, none := func(int) bool { return true }, func(int) bool { return false }
	subscribe(Config{Capacity: 1, Overflow: engine.Evict}, all)
	subscribe(Config{Capacity: 8}, none)
	s := subscribe(Config{Capacity: 8}, all)
	ready := s.Ready()
	for v := range 2 { // the second value evicts the first subscription
		if err := h.TrySend(v); err != nil {
			t.Fatal(err)
		}
		select {
		case <-ready:
		default:
			t.Fatalf("no token for value %d, which is queued", v)
		}
		if got, err := s.TryRecv(); got != v || err != nil {
			t.Fatalf("received %d, %v; want %d", got, err, v)
		}
	}
	if n := h.Stats().Evicted; n != 1 {
		t.Fatalf("%d subscriptions evicted, want 1", n)
	}
}

// TestReplayBesideSenders: Subscribe returns although a value is sent for each one that its filter sees.
func TestReplayBesideSenders(t *testing.T) {
	const replay = 1000
	h := New[int](8, replay)
	send := func(v int) {
		if err := h.TrySend(v); err != nil {
			t.Fatal(err)
		}
	}
	for v := range replay {
		send(v)
	}
	next := replay
	s, err := h.Subscribe(Config{Capacity: 2 * replay, Replay: replay}, nil, func(v int) bool {
		send(next)
		next++
		return v%2 == 0
	})
	if err != nil {
		t.Fatal(err)
	}
	got := s.Len()
	for last := -1; s.Len() > 0; {
		v, err := s.TryRecv()
		if err != nil || v%2 != 0 || v <= last {
			t.Fatalf("received %d after %d, %v", v, last, err)
		}
		last = v
	}
	t.Logf("a replay of %d values; %d were sent", got, next)
}
