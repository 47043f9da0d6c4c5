package sluice_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/sluice-go/sluice"
)

// TestSelectKeepsItsTurn: among those who wait where arrivals are served in
// order, a Select has the place in which it came, and one for each case.
func TestSelectKeepsItsTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := context.Background()
		c, idle := sluice.NewRendezvous[int](nil), sluice.NewElastic[int](1, nil)
		var order []string
		wait := func(name string, f func() error) {
			go func() {
				err := f()
				order = append(order, fmt.Sprint(name, err))
			}()
			synctest.Wait()
		}
		recv := func() error { _, err := c.Recv(ctx); return err }
		selecting := func(cases ...sluice.Case) func() error {
			return func() error { _, err := sluice.Select(ctx, cases...); return err }
		}
		wait("a", recv)
		wait("b", selecting(sluice.OnRecv[int](idle), sluice.OnRecv[int](c)))
		wait("c", recv)
		wait("d", selecting(sluice.OnRecv[int](c), sluice.OnRecv[int](c)))
		wait("e", recv)
		if n := c.Stats().ReceiversWaiting; n != 6 {
			t.Errorf("%d wait, want 6", n)
		}
		// A wake-up in vain, or the value that made it: b ends with either.
		for range 5 {
			_ = c.Send(ctx, 1)
			synctest.Wait()
		}
		if got := strings.Join(order, " "); got != "a<nil> b<nil> c<nil> d<nil> e<nil>" {
			t.Errorf("served: %s", got)
		}
		if s := c.Stats(); s.ReceiversWaiting != 0 {
			t.Errorf("in the end: %+v", s)
		}
	})
}

// TestSelectTwiceInOneLine: of two sends that there is room for at once, one
// happens, and nothing of the other is left for a later call.
func TestSelectTwiceInOneLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := context.Background()
		c := sluice.NewElastic(9, &sluice.ElasticOptions[int]{LimitBytes: 5, Size: func(v int) int { return v }})
		a, b := sluice.OnSend(c, 1), sluice.OnSend(c, 2)
		for range 3 {
			_ = c.TrySend(5)
			var chosen sluice.Case
			go func() { chosen, _ = sluice.Select(ctx, a, b) }()
			synctest.Wait()
			if v, err := c.TryRecv(); v != 5 || err != nil {
				t.Errorf("%d, %v", v, err)
			}
			if synctest.Wait(); chosen != a || c.Len() != 1 {
				t.Errorf("chose %v, %d queued, want the first", chosen, c.Len())
			}
			if v, err := c.TryRecv(); v != 1 || err != nil {
				t.Errorf("%d, %v", v, err)
			}
			go func() { chosen, _ = sluice.Select(ctx, sluice.OnRecv(c), a, b) }()
			synctest.Wait()
			_, _ = c.TryRecv()
		}
	})
}
