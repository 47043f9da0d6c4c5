package shard

import (
	"context"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/sluice-go/sluice/internal/engine"
	"github.com/sluice-go/sluice/internal/suite"
)

var background = context.Background()

// A testLane is like a public Lane.
type testLane struct {
	engine.Sender[int]
	handle *Handle[int]
}

func (l testLane) Close() { l.handle.Close() }

func laneOn(t *testing.T, e *Engine[int]) testLane {
	h := e.Lane()
	t.Cleanup(func() { runtime.KeepAlive(h) })
	return testLane{h.Sender(), h}
}

// fixed returns an engine with a fixed number of lanes.
func fixed(lanes, limit int) *Engine[int] {
	return New(engine.Config[int]{Lanes: lanes, Limit: limit})
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestClosedLaneIsRemoved: a closed lane is removed when it is drained, and not
// before. Its statistics are kept.
func TestClosedLaneIsRemoved(t *testing.T) {
	e := fixed(1, 10)
	h := laneOn(t, e)
	must(t, h.Send(background, 1))
	must(t, h.Send(background, 2))
	h.Close()
	h.Close()
	if err := h.TrySend(3); err != engine.ErrClosed {
		t.Errorf("TrySend on a closed lane: %v", err)
	}
	if s := e.Stats(); s.Lanes.Count != 2 || s.Len != 2 || e.Cap() != 20 {
		t.Errorf("with two values in a closed lane: Cap %d, %+v", e.Cap(), s)
	}
	for want := 1; want <= 2; want++ {
		if v, err := e.TryRecv(); v != want || err != nil {
			t.Errorf("TryRecv: %d, %v, want %d", v, err, want)
		}
	}
	if _, err := e.TryRecv(); err != engine.ErrEmpty {
		t.Errorf("TryRecv of an empty channel: %v", err)
	}
	if s := e.Stats(); s.Lanes.Count != 1 || s.Sent != 2 || s.Received != 2 || e.Cap() != 10 {
		t.Errorf("after the lane was drained: Cap %d, %+v", e.Cap(), s)
	}
	empty := laneOn(t, e)
	empty.Close()
	if s := e.Stats(); s.Lanes.Count != 1 {
		t.Errorf("after an empty lane was closed: %+v", s)
	}
}

// TestUnreachableLaneIsRemoved: the lane of an unreachable handle is removed like a
// closed one, and no value is lost.
func TestUnreachableLaneIsRemoved(t *testing.T) {
	e := fixed(1, 10)
	must(t, e.Lane().Sender().TrySend(7))
	for e.Stats().Lanes.Count > 1 {
		runtime.GC()
		if v, err := e.TryRecv(); err == nil && v != 7 {
			t.Fatalf("received %d", v)
		}
	}
	if s := e.Stats(); s.Sent != 1 || s.Received != 1 {
		t.Errorf("%+v", s)
	}
}

// TestLaneOfClosed: a lane of a closed channel is closed.
func TestLaneOfClosed(t *testing.T) {
	e := fixed(1, 10)
	before := laneOn(t, e)
	e.Close()
	for _, h := range []testLane{before, laneOn(t, e)} {
		if err := h.Send(background, 1); err != engine.ErrClosed {
			t.Errorf("Send: %v", err)
		}
	}
	if err := e.SendKey(background, 1, 1); err != engine.ErrClosed {
		t.Errorf("SendKey: %v", err)
	}
	if _, err := e.Recv(background); err != engine.ErrClosed {
		t.Errorf("Recv: %v", err)
	}
}

// TestKeys: a key has one lane, whatever the number of lanes in use, and
// consecutive keys are spread over the lanes.
func TestKeys(t *testing.T) {
	const lanes = 7
	used := make([]int, lanes)
	for key := range uint64(7000) {
		used[laneOf(key, lanes)]++
	}
	for lane, n := range used {
		if n < 800 || n > 1200 {
			t.Errorf("lane %d has %d of 7000 consecutive keys", lane, n)
		}
	}
	e := adaptive(lanes)
	for i := range 1000 {
		switch s := e.set.Load(); i % 100 {
		case 20, 40, 60:
			e.grow(s, 1)
		case 30, 50, 70, 80, 90:
			if s.active > 1 {
				e.shrink(s, 1)
			}
		}
		must(t, e.SendKey(background, uint64(i%10), i))
	}
	e.Close()
	last := make([]int, 10)
	for v, err := e.Recv(background); err == nil; v, err = e.Recv(background) {
		if v < last[v%10] {
			t.Fatalf("key %d: %d came after %d", v%10, v, last[v%10])
		}
		last[v%10] = v
	}
}

// TestNoLaneStarves: one receiver drains each lane, even while another lane is
// never empty.
func TestNoLaneStarves(t *testing.T) {
	for _, run := range []int{1, 3, 100} {
		e := fixed(1, 1<<20)
		busy, quiet := laneOn(t, e), laneOn(t, e)
		for i := range 2 * turnEvery {
			must(t, busy.Send(background, i))
		}
		must(t, quiet.Send(background, -1))
		received := 0
		for buf := make([]int, run); ; {
			n, err := 1, error(nil)
			if run == 1 {
				buf[0], err = e.Recv(background)
			} else {
				n, err = e.RecvBatch(background, buf)
			}
			must(t, err)
			if slices.Contains(buf[:n], -1) {
				break
			}
			for range n {
				must(t, busy.Send(background, 1)) // the lane stays full
			}
			if received += n; received > 4*turnEvery+run {
				t.Fatalf("in runs of %d: %d values of the busy lane, none of the quiet one", run, received)
			}
		}
	}
}

// TestRoomInOtherLanes: a sender that waits for its own lane is not woken by room
// in another lane. A sender that accepts any lane is.
func TestRoomInOtherLanes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := fixed(2, 1)
		h := laneOn(t, e)
		must(t, h.Send(background, 0))
		must(t, e.TrySend(1))
		must(t, e.TrySend(2))
		if err := e.TrySend(3); err != engine.ErrFull {
			t.Fatalf("TrySend to full lanes: %v", err)
		}
		own, plain := false, false
		go func() { must(t, h.Send(background, 10)); own = true }()
		go func() { must(t, e.Send(background, 11)); plain = true }()
		synctest.Wait()
		if s := e.Stats(); s.SendersWaiting != 2 || own || plain {
			t.Fatalf("%d senders wait: own lane done %v, any lane done %v", s.SendersWaiting, own, plain)
		}
		for range 4 { // one of them is the value of the sender without a lane
			v, err := e.TryRecv()
			must(t, err)
			synctest.Wait()
			switch v {
			case 0:
				if !own {
					t.Error("a lane has room, and its sender waits")
				}
			case 1, 2:
				if !plain {
					t.Error("a shared lane has room, and a sender waits for any")
				}
			}
		}
		if !own || !plain {
			t.Errorf("own lane done %v, any lane done %v", own, plain)
		}
	})
}

// TestLaneChurn: while lanes are added and removed, no value is lost, and each lane
// stays in order.
func TestLaneChurn(t *testing.T) {
	const senders, rounds, values = 4, 50, 40
	e := New(engine.Config[int]{Limit: 16})
	var sending, receiving sync.WaitGroup
	for sender := range senders {
		sending.Go(func() {
			for round := range rounds {
				h := e.Lane()
				lane := h.Sender()
				for i := range values {
					v := (sender*rounds+round)*values + i
					switch {
					case i%10 == 9:
						must(t, e.SendKey(background, uint64(sender), -v))
					case lane.Send(background, v) != nil:
						t.Error("Send failed")
					}
				}
				if round%2 == 0 {
					h.Close()
				}
				runtime.KeepAlive(h) // unreachable from here on
			}
		})
	}
	got := make([][]int, 3)
	for r := range got {
		receiving.Go(func() {
			buf := make([]int, 1+r*5)
			for {
				n, err := e.RecvBatch(background, buf)
				if err != nil {
					return
				}
				got[r] = append(got[r], buf[:n]...)
			}
		})
	}
	sending.Wait()
	e.Close()
	receiving.Wait()
	var all []int
	for _, part := range got {
		last := map[int]int{}
		for _, v := range part {
			lane, at := v/values, v
			if v < 0 {
				lane, at = -1-(-v/values/rounds), -v // sent by key, in order over all rounds
			}
			if at < last[lane] {
				t.Fatalf("%d of lane %d after %d", at, lane, last[lane])
			}
			last[lane] = at
			all = append(all, at)
		}
	}
	slices.Sort(all)
	for i, v := range all {
		if i != v {
			t.Fatalf("value %d is missing or duplicated", i)
		}
	}
	if len(all) != senders*rounds*values {
		t.Fatalf("%d values of %d", len(all), senders*rounds*values)
	}
}

// TestWouldBlockMark: the mark is the same as long as the operation has been impossible.
func TestWouldBlockMark(t *testing.T) {
	e := fixed(2, 1)
	empty, blocked := e.WouldBlock(nil)
	if again, _ := e.WouldBlock(nil); again != empty || !blocked {
		t.Error("empty as before: another mark")
	}
	must(t, e.TrySend(1))
	_, _ = e.TryRecv()
	if again, blocked := e.WouldBlock(nil); again == empty || !blocked {
		t.Error("not empty in between: the same mark")
	}
	must(t, e.TrySend(1))
	must(t, e.TrySend(2))
	full, blocked := e.WouldBlock(new(int))
	if again, _ := e.WouldBlock(new(int)); again != full || !blocked {
		t.Error("full as before: another mark")
	}
	_, _ = e.TryRecv()
	must(t, e.TrySend(3))
	if again, blocked := e.WouldBlock(new(int)); again == full || !blocked {
		t.Error("not full in between: the same mark")
	}
	if e.Close(); e.blocked(nil) || e.blocked(new(int)) {
		t.Error("an operation on a closed channel would block")
	}
}

func (e *Engine[T]) blocked(v *T) bool {
	_, blocked := e.WouldBlock(v)
	return blocked
}

// TestWouldBlockMarkRemoved: the mark does not fall when a private lane is removed, whose
// values no longer count in the sum.
func TestWouldBlockMarkRemoved(t *testing.T) {
	for between := range 8 {
		e := fixed(2, 8)
		lane := e.Lane()
		for v := range 5 {
			must(t, lane.Sender().TrySend(v))
			_, _ = e.TryRecv()
		}
		before, blocked := e.WouldBlock(nil)
		lane.Close() // drained, so it is removed
		for v := range between {
			must(t, e.TrySend(v))
			_, _ = e.TryRecv()
		}
		if after, still := e.WouldBlock(nil); after <= before || !blocked || !still {
			t.Errorf("a lane was removed, and %d values came and went: the mark was %d, and is %d", between, before, after)
		}
	}
}

// TestEmptyIsOneMoment: a channel that has a value at each moment is never empty, while the
// value moves from lane to lane against the order in which they are polled.
func TestEmptyIsOneMoment(t *testing.T) {
	const lanes = 8
	moves := suite.Rounds(200_000, 10_000_000) // without the second look at the tails about one of a million fails
	e := fixed(1, 1<<20)
	var at []testLane
	for range lanes {
		at = append(at, laneOn(t, e))
	}
	must(t, at[0].TrySend(0))
	var over atomic.Bool
	var mover sync.WaitGroup
	mover.Go(func() {
		defer over.Store(true)
		queued := 0 // the lane of the value
		for range moves {
			to := (queued + lanes - 1) % lanes
			if err := at[to].TrySend(to); err != nil {
				t.Error(err)
				return
			}
			v, err := e.TryRecv() // one of two
			if err != nil {
				t.Error(err)
				return
			}
			if v == queued {
				queued = to
			}
		}
	})
	defer mover.Wait()
	for !over.Load() {
		if _, empty := e.stuck(e.set.Load(), receives); empty {
			t.Error("a channel with a value is empty")
			return
		}
	}
}

// TestDropOldestTakesTurns: under DropOldest no lane keeps old values while others are renewed.
func TestDropOldestTakesTurns(t *testing.T) {
	e := New(engine.Config[int]{Lanes: 3, Limit: 4, Overflow: engine.DropOldest})
	const n = 1000
	for v := range n {
		if err := e.TrySend(v); err != nil {
			t.Fatal(err)
		}
	}
	received := 0
	for v, err := e.TryRecv(); err == nil; v, err = e.TryRecv() {
		if received++; v < n/2 { // a goroutine that changes Ps may begin with another lane
			t.Errorf("received %d: %d newer values were sent into 12 slots", v, n-1-v)
		}
	}
	if received != 12 {
		t.Errorf("received %d values, want 12", received)
	}
}
