package sluice_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/hub"
)

// TestAgeBounds: whatever is sent, dropped and looked at, the true age of the oldest queued int lies
// between the bounds of Stats, and so does the estimate.
func TestAgeBounds(t *testing.T) {
	type channel struct {
		send    func(v int) error
		recv    func() (int, error)
		batch   func(buf []int) (int, error)
		stats   func() sluice.Stats
		urgency func(v int) int
	}
	type drop = func(v int, why sluice.Reason)
	kinds := map[string]func(name string, d drop) channel{}
	add := func(name string, make func(name string, d drop) sluice.Channel[int]) {
		kinds[name] = func(n string, d drop) channel {
			c := make(n, d)
			return channel{c.TrySend, c.TryRecv, func(buf []int) (int, error) { return c.RecvBatch(canceled, buf) }, c.Stats, nil}
		}
	}
	for _, o := range []sluice.Overflow{sluice.Block, sluice.DropOldest, sluice.DropNewest} {
		add(fmt.Sprint("Bounded ", o), func(name string, d drop) sluice.Channel[int] {
			return sluice.NewBounded[int](40, &sluice.BoundedOptions[int]{Name: name, Overflow: o, OnUndelivered: d})
		})
		add(fmt.Sprint("Sharded ", o), func(name string, d drop) sluice.Channel[int] {
			return sluice.NewSharded[int](40, &sluice.ShardedOptions[int]{Name: name, Overflow: o, OnUndelivered: d})
		})
		kinds[fmt.Sprint("Hub ", o)] = func(name string, d drop) channel {
			h := hub.New[int](64, &hub.Options{Replay: 16})
			for i := range 16 {
				_ = h.TrySend(-i)
			}
			s, _ := h.Subscribe(&hub.SubscriptionOptions[int]{Name: name, Overflow: o, Capacity: 40, OnUndelivered: d, Filter: func(v int) bool { return v%3 != 1 }})
			return channel{func(v int) error {
				err := h.TrySend(v)
				if v%3 == 1 && err == nil {
					err = sluice.ErrTooLarge
				}
				return err
			}, s.TryRecv, func(buf []int) (int, error) { return s.RecvBatch(canceled, buf) }, s.Stats, nil}
		}
	}
	add("Elastic", func(name string, d drop) sluice.Channel[int] {
		return sluice.NewElastic[int](sluice.Unlimited, &sluice.ElasticOptions[int]{Name: name, OnUndelivered: d})
	})
	add("Aged", func(name string, d drop) sluice.Channel[int] {
		return sluice.NewAged[int](100, &sluice.AgedOptions[int]{Name: name, StaleAfter: time.Second, OnUndelivered: d})
	})
	for name, make := range kinds {
		for _, named := range []string{"", "x"} {
			t.Run(name+named, func(t *testing.T) {
				for seed := range uint64(3) {
					synctest.Test(t, func(t *testing.T) {
						r := rand.New(rand.NewPCG(seed, 1))
						queued := map[int]time.Time{}
						c := make(named, func(v int, _ sluice.Reason) { delete(queued, v) })
						n := 0
						looks := 1 + r.IntN(20)
						for range 1500 {
							switch k := r.IntN(6); {
							case k < 3:
								for range 1 + r.IntN(1+r.IntN(60)) {
									n++
									queued[n] = time.Now()
									if err := c.send(n); err != nil {
										delete(queued, n)
									}
								}
							case k == 3:
								time.Sleep([]time.Duration{1, 100, time.Microsecond, time.Millisecond, time.Second, time.Minute, time.Hour}[r.IntN(7)])
							case k == 4:
								if v, err := c.recv(); err == nil {
									delete(queued, v)
								}
							default:
								buf := [100]int{}
								m, _ := c.batch(buf[:1+r.IntN(100)])
								for _, v := range buf[:m] {
									delete(queued, v)
								}
							}
							if r.IntN(looks) > 0 {
								continue
							}
							s := c.stats()
							if s.Len != len(queued) {
								t.Fatalf("seed %d: Len %d, want %d", seed, s.Len, len(queued))
							}
							oldest := time.Duration(-1)
							for _, at := range queued {
								oldest = max(oldest, time.Since(at))
							}
							if oldest < 0 {
								if s.OldestValue|s.OldestAtLeast|s.OldestAtMost != 0 {
									t.Fatalf("seed %d: empty: %+v", seed, s)
								}
								continue
							}
							if s.OldestAtMost == 0 && s.OldestValue == oldest {
								continue
							}
							if oldest < s.OldestAtLeast || oldest > s.OldestAtMost || s.OldestValue != 0 && (s.OldestValue < s.OldestAtLeast || s.OldestValue > s.OldestAtMost) {
								t.Fatalf("seed %d: age %v: estimate %v in [%v, %v]", seed, oldest, s.OldestValue, s.OldestAtLeast, s.OldestAtMost)
							}
						}
					})
				}
			})
		}
	}
}
