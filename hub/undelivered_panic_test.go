package hub_test

import (
	"context"
	"math/rand/v2"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/hub"
)

// TestUndeliveredFails: hooks panic, or end their goroutine, in random programs. Each value that was
// published is received from a subscription, or given to its hook, exactly once; and the first panic
// goes on.
func TestUndeliveredFails(t *testing.T) {
	for seed := range uint64(300) {
		synctest.Test(t, func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 0))
			h := hub.New[int](8, nil)
			var first any // of the hooks during a call: the first panic, or else exited
			const exited = "exited"
			call := func(what string, f func()) {
				first = nil
				done := make(chan any)
				go func() {
					var end any = exited
					defer func() {
						if p := recover(); p != nil {
							end = p
						}
						done <- end
					}()
					f()
					end = nil
				}()
				if end := <-done; end != first {
					t.Errorf("seed %d: %s ended with %v, want %v", seed, what, end, first)
				}
			}
			var subscriptions []*hub.Subscription[int]
			var seen []map[int]int
			for i := range 1 + random.IntN(4) {
				seen = append(seen, map[int]int{})
				policies := []sluice.Overflow{sluice.DropOldest, sluice.DropNewest, sluice.Block, sluice.Evict}
				o := &hub.SubscriptionOptions[int]{Capacity: 1 + random.IntN(8), Overflow: policies[random.IntN(4)]}
				o.OnUndelivered = func(v int, _ sluice.Reason) {
					seen[i][v]++
					switch p := v*10 + i; random.IntN(3) {
					case 0:
						if first == nil || first == exited {
							first = p
						}
						panic(p)
					case 1:
						if first == nil {
							first = exited
						}
						runtime.Goexit()
					}
				}
				s, err := h.Subscribe(o)
				if err != nil {
					t.Fatal(err)
				}
				subscriptions = append(subscriptions, s)
			}
			next := 0
			for range 60 {
				i := random.IntN(len(subscriptions))
				s := subscriptions[i]
				switch random.IntN(8) {
				case 0, 1, 2:
					call("TrySend", func() { _ = h.TrySend(next) })
					next++
				case 3:
					vs := make([]int, 1+random.IntN(6))
					for k := range vs {
						vs[k] = next
						next++
					}
					call("SendBatch", func() {
						ctx, cancel := context.WithTimeout(context.Background(), time.Second)
						defer cancel()
						_, _ = h.SendBatch(ctx, vs)
					})
				case 4, 5:
					if v, err := s.TryRecv(); err == nil {
						seen[i][v]++
					}
				case 6:
					buf := make([]int, 3)
					n, _ := s.TryRecvBatch(buf)
					for _, v := range buf[:n] {
						seen[i][v]++
					}
				case 7:
					if random.IntN(8) == 0 {
						call("Close", s.Close)
					}
				}
			}
			if random.IntN(2) == 0 {
				h.Close()
			}
			for i, s := range subscriptions {
				call("Close", s.Close)
				for v, n := range seen[i] {
					if n != 1 {
						t.Errorf("seed %d: subscription %d: value %d was received or given to the hook %d times", seed, i, v, n)
					}
				}
				if st := s.Stats(); uint64(len(seen[i])) != st.Sent || st.Sent != st.Received+st.Dropped {
					t.Errorf("seed %d: subscription %d: %d values received or given to the hook; Stats has %+v", seed, i, len(seen[i]), st)
				}
			}
		})
	}
}
