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

// TestWouldBlock: the result without the lock is right at any index. The mark is the same
// as long as the operation has been impossible.
func TestWouldBlock(t *testing.T) {
	for _, first := range []uint64{0, 1<<60 - 1} {
		e := newAt(engine.Config[int]{Limit: 2}, first)
		look := func(sends bool) (engine.Mark, bool) {
			if sends {
				return e.WouldBlock(new(int))
			}
			return e.WouldBlock(nil)
		}
		for n := range 3 {
			for _, sends := range []bool{false, true} {
				if _, got := look(sends); got != (sends && n == 2 || !sends && n == 0) {
					t.Errorf("%d of 2 queued: send %v would block: %v", n, sends, got)
				}
			}
			_ = e.TrySend(n)
		}
		full, _ := look(true)
		if again, blocked := look(true); again != full || !blocked {
			t.Error("full as before: another mark")
		}
		_, _ = e.TryRecv()
		_ = e.TrySend(0)
		if again, blocked := look(true); again == full || !blocked {
			t.Error("not full in between: the same mark")
		}
		_, _ = e.TryRecv()
		_, _ = e.TryRecv()
		empty, _ := look(false)
		_ = e.TrySend(0)
		_, _ = e.TryRecv()
		if again, blocked := look(false); again == empty || !blocked {
			t.Error("not empty in between: the same mark")
		}
		_ = e.TrySend(0)
		_ = e.TrySend(0)
		if e.Close(); second(look(true)) {
			t.Error("a send to a closed channel would block")
		}
		_, _ = e.TryRecv()
		_, _ = e.TryRecv()
		if second(look(false)) {
			t.Error("a receive from a closed channel would block")
		}
	}
}

func second(_ engine.Mark, blocked bool) bool { return blocked }
