package locked

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-go/sluice/internal/engine"
	"github.com/sluice-go/sluice/internal/park"
)

func newDated() *Dated[int] {
	return NewDated(engine.Config[int]{
		Limit: 1 << 30, Elastic: true, Overflow: engine.Reject, MaxBytes: 100, Size: func(v int) int { return v },
	}, time.Second)
}

// TestDatedRefuses: a value of exactly maxAge is received, an older one by no receive, and all that is
// known of the channel reports it.
func TestDatedRefuses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, ctx := newDated(), context.Background()
		_ = d.Engine.TrySend(1)
		if err := d.SendAt(2, park.Now()-time.Second); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		if v, err := d.Engine.Recv(ctx); v != 1 || err != nil {
			t.Errorf("a value of exactly maxAge: %d, %v", v, err)
		}
		ready := d.Engine.Ready()
		<-ready
		for name, recv := range map[string]func() error{
			"Recv":      func() error { _, err := d.Engine.Recv(ctx); return err },
			"TryRecv":   func() error { _, err := d.Engine.TryRecv(); return err },
			"RecvBatch": func() error { _, err := d.Engine.RecvBatch(ctx, make([]int, 2)); return err },
			"no wait":   func() error { _, err := d.Engine.RecvBatch(engine.NoWait{}, make([]int, 2)); return err },
		} {
			if err := recv(); err != ErrTooOld {
				t.Errorf("%s: %v", name, err)
			}
		}
		at, ok := d.Oldest()
		if s := d.Engine.Stats(); !ok || park.Now()-at != 2*time.Second || s.OldestValue != 2*time.Second || s.Len != 1 || s.Received != 1 {
			t.Errorf("at %v, %+v", at, s)
		}
		_ = d.Engine.TrySend(3)
		d.Engine.Close()
		if v, ok := d.RemoveOld(); v != 2 || !ok {
			t.Errorf("removed %d, %v", v, ok)
		}
		if v, ok := d.RemoveOld(); ok {
			t.Errorf("removed %d, which is new", v)
		}
		if v, err := d.Engine.Recv(ctx); v != 3 || err != nil {
			t.Errorf("received %d, %v", v, err)
		}
		if _, ok := d.Oldest(); ok || d.SendAt(1, park.Now()) != engine.ErrClosed {
			t.Error("not closed and empty")
		}
		if err := check(d.Engine, true); err != nil {
			t.Error(err)
		}
	})
}

// TestDatedWakes: receivers that wait get a value that is new enough, even if it comes with an earlier
// time, and ErrTooOld when another one comes.
func TestDatedWakes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDated()
		var calls []*call
		for range 3 {
			calls = append(calls, startRecv(d.Engine))
			synctest.Wait()
		}
		ended := func(n int) {
			t.Helper()
			synctest.Wait()
			for i, c := range calls {
				if c.done != (i < n) {
					t.Errorf("receive %d: done %v", i, c.done)
				}
			}
			if err := check(d.Engine, true); err != nil {
				t.Error(err)
			}
		}
		_ = d.SendAt(5, park.Now()-time.Second)
		ended(1)
		_ = d.SendAt(6, park.Now()-time.Second-1)
		ended(3)
		if calls[0].v != 5 || calls[0].err != nil || calls[1].err != ErrTooOld || calls[2].err != ErrTooOld {
			t.Errorf("received %d, %v, %v, %v", calls[0].v, calls[0].err, calls[1].err, calls[2].err)
		}
	})
}

// TestDatedLimits: sizes count toward the limit, and Evict removes a value only of a queue that is long
// enough.
func TestDatedLimits(t *testing.T) {
	d := newDated()
	if a, b, c := d.SendAt(60, park.Now()), d.SendAt(41, park.Now()), d.Engine.TrySend(40); a != nil || b != engine.ErrFull || c != nil {
		t.Errorf("%v, %v, %v", a, b, c)
	}
	if d.SendAt(101, park.Now()) != engine.ErrTooLarge {
		t.Error("too large")
	}
	for _, least := range []int{0, 3} {
		if v, ok := d.Engine.Evict(least); ok {
			t.Errorf("Evict(%d) of 2 values removed %d", least, v)
		}
	}
	if v, ok := d.Engine.Evict(2); v != 60 || !ok || d.Engine.Len() != 1 {
		t.Errorf("Evict(2): %d, %v", v, ok)
	}
}
