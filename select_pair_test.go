package sluice_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/sluice-go/sluice"
)

// TestSelectsPair: two Selects on opposite sides of unbuffered channels, in one
// direction or both, pair in every round, each with the other.
func TestSelectsPair(t *testing.T) {
	for _, both := range []bool{false, true} {
		t.Run(fmt.Sprint("both directions ", both), func(t *testing.T) {
			const n = 2000
			ctx := context.Background()
			a, b := sluice.NewRendezvous[int](nil), sluice.NewRendezvous[int](nil)
			var ends [2][]int // v if the Select sent v, -v if it received v
			var all sync.WaitGroup
			for end := range ends {
				all.Go(func() {
					to, from := a, b
					if end == 1 {
						to, from = b, a
					}
					cases := []sluice.Case{sluice.OnSend(to, 0), sluice.OnRecv(from)}
					if both {
						cases = append(cases, sluice.OnRecv(to), sluice.OnSend(from, 0))
					}
					for i := range n {
						for _, c := range cases {
							if out, ok := c.(*sluice.SendCase[int]); ok {
								out.Value = 1 + 2*i + end
							}
						}
						chosen, err := sluice.Select(ctx, cases...)
						switch c := chosen.(type) {
						case *sluice.SendCase[int]:
							ends[end] = append(ends[end], c.Value)
						case *sluice.RecvCase[int]:
							ends[end] = append(ends[end], -c.Value)
						}
						if err != nil {
							t.Error(err)
						}
					}
				})
			}
			all.Wait()
			for i := range n {
				if ends[0][i] != -ends[1][i] {
					t.Fatalf("round %d: %d and %d", i, ends[0][i], ends[1][i])
				}
			}
		})
	}
}

// TestSelectDoesNotPairWithItself: a Select waits while the only partner of its send
// would be its own receive.
func TestSelectDoesNotPairWithItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := context.Background()
		c := sluice.NewRendezvous[int](nil)
		in, out := sluice.OnRecv[int](c), sluice.OnSend[int](c, 3)
		if chosen, err := sluice.Select(ctx, in, out, sluice.Default); chosen != sluice.Default || err != nil {
			t.Errorf("%v, %v", chosen, err)
		}
		var chosen sluice.Case
		go func() { chosen, _ = sluice.Select(ctx, in, out) }()
		if synctest.Wait(); chosen != nil {
			t.Fatalf("chose %v", chosen)
		}
		if v, err := c.Recv(ctx); v != 3 || err != nil {
			t.Errorf("%d, %v", v, err)
		}
		if synctest.Wait(); chosen != out {
			t.Errorf("chose %v", chosen)
		}
		go func() { chosen, _ = sluice.Select(ctx, in, out) }()
		synctest.Wait()
		if err := c.Send(ctx, 4); err != nil {
			t.Error(err)
		}
		if synctest.Wait(); chosen != in || in.Value != 4 {
			t.Errorf("chose %v, received %d", chosen, in.Value)
		}
	})
}
