package shard

import (
	"context"
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
		wait.Join(h.handle.l.queue.Senders(), nil) // like a Send
		go wait.Step()
		synctest.Wait()
		time.Sleep(time.Second)
		h.handle.l.queue.Hold()
		h.handle.l.queue.Shut() // like Close, up to this point
		h.handle.l.queue.Release()
		if _, err := e.TryRecv(); err != engine.ErrEmpty {
			t.Fatal(err)
		}
		h.handle.l.queue.Senders().WakeAll()
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
				for _, err := l.queue.TryRecv(); err == nil; _, err = l.queue.TryRecv() {
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

// TestWaitersOfOneLane: receivers that wait inside the only lane get the values of lanes that
// are added meanwhile, whether these are handed off to them or not, and a wake-up serves them
// all. So do receivers that wait when there is only one lane again.
func TestWaitersOfOneLane(t *testing.T) {
	const receivers = 5
	for name, send := range map[string]func(e *Engine[int], l testLane, v int) error{
		"handed off": func(_ *Engine[int], l testLane, v int) error { return l.TrySend(v) },
		"batch": func(_ *Engine[int], l testLane, v int) error {
			_, err := l.SendBatch(background, []int{v})
			return err
		},
		"key": func(e *Engine[int], _ testLane, v int) error { return e.SendKey(background, uint64(v), v) },
		"with Ready": func(e *Engine[int], l testLane, v int) error {
			e.Ready()
			return l.TrySend(v)
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e := adaptive(8)
				got := make(chan int, 10*receivers)
				var lane testLane
				for round := range 6 {
					for range receivers {
						go func() {
							v, err := e.Recv(background)
							must(t, err)
							got <- v
						}()
					}
					synctest.Wait()
					if round%2 == 0 {
						if name != "key" && !e.isOneLane() {
							t.Errorf("round %d: not one lane", round)
						}
						lane = laneOn(t, e)
					}
					for v := range receivers {
						must(t, send(e, lane, v))
						if round > 2 {
							synctest.Wait()
						}
					}
					synctest.Wait()
					if len(got) != receivers {
						t.Fatalf("round %d: %d of %d values were received: %+v", round, len(got), receivers, e.Stats())
					}
					for range receivers {
						<-got
					}
					if round%2 == 1 {
						lane.Close()
					}
				}
				if s := e.Stats(); s.Sent != 6*receivers || s.Received != s.Sent || s.Len != 0 || s.ReceiversWaiting != 0 {
					t.Errorf("%+v", s)
				}
			})
		})
	}
}

// TestCanceledInOneLane: a receiver that waits inside the only lane, and whose context ends
// after a second lane was added, has received nothing, or a value of any lane.
func TestCanceledInOneLane(t *testing.T) {
	for _, queued := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(background)
			e := adaptive(8)
			result := make(chan error, 1)
			go func() {
				_, err := e.Recv(ctx)
				result <- err
			}()
			synctest.Wait()
			lane := laneOn(t, e)
			cancel()
			left := 0
			if queued {
				_, err := lane.SendBatch(background, []int{1})
				must(t, err)
				left = 1
			}
			switch err := <-result; {
			case err == context.Canceled && e.Len() == left, err == nil && queued && e.Len() == 0:
			default:
				t.Errorf("with a value in the second lane %v: %v, and %d values are left", queued, err, e.Len())
			}
		})
	}
}

// TestNoWakeUpIsLostWhileLanesComeAndGo: one value at a time is sent, so each is handed off, or
// wakes a receiver that waits in the only lane or in one of several.
func TestNoWakeUpIsLostWhileLanesComeAndGo(t *testing.T) {
	const values = 5000
	for _, receivers := range []int{1, 2} {
		e := adaptive(8)
		got := make(chan int, 1)
		for range receivers {
			go func() {
				for v, err := e.Recv(background); err == nil; v, err = e.Recv(background) {
					got <- v
				}
			}()
		}
		for v := range values {
			h := e.Lane()
			var err error
			switch v % 3 {
			case 0:
				err = h.Sender().TrySend(v)
			case 1:
				err = e.TrySend(v)
			default:
				_, err = h.Sender().SendBatch(background, []int{v})
			}
			must(t, err)
			h.Close()
			if r := <-got; r != v { // or it never comes
				t.Fatalf("received %d, want %d", r, v)
			}
		}
		e.Close()
	}
}
