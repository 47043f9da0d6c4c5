package shard

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-go/sluice/internal/engine"
	"github.com/sluice-go/sluice/internal/waitq"
)

// TestServedBehindBatch: a sender that waits behind a batch is served before all of
// the batch is sent.
func TestServedBehindBatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := fixed(1, 1)
		must(t, e.TrySend(0))
		go func() { _, _ = e.SendBatch(background, make([]int, 1000)) }()
		synctest.Wait()
		go func() { _ = e.Send(background, -1) }()
		synctest.Wait()
		defer func() { e.Close(); synctest.Wait() }()
		for range 10 {
			v, err := e.TryRecv()
			if must(t, err); v == -1 {
				return
			}
			synctest.Wait()
		}
		t.Error("the second waiter was not served after ten values of a batch")
	})
}

// TestNoWaiterInRemovedLane: a sender that has found its lane closed, and has yet
// to leave the wait queue, does not count as waiting once the lane is removed.
func TestNoWaiterInRemovedLane(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := fixed(1, 1)
		h := laneOn(t, e)
		var wait waitq.Wait
		wait.Join(h.handle.l.Senders(), nil) // like a Send
		go wait.Step()
		synctest.Wait()
		time.Sleep(time.Second)
		h.handle.l.Hold()
		h.handle.l.Shut() // like Close, up to this point
		h.handle.l.Release()
		if _, err := e.TryRecv(); err != engine.ErrEmpty {
			t.Fatal(err)
		}
		h.handle.l.Senders().WakeAll()
		synctest.Wait()
		wait.Leave()
		if s := e.Stats(); s.SendersWaiting != 0 || s.OldestSender != 0 || s.Lanes.Count != 1 {
			t.Errorf("want no waiter: %+v", s)
		}
	})
}

// TestSnapshotOfUnusedLanes: a lane that is not in use any more is part of a
// snapshot.
func TestSnapshotOfUnusedLanes(t *testing.T) {
	e := fixed(3, 1)
	e.shrink(e.set.Load(), 1)
	var inUse []bool
	for _, l := range e.Snapshot(3).Lanes {
		inUse = append(inUse, l.InUse)
	}
	if want := []bool{true, true, false}; !slices.Equal(inUse, want) {
		t.Errorf("in use: %v, want %v", inUse, want)
	}
	if some := e.Snapshot(2).Lanes; len(some) != 2 {
		t.Errorf("a snapshot with at most two lanes: %+v", some)
	}
}

// TestDropOnlyWhenFull: a batch that drops the oldest value uses room that becomes
// free meanwhile.
func TestDropOnlyWhenFull(t *testing.T) {
	var e *Engine[int]
	dropped := 0
	e = New(engine.Config[int]{Lanes: 2, Limit: 2, Overflow: engine.DropOldest, OnDrop: func(int) {
		if dropped++; dropped == 1 {
			for _, l := range e.set.Load().shared[1:] {
				for _, err := l.TryRecv(); err == nil; _, err = l.TryRecv() {
				}
			}
		}
	}})
	for i := range e.sending {
		e.sending[i].Store(0)
	}
	if n, err := e.SendBatch(background, []int{1, 2, 3, 4, 5, 6, 7}); n != 7 || err != nil {
		t.Errorf("SendBatch: %d, %v", n, err)
	}
	if s := e.Stats(); dropped != 1 || s.Len != 4 || s.Dropped != 1 {
		t.Errorf("%d dropped: %+v", dropped, s)
	}
}
