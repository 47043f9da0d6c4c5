package hub_test

import (
	"context"
	"runtime"
	"slices"
	"sync"
	"testing"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/hub"
)

// TestOneSubscriptionManyReceivers: the goroutines that receive from one subscription share its
// values.
func TestOneSubscriptionManyReceivers(t *testing.T) {
	for _, policy := range []sluice.Overflow{sluice.Block, sluice.DropNewest} {
		h := hub.New[int](3, nil)
		s := subscribe(t, h, &hub.SubscriptionOptions[int]{Overflow: policy})
		var mu sync.Mutex
		var got []int
		var all sync.WaitGroup
		for range 5 {
			all.Go(func() {
				for v := range s.Values(t.Context()).All() {
					mu.Lock()
					got = append(got, v)
					mu.Unlock()
				}
			})
		}
		n := rounds(20_000)
		for i := range n {
			if err := h.Send(t.Context(), i); err != nil {
				t.Fatal(err)
			}
			for policy == sluice.DropNewest && s.Len() == s.Cap() {
				runtime.Gosched()
			}
		}
		h.Close()
		all.Wait()
		slices.Sort(got)
		for i, v := range got {
			if v != i {
				t.Fatalf("%v: value %d was received in place of %d", policy, v, i)
			}
		}
		if len(got) != n {
			t.Errorf("%v: %d of %d values were received", policy, len(got), n)
		}
	}
}

// TestManySenders: senders that wait for several subscriptions without room are all woken, and
// each value arrives once everywhere.
func TestManySenders(t *testing.T) {
	const senders = 6
	h := hub.New[int](4, nil)
	n := rounds(20_000)
	var receivers, all sync.WaitGroup
	for limit := 1; limit <= 3; limit++ {
		s := subscribe(t, h, &hub.SubscriptionOptions[int]{Overflow: sluice.Block, Capacity: limit})
		receivers.Go(func() {
			var next [senders]int
			for v := range s.Values(context.Background()).All() {
				sender, number := stampOf(v)
				if number != next[sender] {
					t.Errorf("value %d of sender %d follows %d", number, sender, next[sender]-1)
				}
				next[sender]++
			}
			for i, got := range next {
				if got != n {
					t.Errorf("%d of %d values of sender %d were received", got, n, i)
				}
			}
		})
	}
	for i := range senders {
		all.Go(func() {
			c := sluice.OnSend(h, 0)
			for number := range n {
				c.Value = stamp(i, number)
				var err error
				if i%3 == 0 {
					_, err = sluice.Select(context.Background(), c)
				} else {
					err = h.Send(context.Background(), c.Value)
				}
				if err != nil {
					t.Errorf("sender %d: %v", i, err)
				}
			}
		})
	}
	all.Wait()
	h.Close()
	receivers.Wait()
}

// TestLongBatch: a batch that is longer than what is sent at once is complete and in order.
func TestLongBatch(t *testing.T) {
	const n = 5000
	h := hub.New[int](n, nil)
	s := subscribe(t, h, dropOldest())
	vs := make([]int, n)
	for i := range vs {
		vs[i] = i
	}
	if sent, err := h.SendBatch(t.Context(), vs); sent != n || err != nil {
		t.Fatalf("SendBatch: %d, %v", sent, err)
	}
	got := make([]int, n+1)
	if received, err := s.RecvBatch(t.Context(), got); received != n || err != nil || !slices.Equal(got[:n], vs) {
		t.Errorf("received %d, %v", received, err)
	}
}
