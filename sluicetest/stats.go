package sluicetest

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-go/sluice"
)

// testStats: Stats, Len and Cap are exact at rest, and consistent while the
// channel is in use.
func testStats(t *testing.T, k Kind) {
	t.Run("rest", func(t *testing.T) { synctest.Test(t, k.testStatsAtRest) })
	t.Run("wait time", func(t *testing.T) { synctest.Test(t, k.testWaitTime) })
	t.Run("oldest", func(t *testing.T) { synctest.Test(t, k.testOldest) })
	k.inBothWorlds(t, k.testStatsInUse)
}

func (k Kind) testStatsAtRest(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	c := k.numbers(t)
	want := sluice.Stats{Cap: k.Capacity}
	expect := func(what string) {
		t.Helper()
		settle()
		if err := differ(c.Stats(), want); err != nil {
			t.Fatalf("%s: Stats: %v", what, err)
		}
		if c.Len() != want.Len || c.Cap() != want.Cap {
			t.Fatalf("%s: Len %d, Cap %d, want %d, %d", what, c.Len(), c.Cap(), want.Len, want.Cap)
		}
	}
	expect("a new channel")
	some := min(k.Capacity, 7)
	for i := range some {
		mustSend(t, c, uint64(i))
	}
	want.Len, want.Sent, want.HighWater = some, uint64(some), k.highWater(t, c, some)
	expect("after sends")
	drain(c)
	want.Len, want.Received = 0, uint64(some)
	expect("after receives")

	receivers := k.receivers(3)
	for range receivers {
		startRecv(ctx, c)
	}
	want.ReceiversWaiting = receivers
	expect("with receivers parked")
	if c.Stats().RecvWaits < uint64(receivers) {
		t.Fatalf("RecvWaits is %d with %d parked", c.Stats().RecvWaits, receivers)
	}
	mustSend(t, c, 1)
	want.Sent++
	want.Received++
	want.ReceiversWaiting--
	if some > 0 {
		want.HighWater = c.Stats().HighWater // depends on whether the value passed through the queue
	}
	expect("after a send to a parked receiver")
	cancel()
	want.ReceiversWaiting = 0
	expect("after the parked receivers left")
	if k.blocks() {
		k.checkSendersWaiting(t, c, &want, expect)
	}
	c.Close()
	want.Closed = true
	want.SendersWaiting = 0
	expect("after Close")
}

// highWater returns the mark that n queued values must have left: n, or the
// count of the fullest lane, as reported by c.
func (k Kind) highWater(t *testing.T, c Channel[uint64], n int) int {
	t.Helper()
	mark := c.Stats().HighWater
	if k.Lanes <= 1 {
		return n
	}
	if mark > n || mark*k.Lanes < n {
		t.Fatalf("HighWater is %d, with %d values in %d lanes", mark, n, k.Lanes)
	}
	return mark
}

// checkSendersWaiting fills c and parks senders, which Close will release.
func (k Kind) checkSendersWaiting(t *testing.T, c Channel[uint64], want *sluice.Stats, expect func(string)) {
	fill(t, k, c)
	want.Len, want.HighWater = k.Capacity, k.highWater(t, c, k.Capacity)
	want.Sent += uint64(k.Capacity)
	for range 2 {
		if err := c.TrySend(99); err != sluice.ErrFull {
			t.Fatalf("TrySend to a full channel: %v, want %v", err, sluice.ErrFull)
		}
	}
	want.Rejected += 2
	expect("after sends without room")
	senders := k.senders(3)
	for i := range senders {
		startSend(context.Background(), c, uint64(i))
	}
	want.SendersWaiting = senders
	expect("with senders parked")
	if c.Stats().SendWaits < uint64(senders) {
		t.Fatalf("SendWaits is %d with %d parked", c.Stats().SendWaits, senders)
	}
}

// testWaitTime checks the time spent parked, on the bubble's clock. A kind may
// estimate it after many waits; this test causes few.
func (k Kind) testWaitTime(t *testing.T) {
	ctx := context.Background()
	c := k.numbers(t)
	receivers, senders := k.receivers(3), k.senders(3)
	for range receivers {
		startRecv(ctx, c)
	}
	settle()
	time.Sleep(time.Hour)
	for range receivers {
		mustSend(t, c, 1)
		settle()
	}
	if want := time.Duration(receivers) * time.Hour; c.Stats().RecvWaitTime != want {
		t.Errorf("RecvWaitTime is %v, want %v", c.Stats().RecvWaitTime, want)
	}
	if !k.blocks() {
		return
	}
	fill(t, k, c)
	for range senders {
		startSend(ctx, c, 1)
	}
	settle()
	time.Sleep(time.Minute)
	for range senders {
		if _, err := c.TryRecv(); err != nil {
			t.Fatalf("TryRecv of a full channel: %v", err)
		}
		settle()
	}
	if want := time.Duration(senders) * time.Minute; c.Stats().SendWaitTime != want {
		t.Errorf("SendWaitTime is %v, want %v", c.Stats().SendWaitTime, want)
	}
}

// differ compares the deterministic fields of Stats.
func differ(got, want sluice.Stats) error {
	type determined struct {
		Len, Cap                         int
		Sent, Received, Dropped          uint64
		Rejected                         uint64
		SendersWaiting, ReceiversWaiting int
		HighWater                        int
		Closed                           bool
	}
	pick := func(s sluice.Stats) determined {
		return determined{s.Len, s.Cap, s.Sent, s.Received, s.Dropped, s.Rejected,
			s.SendersWaiting, s.ReceiversWaiting, s.HighWater, s.Closed}
	}
	if g, w := pick(got), pick(want); g != w {
		return fmt.Errorf("got %+v, want %+v", g, w)
	}
	return nil
}

// testStatsInUse reads the Stats of a channel in use.
func (k Kind) testStatsInUse(t *testing.T) {
	for _, shape := range k.shapes([][2]int{{1, 1}, {4, 4}}) {
		var watching sync.WaitGroup
		f := newFlow(k, shape[0], shape[1], k.rounds(3000))
		var failure error
		began := time.Now()
		f.send = func(c Channel[uint64], sender int, vs []uint64) error {
			if sender == 0 {
				watching.Go(func() { failure = k.watchStats(c, began) })
			}
			return sendMixed(c, sender, vs)
		}
		f.receive = recvMixed
		f.run(t)
		watching.Wait()
		if failure != nil {
			t.Fatalf("%d to %d: %v", shape[0], shape[1], failure)
		}
	}
}

// watchStats reads Stats until c, which was made after began, is closed and
// drained.
func (k Kind) watchStats(c Channel[uint64], began time.Time) error {
	var last sluice.Stats
	for {
		s, queued := c.Stats(), c.Len()
		balance := int(s.Sent - s.Received - s.Dropped)
		if k.Overflow == sluice.DropNewest {
			balance += int(s.Dropped) // dropped values were never sent
		}
		switch {
		case s.Len != balance:
			return fmt.Errorf("Stats are inconsistent: %+v", s)
		case s.Len < 0 || s.Len > k.Capacity || queued < 0 || queued > k.Capacity:
			return fmt.Errorf("Len %d, Stats.Len %d, capacity %d", queued, s.Len, k.Capacity)
		case s.Cap != k.Capacity || c.Cap() != k.Capacity:
			return fmt.Errorf("Cap %d, Stats.Cap %d, want %d", c.Cap(), s.Cap, k.Capacity)
		case s.HighWater*max(1, k.Lanes) < s.Len || s.HighWater > k.Capacity:
			return fmt.Errorf("HighWater %d with Len %d, capacity %d", s.HighWater, s.Len, k.Capacity)
		case s.Sent < last.Sent || s.Received < last.Received || s.Dropped < last.Dropped ||
			s.SendWaits < last.SendWaits || s.RecvWaits < last.RecvWaits || s.HighWater < last.HighWater:
			return fmt.Errorf("a counter went back: %+v after %+v", s, last)
		case s.SendersWaiting < 0 || s.ReceiversWaiting < 0:
			return fmt.Errorf("a negative number of waiters: %+v", s)
		case s.SendersWaiting == 0 && s.OldestSender != 0 || s.ReceiversWaiting == 0 && s.OldestReceiver != 0:
			return fmt.Errorf("no waiter, but an age: %+v", s)
		case s.OldestSender < 0 || s.OldestReceiver < 0 || max(s.OldestSender, s.OldestReceiver) > time.Since(began):
			return fmt.Errorf("a waiter is older than the test: %+v", s)
		case s.Closed && s.Len == 0:
			return nil
		}
		last = s
		yield()
	}
}
