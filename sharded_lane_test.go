package sluice_test

import (
	"context"
	"runtime"
	"testing"
	"weak"

	"github.com/sluice-go/sluice"
)

// awaitSender waits until a sender is parked in c, and until the collector has found
// that only this call still refers to its lane.
func awaitSender(c *sluice.Sharded[int]) {
	for c.Stats().SendersWaiting == 0 {
		runtime.Gosched()
	}
	for range 3 {
		runtime.GC()
	}
}

// TestLaneInUse: a lane to which only a parked send refers is still in use.
func TestLaneInUse(t *testing.T) {
	ctx := context.Background()
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // a woken goroutine runs last
	for range 20 {
		c := sluice.NewSharded[int](1, &sluice.ShardedOptions[int]{Lanes: 1})
		sent := make(chan error)
		go func() {
			lane := c.Lane()
			if err := lane.Send(ctx, 1); err != nil {
				t.Error(err)
			}
			sent <- lane.Send(ctx, 2) // its last use
		}()
		awaitSender(c)
		for _, _ = c.TryRecv(); c.Len() > 0; _, _ = c.TryRecv() {
		}
		_, _ = c.TryRecv() // visits the empty lane
		if err := <-sent; err != nil {
			t.Fatal(err)
		}
		if s := c.Stats(); s.Sent != 2 || s.Len+int(s.Received) != 2 {
			t.Fatalf("a sent value was lost: %+v", s)
		}
	}
}

// TestLaneInUseByBatch: a parked batch that is longer than its lane keeps the lane in
// use, continues when there is room, and ends with Close.
func TestLaneInUseByBatch(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	for range 20 {
		c := sluice.NewSharded[int](2, &sluice.ShardedOptions[int]{Lanes: 1})
		sent := make(chan int)
		go func() {
			n, _ := c.Lane().SendBatch(context.Background(), make([]int, 20))
			sent <- n
		}()
		received := 0
		for round := range 3 {
			awaitSender(c)
			for _, err := c.TryRecv(); err == nil; _, err = c.TryRecv() {
				received++
			}
			if round == 2 {
				c.Close()
			}
		}
		n := <-sent
		if left := c.Len(); n != received+left {
			t.Fatalf("%d values were sent, %d received, %d are queued", n, received, left)
		}
	}
}

// TestLanesRetainNothing: a channel without references is garbage, even if its values
// or OnUndelivered refer to one of its lanes.
func TestLanesRetainNothing(t *testing.T) {
	mustBeCollected := func(reference string, alive func() bool) {
		t.Helper()
		for range 10 {
			if runtime.GC(); !alive() {
				return
			}
		}
		t.Errorf("%s keeps a channel without other references alive", reference)
	}
	type worker struct {
		lane *sluice.Lane[*worker]
		_    [1 << 10]byte
	}
	value := func() weak.Pointer[worker] {
		w := &worker{lane: sluice.NewSharded[*worker](10, nil).Lane()}
		if err := w.lane.TrySend(w); err != nil {
			t.Error(err)
		}
		return weak.Make(w)
	}()
	mustBeCollected("a value", func() bool { return value.Value() != nil })

	onDrop := func() weak.Pointer[worker] {
		w := new(worker)
		c := sluice.NewSharded(10, &sluice.ShardedOptions[*worker]{
			Overflow:      sluice.DropOldest,
			OnUndelivered: func(v *worker, _ sluice.Reason) { _ = w.lane.TrySend(v) },
		})
		w.lane = c.Lane()
		return weak.Make(w)
	}()
	mustBeCollected("OnUndelivered", func() bool { return onDrop.Value() != nil })
}

// TestDropsDoNotPinReceivers: receivers leave a lane when its head passes certain
// positions. Drops move the head too, but must not keep receivers on a busy lane.
func TestDropsDoNotPinReceivers(t *testing.T) {
	for _, batch := range []bool{false, true} {
		c := sluice.NewSharded[int](2, &sluice.ShardedOptions[int]{Lanes: 1, Overflow: sluice.DropOldest})
		busy, quiet := c.Lane(), c.Lane()
		send := func(l *sluice.Lane[int], v int) {
			if err := l.TrySend(v); err != nil {
				t.Fatal(err)
			}
		}
		recv := func() (v int) {
			var err error
			if batch {
				buf := make([]int, 1)
				_, err = c.RecvBatch(context.Background(), buf)
				v = buf[0]
			} else {
				v, err = c.TryRecv()
			}
			if err != nil {
				t.Fatal(err)
			}
			return v
		}
		send(busy, 1)
		send(busy, 2)
		recv() // the head is at 1, and moves by two from now on
		send(busy, 3)
		send(quiet, -1)
		for n := 0; ; n++ {
			send(busy, 4) // drops one
			if recv() == -1 {
				break
			}
			if n > 10_000 {
				t.Fatalf("batch %v: %d values came from the busy lane, none from the quiet one", batch, n)
			}
			send(busy, 5) // full again
		}
		quiet.Close()
		busy.Close()
	}
}
