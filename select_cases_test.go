package sluice_test

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/sluice-go/sluice"
)

// The Value of a receive that Close has ended is zero, also if the Select slept.
func TestSelectClosedValue(t *testing.T) {
	for name, mk := range map[string]func() sluice.Channel[int]{
		"Rendezvous": func() sluice.Channel[int] { return sluice.NewRendezvous[int](nil) },
		"Bounded 1":  func() sluice.Channel[int] { return sluice.NewBounded[int](1, nil) },
		"Bounded 99": func() sluice.Channel[int] { return sluice.NewBounded[int](99, nil) },
	} {
		synctest.Test(t, func(t *testing.T) {
			c := mk()
			in := sluice.OnRecv[int](c)
			go func() { _ = c.Send(context.Background(), 7) }()
			_, _ = sluice.Select(context.Background(), in)
			var err error
			go func() { _, err = sluice.Select(context.Background(), in) }()
			synctest.Wait()
			c.Close()
			synctest.Wait()
			if err != sluice.ErrClosed || in.Value != 0 {
				t.Errorf("%s: %v, Value %d", name, err, in.Value)
			}
		})
	}
}

// Of very many cases each is as likely as any other.
func TestSelectIsFairAmongMany(t *testing.T) {
	const n = 100_000
	cases := make([]sluice.Case, 128)
	for i := range cases {
		c := sluice.NewBounded[int](20, nil)
		if i == 94 || i == 78 {
			c.Close()
		}
		cases[i] = sluice.OnRecv[int](c)
	}
	a := 0
	for range n {
		if chosen, _ := sluice.Select(context.Background(), cases...); chosen == cases[94] {
			a++
		}
	}
	if a < n/2-n/50 || a > n/2+n/50 {
		t.Errorf("of two that are ready one is chosen %d of %d times", a, n)
	}
}

// A Select that would send a large value or a small one is not kept waiting by its
// own large one.
func TestSelectOwnLargerSend(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := sluice.NewElastic(99, &sluice.ElasticOptions[int]{LimitBytes: 5, Size: func(v int) int { return v }})
		for range 5 {
			_ = c.TrySend(1)
		}
		large, small := sluice.OnSend(c, 3), sluice.OnSend(c, 1)
		var chosen sluice.Case
		var err error
		ctx, cancel := context.WithCancel(context.Background())
		go func() { chosen, err = sluice.Select(ctx, large, small) }()
		synctest.Wait()
		_, _ = c.TryRecv() // room for 1 byte
		synctest.Wait()
		if chosen == nil {
			t.Errorf("there is room for the small one, and the Select sleeps")
		}
		cancel()
		synctest.Wait()
		if chosen != sluice.Case(small) || err != nil {
			t.Errorf("chosen %v, %v", chosen, err)
		}
	})
}

// Whatever has no way to wait is a Default.
func TestSelectWrappedDefault(t *testing.T) {
	wrapped := struct{ sluice.Case }{sluice.Default}
	in := sluice.OnRecv(sluice.NewBounded[int](1, nil))
	if chosen, err := sluice.Select(context.Background(), in, wrapped); chosen != sluice.Case(wrapped) || err != nil {
		t.Errorf("chosen %v, %v", chosen, err)
	}
}
