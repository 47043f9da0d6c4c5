package sluice_test

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/sluice-go/sluice"
)

// TestSelectClosedValue: Value is zero after Close has ended the receive, even if the
// Select was parked.
func TestSelectClosedValue(t *testing.T) {
	for name, open := range map[string]func() sluice.Channel[int]{
		"Rendezvous": func() sluice.Channel[int] { return sluice.NewRendezvous[int](nil) },
		"Bounded 1":  func() sluice.Channel[int] { return sluice.NewBounded[int](1, nil) },
		"Bounded 99": func() sluice.Channel[int] { return sluice.NewBounded[int](99, nil) },
	} {
		synctest.Test(t, func(t *testing.T) {
			c := open()
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

// TestSelectIsFairAmongMany: among many cases each one that can proceed is equally
// likely.
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
	first := 0
	for range n {
		if chosen, _ := sluice.Select(context.Background(), cases...); chosen == cases[94] {
			first++
		}
	}
	if first < n/2-n/50 || first > n/2+n/50 {
		t.Errorf("two cases can proceed: one was chosen %d of %d times", first, n)
	}
}

// TestSelectOwnLargerSend: the large value of a Select does not block the same
// Select's smaller value.
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
			t.Errorf("there is room for the small value, but the Select is parked")
		}
		cancel()
		synctest.Wait()
		if chosen != sluice.Case(small) || err != nil {
			t.Errorf("chosen %v, %v", chosen, err)
		}
	})
}

// TestSelectWrappedDefault: a case that cannot wait is a Default.
func TestSelectWrappedDefault(t *testing.T) {
	wrapped := struct{ sluice.Case }{sluice.Default}
	in := sluice.OnRecv(sluice.NewBounded[int](1, nil))
	if chosen, err := sluice.Select(context.Background(), in, wrapped); chosen != sluice.Case(wrapped) || err != nil {
		t.Errorf("chosen %v, %v", chosen, err)
	}
}
