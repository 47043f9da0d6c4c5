package sluicetest

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
)

// testBarging sends batches, in parts of many sizes, while other goroutines
// barge: they call TrySend in a loop and take room from the waiting senders.
// Whatever a kind does for starving senders, each value must arrive once, in
// the order of its sender.
func testBarging(t *testing.T, k Kind) {
	for round := range 1 + k.rounds(10) {
		k.barge(t, round)
	}
}

func (k Kind) barge(t *testing.T, round int) {
	const batches, length = 6, 300
	pause := 1 + round%2*100 // tries before a yield
	c := k.numbers(t)
	var senders, others, receivers sync.WaitGroup
	for b := range batches {
		senders.Go(func() {
			vs := counted(length, uint64(b*length))
			for n := 0; n < length; n += 3 + b {
				part := vs[n:min(n+3+b, length)]
				if sent, err := c.SendBatch(context.Background(), part); sent != len(part) || err != nil {
					t.Errorf("SendBatch of %d: %d, %v", len(part), sent, err)
				}
			}
		})
	}
	var over atomic.Bool
	for range 2 {
		others.Go(func() {
			for tries := 1; !over.Load(); tries++ {
				_ = c.TrySend(ghost)
				if tries%pause == 0 {
					runtime.Gosched()
				}
			}
		})
	}
	var mu sync.Mutex
	var got [batches * length]int
	for range k.receivers(2) {
		receivers.Go(func() {
			var last [batches]uint64
			for v := range allOf(context.Background(), c) {
				if v == ghost {
					continue
				}
				if b := v / length; v < last[b] && k.Order != AnyOrder {
					t.Errorf("%d came out before %d", last[b], v)
				} else {
					last[b] = v
				}
				mu.Lock()
				got[v]++
				mu.Unlock()
			}
		})
	}
	senders.Wait()
	over.Store(true)
	others.Wait()
	c.Close()
	receivers.Wait()
	for v, n := range got {
		if n != 1 {
			t.Fatalf("round %d: value %d of a batch was received %d times", round, v, n)
		}
	}
}
