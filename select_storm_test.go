package sluice_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/sluice-go/sluice"
)

// TestSelectStorm: many goroutines call Select, Send and Recv on the same channels.
// Many calls are canceled, and some channels are closed meanwhile. Each value is
// delivered exactly once if its send succeeded, and never otherwise.
func TestSelectStorm(t *testing.T) {
	kinds := slices.Sorted(maps.Keys(selectKinds))
	for _, over := range [][]string{
		{"Rendezvous"},
		{"Rendezvous", "Rendezvous"},
		{"Rendezvous", "Bounded 2", "Bounded 16"},
		{"Bounded 1", "Elastic 1"},
		{"Elastic 1", "Elastic 2", "Bounded 16"},
		{"Elastic of bytes", "Rendezvous", "Elastic 1"},
		kinds,
	} {
		for _, closing := range []bool{false, true} {
			t.Run(fmt.Sprint(over, " closing ", closing), func(t *testing.T) { selectStorm(t, over, closing) })
		}
	}
}

func selectStorm(t *testing.T, over []string, closing bool) {
	const goroutines, calls = 6, 300
	delivered := make([]atomic.Int32, goroutines*calls+1)
	sent := make([]atomic.Bool, len(delivered))
	var channels []sluice.Channel[int]
	for _, kind := range over {
		channels = append(channels, selectKinds[kind](func(v int) { delivered[v].Add(1) }))
	}
	ctx, cancel := context.WithCancel(context.Background())
	var all sync.WaitGroup
	var ended atomic.Bool
	for g := range goroutines {
		all.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(g), 3))
			for i := range calls {
				one, cancel := context.WithCancel(ctx)
				if rng.IntN(2) == 0 {
					go cancel()
				}
				v := 1 + g*calls + i
				if delivery, ok := stormCall(t, yielding{one}, rng, channels, v); ok {
					if delivery == v {
						sent[v].Store(true)
					} else {
						delivered[-delivery].Add(1)
					}
				}
				cancel()
			}
		})
	}
	var closer sync.WaitGroup
	closer.Go(func() { // ends the waits of calls that have no partner left
		for n := 0; !ended.Load(); n++ {
			if c := channels[n%len(channels)]; closing && n%64 == 63 {
				c.Close()
			} else if v, err := c.TryRecv(); err == nil {
				delivered[v].Add(1)
			}
			runtime.Gosched()
			if n == 20_000 {
				cancel()
			}
		}
	})
	all.Wait()
	ended.Store(true)
	closer.Wait()
	cancel()
	for _, c := range channels {
		c.Close()
		for v, err := c.TryRecv(); err == nil; v, err = c.TryRecv() {
			delivered[v].Add(1)
		}
		if s := c.Stats(); s.SendersWaiting+s.ReceiversWaiting != 0 {
			t.Errorf("goroutines are still in a wait queue: %+v", s)
		}
	}
	for v := range delivered {
		want := int32(0)
		if sent[v].Load() {
			want = 1
		}
		if got := delivered[v].Load(); got != want {
			t.Errorf("value %d was delivered %d times, want %d", v, got, want)
		}
	}
}

// stormCall performs one call on random channels. It returns v if it sent v, and -w if
// it received w.
func stormCall(t *testing.T, ctx context.Context, rng *rand.Rand, channels []sluice.Channel[int], v int) (int, bool) {
	c := channels[rng.IntN(len(channels))]
	switch rng.IntN(6) {
	case 0:
		return v, c.Send(ctx, v) == nil
	case 1:
		w, err := c.Recv(ctx)
		return -w, err == nil
	}
	var cases []sluice.Case
	for _, c := range channels {
		if k := rng.IntN(4); k == 0 || k == 3 {
			cases = append(cases, sluice.OnSend[int](c, v))
		} else if k == 1 || k == 3 {
			cases = append(cases, sluice.OnRecv[int](c))
		}
	}
	chosen, err := sluice.Select(ctx, cases...)
	switch c := chosen.(type) {
	case *sluice.SendCase[int]:
		return v, err == nil
	case *sluice.RecvCase[int]:
		return -c.Value, err == nil
	default:
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%v, %v", chosen, err)
		}
		return 0, false
	}
}
