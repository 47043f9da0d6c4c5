package sluice_test

import (
	"testing"

	"github.com/sluice-go/sluice"
)

// TestShardedStatsConsistent: the counters of Stats belong to one moment. A goroutine
// that sends, drops and receives in turn has never dropped more values than it sent.
func TestShardedStatsConsistent(t *testing.T) {
	c := sluice.NewSharded[int](1, &sluice.ShardedOptions[int]{Lanes: 1, Overflow: sluice.DropNewest})
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range 100_000 {
			_, _ = c.TrySend(1), c.TrySend(2)
			_, _ = c.TryRecv()
		}
	}()
	for running := true; running; {
		select {
		case <-done:
			running = false
		default:
		}
		if s := c.Stats(); s.Dropped > s.Sent || s.Sent > s.Dropped+1 {
			t.Fatalf("inconsistent: %+v", s)
		}
	}
}
