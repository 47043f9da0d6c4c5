package sluice_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/hub"
)

// TestRejectedBySelect: a Select that waits for room, or chooses Default, has not been rejected.
// Under Reject it has, if its send fails.
func TestRejectedBySelect(t *testing.T) {
	for name, make := range selectKinds {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := fill(make(nil))
				before := c.Stats().Rejected
				ctx, cancel := context.WithCancel(t.Context())
				send := sluice.OnSend(c, 1)
				var err error
				var waited sync.WaitGroup
				waited.Go(func() { _, err = sluice.Select(ctx, send) })
				synctest.Wait()
				cancel()
				waited.Wait()
				want := before
				if err == sluice.ErrFull {
					want++
				}
				if got := c.Stats().Rejected; got != want {
					t.Errorf("a Select that returned %v: Rejected is %d, want %d", err, got, want)
				}
				if _, err = sluice.Select(t.Context(), send, sluice.Default); err == sluice.ErrFull {
					want++
				}
				if got := c.Stats().Rejected; got != want {
					t.Errorf("a Select with Default that returned %v: Rejected is %d, want %d", err, got, want)
				}
			})
		})
	}
}

// TestRejectedOfLanes: a send that fails counts once, however many lanes it has tried, and also
// when its lane is gone.
func TestRejectedOfLanes(t *testing.T) {
	for _, policy := range []sluice.Overflow{sluice.Block, sluice.Reject} {
		c := sluice.NewSharded[int](2, &sluice.ShardedOptions[int]{Overflow: policy, Lanes: 4})
		for range 2 * 4 {
			if err := c.TrySend(0); err != nil {
				t.Fatal(err)
			}
		}
		l := c.Lane()
		_, _ = l.TrySend(0), l.TrySend(0)
		for what, send := range map[string]func() error{
			"TrySend":   func() error { return c.TrySend(0) },
			"of a Lane": func() error { return l.TrySend(0) },
			"SendBatch": func() error { _, err := c.SendBatch(t.Context(), []int{0, 0}); return err },
			"SendKey":   func() error { return c.SendKey(t.Context(), 7, 0) },
		} {
			if policy == sluice.Block && (what == "SendBatch" || what == "SendKey") {
				continue // they wait
			}
			before := c.Stats().Rejected
			if err := send(); err != sluice.ErrFull {
				t.Fatalf("%v: %s: %v, want %v", policy, what, err, sluice.ErrFull)
			}
			if n := c.Stats().Rejected - before; n != 1 {
				t.Errorf("%v: %s counts %d times", policy, what, n)
			}
		}
		before := c.Stats().Rejected
		l.Close()
		for range c.Drain() {
		}
		if n := c.Stats().Rejected; n != before {
			t.Errorf("%v: Rejected is %d without the lane, was %d", policy, n, before)
		}
	}
}

// TestRejectedByHub: TrySend that finds no room counts, a Send that waits in vain does not.
func TestRejectedByHub(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := hub.New[int](1, nil)
		s, _ := h.Subscribe(nil)
		defer s.Close()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := h.TrySend(1); err != nil {
			t.Fatal(err)
		}
		if try, wait := h.TrySend(2), h.Send(ctx, 2); try != sluice.ErrFull || wait != context.DeadlineExceeded {
			t.Fatalf("to a full subscription: %v, %v", try, wait)
		}
		if n := h.Stats().Rejected; n != 1 {
			t.Errorf("Rejected is %d, want 1", n)
		}
	})
}
