package waitq

import (
	"sync"
	"testing"
)

// TestJoinAtOnce: goroutines that join while others leave have waiters of their own, also if
// there was no unused one. The race detector finds a waiter that two of them have.
func TestJoinAtOnce(t *testing.T) {
	for range 200 {
		var q Queue
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() {
				for range 20 {
					var w Wait
					w.Join(&q, nil)
					w.Leave()
				}
			})
		}
		all.Wait()
		if q.list.Len() != 0 || q.Waiting() {
			t.Fatalf("%d goroutines wait", q.list.Len())
		}
	}
}
