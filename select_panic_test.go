package sluice_test

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/sluice-go/sluice"
)

// unready is a channel without a Ready channel.
type unready struct{ *sluice.Bounded[int] }

func (unready) Ready() <-chan struct{} { return nil }

func TestSelectBadInput(t *testing.T) {
	ctx := context.Background()
	c := sluice.NewBounded[int](1, nil)
	var none *sluice.Bounded[int]
	mustPanic(t, "Select", []string{"nil context"}, func() { _, _ = sluice.Select(noContext, sluice.OnRecv[int](c)) })
	mustPanic(t, "Select", []string{"case 1 is nil"}, func() { _, _ = sluice.Select(ctx, sluice.OnSend[int](c, 1), nil) })
	mustPanic(t, "OnSend", []string{"nil"}, func() { sluice.OnSend[int](nil, 1) })
	mustPanic(t, "OnRecv", []string{"*sluice.Bounded[int]"}, func() { sluice.OnRecv[int](none) })
	mustPanic(t, "OnRecv", []string{"Ready", "sluice_test.unready", "nil"}, func() { sluice.OnRecv[int](unready{c}) })
	var zero sluice.RecvCase[int]
	mustPanic(t, "Select", []string{"OnRecv"}, func() { _, _ = sluice.Select(ctx, &zero) })
	mustPanic(t, "Select", []string{"OnSend"}, func() { _, _ = sluice.Select(ctx, new(sluice.SendCase[int])) })
	if c.Len() != 0 {
		t.Errorf("%d values were sent by calls that panicked", c.Len())
	}
}

// TestSelectCaseInUse: a Select that would wait panics if one of its cases is in use by
// another call, which it does not disturb.
func TestSelectCaseInUse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := context.Background()
		r, b := sluice.NewRendezvous[int](nil), sluice.NewBounded[int](20, nil)
		in, other := sluice.OnRecv[int](r), sluice.OnRecv[int](b)
		mustPanic(t, "Select", []string{"case 1", "in use"}, func() { _, _ = sluice.Select(ctx, in, in) })
		var chosen sluice.Case
		go func() { chosen, _ = sluice.Select(ctx, in) }()
		synctest.Wait()
		mustPanic(t, "Select", []string{"case 1", "in use"}, func() { _, _ = sluice.Select(ctx, other, in) })
		go func() { _ = b.Send(ctx, 2) }()
		if c, err := sluice.Select(ctx, other); c != other || err != nil || other.Value != 2 {
			t.Errorf("a case of the call that panicked: %v, %v", c, err)
		}
		if err := r.Send(ctx, 1); err != nil {
			t.Error(err)
		}
		if synctest.Wait(); chosen != in || in.Value != 1 {
			t.Errorf("chosen %v, received %d", chosen, in.Value)
		}
	})
}

// TestSelectSizePanics: if Size panics, the Select leaves the wait queue.
func TestSelectSizePanics(t *testing.T) {
	calls, failing := 0, 0
	c := sluice.NewElastic(2, &sluice.ElasticOptions[int]{MaxBytes: 2, Size: func(int) int {
		if calls++; calls == failing {
			return -1
		}
		return 1
	}})
	fill(c)
	out := sluice.OnSend[int](c, 1)
	for n := 1; n <= 2; n++ { // during a poll
		failing = calls + n
		mustPanic(t, "TrySend", []string{"Size", "-1"}, func() { _, _ = sluice.Select(context.Background(), out) })
	}
	failing = calls + 3 // before the wait
	mustPanic(t, "Select", []string{"Size", "-1"}, func() { _, _ = sluice.Select(context.Background(), out) })
	if s := c.Stats(); s.SendersWaiting != 0 || s.Len != 2 {
		t.Errorf("after panics: %+v", s)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := sluice.Select(ctx, out); err != context.Canceled {
		t.Errorf("after panics: %v", err)
	}
}
