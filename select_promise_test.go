//go:build race || sluicecheck

package sluice_test

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/sluice-go/sluice"
)

// TestSelectPromises: a Select counts as a receiver or a sender while it performs the
// operation, not while it waits; and it panics if another receiver is active.
func TestSelectPromises(t *testing.T) {
	for _, capacity := range []int{1, 20} {
		synctest.Test(t, func(t *testing.T) {
			ctx := context.Background()
			o := &sluice.BoundedOptions[int]{SingleSender: true, SingleReceiver: true}
			c := sluice.NewBounded(capacity, o)
			in := sluice.OnRecv(c)
			var chosen sluice.Case
			go func() { chosen, _ = sluice.Select(ctx, in) }()
			synctest.Wait()
			if _, err := c.TryRecv(); err != sluice.ErrEmpty {
				t.Error(err)
			}
			_ = c.TrySend(1)
			if synctest.Wait(); chosen != in || in.Value != 1 {
				t.Errorf("chose %v, received %d", chosen, in.Value)
			}
			go c.Recv(ctx)
			synctest.Wait()
			mustRefuse(t, "TryRecv", func() { _, _ = sluice.Select(ctx, sluice.OnRecv(c)) })
			c.Close()
		})
	}
}
