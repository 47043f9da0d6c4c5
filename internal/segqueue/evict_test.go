package segqueue

import (
	"context"
	"sync"
	"testing"

	"github.com/sluice-go/sluice/internal/engine"
)

// TestEvict: Evict removes the oldest value if the queue is long enough, across segments, for
// engines with and without a meter.
func TestEvict(t *testing.T) {
	metered := NewMetered(engine.Config[int]{
		Limit: 1 << 30, Elastic: true, MaxBytes: 1 << 20, Overflow: engine.Reject, Size: func(int) int { return 8 },
	})
	for name, e := range map[string]*Engine[int]{
		"bounded": New(engine.Config[int]{Limit: 4096}),
		"elastic": New(engine.Config[int]{Limit: 4096, Elastic: true}),
		"metered": metered.Queue,
	} {
		if _, ok := e.Evict(0); ok {
			t.Errorf("%s: a value of an empty queue was evicted", name)
		}
		for v := range 1000 {
			_ = e.TrySend(v)
		}
		for left := 1000; left > 0; left-- {
			if v, ok := e.Evict(left + 1); ok {
				t.Fatalf("%s: Evict removed %d although only %d were queued", name, v, left)
			}
			if v, ok := e.Evict(left); !ok || v != 1000-left {
				t.Fatalf("%s: Evict with %d queued: %d, %v", name, left, v, ok)
			}
		}
		if s := e.Stats(); s.Sent != 1000 || s.Received != 1000 || s.Len != 0 {
			t.Errorf("%s: %+v", name, s)
		}
	}
}

// TestEvictRescues: Evict first gives the oldest value to a receiver that starves. Then the queue
// is shorter.
func TestEvictRescues(t *testing.T) {
	e := New(engine.Config[int]{Limit: 4, Elastic: true, Overflow: engine.Reject})
	starved := aboutToStarve()
	r := &e.recv
	r.unlock(r.recordLoss(&starved, r.lock(), nil))
	_, _ = e.TrySend(0), e.TrySend(1)
	if v, ok := e.Evict(2); ok {
		t.Errorf("Evict removed %d, and one of two values is the starving receiver's", v)
	}
	if !r.takeRescued(&starved) || *r.rescue != 0 || e.Len() != 1 {
		t.Errorf("a starving receiver did not get 0; %d queued", e.Len())
	}
	if v, ok := e.Evict(1); !ok || v != 1 || e.Len() != 0 {
		t.Errorf("then Evict removed %d, %v; %d queued", v, ok, e.Len())
	}
}

// TestEvictRace: beside receivers, each value is received or evicted once, and only from a queue
// that is full.
func TestEvictRace(t *testing.T) {
	const rounds = 20_000
	e := New(engine.Config[int]{Limit: 2, Elastic: true, Overflow: engine.Reject})
	var mu sync.Mutex
	seen := make([]int, 2*rounds)
	count := func(v int) {
		mu.Lock()
		seen[v]++
		mu.Unlock()
	}
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			for v, err := e.Recv(context.Background()); err == nil; v, err = e.Recv(context.Background()) {
				count(v)
			}
		})
	}
	for v := range 2 * rounds {
		for e.TrySend(v) != nil {
			if old, ok := e.Evict(2); ok {
				count(old)
				if n := e.Len(); n > 1 {
					t.Errorf("%d queued after one of two was evicted", n)
				}
			}
		}
	}
	e.Close()
	wg.Wait()
	for v, n := range seen {
		if n != 1 {
			t.Fatalf("value %d was received or evicted %d times", v, n)
		}
	}
}
