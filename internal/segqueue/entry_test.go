package segqueue

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/sluice-go/sluice/internal/engine"
	"github.com/sluice-go/sluice/internal/selection"
)

// TestEntryPassesWakeUpOn: a Select that was woken and leaves without an operation
// wakes the next waiter if that can proceed.
func TestEntryPassesWakeUpOn(t *testing.T) {
	for _, sends := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			e := New(engine.Config[int]{Limit: 1})
			if sends {
				_ = e.TrySend(1)
			}
			var c selection.State
			v := 2
			p := e.NewEntry(&v, sends)
			c.BeginPoll()
			p.Join(&c, 3)
			ended := false
			go func() {
				if sends {
					_ = e.Send(context.Background(), 5)
				} else {
					_, _ = e.Recv(context.Background())
				}
				ended = true
			}()
			synctest.Wait()
			if sends {
				_, _ = e.TryRecv()
			} else {
				_ = e.TrySend(1)
			}
			if synctest.Wait(); c.Selected() != 3 || ended {
				t.Errorf("sends %v: case %d selected, the next waiter has returned: %v", sends, c.Selected(), ended)
			}
			p.Leave()
			if synctest.Wait(); !ended {
				t.Errorf("sends %v: the next waiter was not woken", sends)
			}
		})
	}
}

// TestWouldBlock: the result without the lock is right at any index.
func TestWouldBlock(t *testing.T) {
	for _, first := range []uint64{0, 1<<60 - 1} {
		e := newAt(engine.Config[int]{Limit: 2}, first)
		for n := range 3 {
			if e.WouldBlock(false) != (n == 0) || e.WouldBlock(true) != (n == 2) {
				t.Errorf("%d of 2 queued: Recv would block %v, Send would block %v", n, e.WouldBlock(false), e.WouldBlock(true))
			}
			_ = e.TrySend(n)
		}
		if e.Close(); e.WouldBlock(true) {
			t.Error("a send to a closed channel would block")
		}
		_, _ = e.TryRecv()
		_, _ = e.TryRecv()
		if e.WouldBlock(false) {
			t.Error("a receive from a closed channel would block")
		}
	}
}
