package sluice_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-go/sluice"
)

// TestSelectContext: a context ends the wait. The Select then leaves all wait queues,
// and its cases can be used again.
func TestSelectContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, b := sluice.NewRendezvous[int](nil), sluice.NewBounded[int](20, nil)
		cases := []sluice.Case{sluice.OnRecv[int](r), sluice.OnSend[int](r, 1), sluice.OnRecv[int](b)}
		for range 3 {
			for _, cases := range [][]sluice.Case{cases, cases[:2], cases[2:], nil} {
				ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
				began := time.Now()
				if chosen, err := sluice.Select(ctx, cases...); chosen != nil || err != context.DeadlineExceeded || time.Since(began) != time.Minute {
					t.Errorf("%d cases: %v, %v after %v", len(cases), chosen, err, time.Since(began))
				}
				cancel()
				if chosen, err := sluice.Select(ctx, cases...); chosen != nil || err != context.DeadlineExceeded {
					t.Errorf("%d cases, ctx done before: %v, %v", len(cases), chosen, err)
				}
			}
			if _, err := r.TryRecv(); err != sluice.ErrEmpty {
				t.Errorf("TryRecv after a canceled Select: %v", err)
			}
			if err := r.TrySend(1); err != sluice.ErrFull {
				t.Errorf("TrySend after a canceled Select: %v", err)
			}
		}
		if s := r.Stats(); s.SendersWaiting+s.ReceiversWaiting != 0 || s.SendWaits != 6 || s.RecvWaits != 6 ||
			s.SendWaitTime != 6*time.Minute || s.RecvWaitTime != 6*time.Minute {
			t.Errorf("after 6 waits of a minute on each side: %+v", s)
		}
		if s := b.Stats(); s.ReceiversWaiting != 0 || s.RecvWaits != 6 || s.RecvWaitTime != 6*time.Minute {
			t.Errorf("after 6 waits of a minute: %+v", s)
		}
	})
}

// arrivingContext calls arrive just before it is done: in the n-th call of Err.
type arrivingContext struct {
	context.Context
	calls, n int
	arrive   func()
}

func (c *arrivingContext) Err() error {
	if c.calls++; c.calls < c.n {
		return nil
	}
	c.arrive()
	return context.Canceled
}

// TestSelectLastPoll: a Select does not miss a value that was sent before the context
// was done.
func TestSelectLastPoll(t *testing.T) {
	for _, c := range []sluice.Channel[int]{sluice.NewBounded[int](1, nil), sluice.NewBounded[int](20, nil)} {
		in := sluice.OnRecv[int](c)
		ctx := &arrivingContext{Context: context.Background(), n: 1, arrive: func() { _ = c.TrySend(5) }}
		if chosen, err := sluice.Select(ctx, in); chosen != in || err != nil || in.Value != 5 {
			t.Errorf("%v, %v", chosen, err)
		}
	}
}
