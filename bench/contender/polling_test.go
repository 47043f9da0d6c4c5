package contender

import (
	"sync"
	"testing"
)

// TestPollingDelivers: with several goroutines on each side, each value is received once, and
// in the order of its sender; the channel then ends.
func TestPollingDelivers(t *testing.T) {
	const goroutines, values = 4, 2000
	for _, capacity := range []int{0, 1, 3} {
		c := newPolling(capacity)
		var senders, receivers sync.WaitGroup
		for s := range uint64(goroutines) {
			senders.Go(func() { c.Send(s*values, (s+1)*values) })
		}
		var mu sync.Mutex
		seen := make([]int, goroutines*values)
		for range goroutines {
			receivers.Go(func() {
				last := [goroutines]uint64{}
				for {
					got := c.Recv(1)
					if got.Count == 0 {
						return
					}
					v := got.Last()
					mu.Lock()
					seen[v]++
					mu.Unlock()
					if s := v / values; v < last[s] {
						t.Errorf("capacity %d: %d after %d", capacity, v, last[s])
					} else {
						last[s] = v
					}
				}
			})
		}
		senders.Wait()
		c.Close()
		receivers.Wait()
		for v, n := range seen {
			if n != 1 {
				t.Fatalf("capacity %d: %d was received %d times", capacity, v, n)
			}
		}
	}
}

// TestPollingCloses: Close ends goroutines that wait on either side.
func TestPollingCloses(t *testing.T) {
	for _, capacity := range []int{0, 2} {
		full, empty := newPolling(capacity), newPolling(capacity)
		var waiting sync.WaitGroup
		for range 3 {
			waiting.Go(func() { full.Send(0, 10) })
			waiting.Go(func() { empty.Recv(All) })
		}
		full.Close()
		empty.Close()
		waiting.Wait()
		if n := full.Recv(All).Count; n > uint64(capacity) {
			t.Errorf("capacity %d: %d values", capacity, n)
		}
	}
}
