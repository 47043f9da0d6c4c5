package shard

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-go/sluice/internal/engine"
	"github.com/sluice-go/sluice/internal/waitq"
)

// One who waits behind a batch is not kept waiting until all of it is through.
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
		t.Error("parked second, and not served after ten values of a batch")
	})
}

// A sender of a lane that has found it shut, and has yet to leave its line, does
// not count as waiting once the lane is gone.
func TestNobodyWaitsInGoneLanes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := fixed(1, 1)
		h := laneOn(t, e)
		var stay waitq.Wait
		stay.Join(h.l.Senders(), nil) // as a Send does
		go stay.Step()
		synctest.Wait()
		time.Sleep(time.Second)
		h.l.Hold()
		h.l.Shut() // as Close does, up to here
		h.l.Release()
		if _, err := e.TryRecv(); err != engine.ErrEmpty {
			t.Fatal(err)
		}
		h.l.Senders().WakeAll()
		synctest.Wait()
		stay.Leave()
		if s := e.Stats(); s.SendersWaiting != 0 || s.OldestSender != 0 || s.Lanes != 1 {
			t.Errorf("nobody waits: %+v", s)
		}
	})
}

// A lane that was not needed any more is still shown, as one that is not in use.
func TestInsideShowsLanesOutOfUse(t *testing.T) {
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
		t.Errorf("asked for two lanes: %+v", some)
	}
}

// A batch that drops the oldest value uses room that there is meanwhile.
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
