package broadcast

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-go/sluice/internal/engine"
)

// TestRoomIsAnnounced: a receiver that has made room, and has yet to look whether a publisher
// waits for it, wakes that publisher although another goroutine has seen the room meanwhile.
func TestRoomIsAnnounced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := New[int](4, 0)
		s, err := h.Subscribe(Config{Capacity: 1, Overflow: engine.Block}, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := h.TrySend(1); err != nil {
			t.Fatal(err)
		}
		sent := false
		go func() {
			if err := h.Send(t.Context(), 2); err != nil {
				t.Error(err)
			}
			sent = true
		}()
		synctest.Wait()
		next := s.acquire()
		s.releaseAt(next + 1)
		if _, blocked := h.WouldBlock(nil); blocked || !h.hasRoom() {
			t.Error("there is no room after a receive")
		}
		synctest.Wait()
		if sent {
			t.Error("the publisher was woken by a goroutine that only looked")
		}
		s.received(false)
		synctest.Wait()
		if !sent {
			t.Error("the publisher was not woken")
			s.Close()
		}
	})
}

// TestWaiting: of the subscriptions that wait, those are due, in their order, that were put into the
// list before the last value, wherever others were taken out.
func TestWaiting(t *testing.T) {
	var l list[int]
	l.init()
	var subs [6]*Subscription[int]
	for i := range subs {
		subs[i] = newSubscription(New[int](1, 0), Config{Capacity: i, Overflow: engine.DropOldest}, nil, nil)
		l.push(&subs[i].listed, uint64(i/2))
	}
	if l.due(0) != nil {
		t.Error("a subscription is due before the first value")
	}
	for _, i := range []int{1, 1, 5, 0} {
		subs[i].listed.unlist()
	}
	var got []uint64
	for n := l.due(2); n != nil; n = l.due(2) {
		got = append(got, n.of.capacity)
		n.unlist()
	}
	if len(got) != 2 || got[0] != 2 || got[1] != 3 {
		t.Errorf("due are %v, want 2 and 3", got)
	}
	if n := l.due(3); n == nil || n.of != subs[4] || n.next != &l.node || n.prev != &l.node {
		t.Error("the last one is not due after the next value, or not alone")
	}
}

// TestPassesThoseThatLeft: subscriptions whose goroutines have given up do not use up the
// wake-ups of a value, and nothing is left to wake after it.
func TestPassesThoseThatLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := New[int](4, 0)
		canceled, cancel := context.WithCancel(t.Context())
		for range 3 * fanout {
			s := subscribe(t, h, Config{Capacity: 1, Overflow: engine.DropOldest})
			go func() { _, _ = s.Recv(canceled) }()
		}
		synctest.Wait()
		const waiting = 3 * fanout
		var received atomic.Int32
		for range waiting {
			last := subscribe(t, h, Config{Capacity: 1, Overflow: engine.DropOldest})
			defer last.Close()
			go func() {
				if _, err := last.Recv(t.Context()); err == nil {
					received.Add(1)
				}
			}()
		}
		synctest.Wait()
		cancel()
		synctest.Wait()
		trySend(t, h, 1)
		synctest.Wait()
		if n := received.Load(); n != waiting {
			t.Errorf("%d of %d goroutines that waited were woken", n, waiting)
		}
		if h.pending.Load() || h.waiting.next != &h.waiting.node {
			t.Error("subscriptions are left to wake")
		}
	})
}

// TestEnlist: a goroutine does not park if it need not, whatever has happened since it polled.
func TestEnlist(t *testing.T) {
	for _, policy := range []engine.Overflow{engine.DropOldest, engine.DropNewest} {
		h := New[int](4, 0)
		c := Config{Capacity: 1, Overflow: policy}
		quiet, left := subscribe(t, h, c), subscribe(t, h, c)
		if !quiet.enlist() {
			t.Error("a goroutine without a value, or an end, does not park")
		}
		if left.Close(); left.enlist() {
			t.Error("a goroutine parks although the subscription is closed")
		}
		if trySend(t, h, 1); quiet.enlist() {
			t.Error("a goroutine parks although there is a value")
		}
		last := subscribe(t, h, c)
		if h.Close(); last.enlist() {
			t.Error("a goroutine parks although the Hub is closed")
		}
		if left.listed.next != nil || last.listed.next != nil {
			t.Error("a subscription waits for a value that never comes")
		}
	}
}

// TestCloseLeavesNothing: a subscription that is closed while a goroutine waits for it, and a
// publisher, leaves no entry in a list and no timer.
func TestCloseLeavesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := New[int](4, 0)
		quiet := subscribe(t, h, Config{Capacity: 1, Overflow: engine.DropOldest})
		go func() { _, _ = quiet.Recv(t.Context()) }()
		synctest.Wait()
		if quiet.Close(); h.waiting.next != &h.waiting.node {
			t.Error("the next value would wake a closed subscription")
		}
		full := subscribe(t, h, Config{Capacity: 1, Overflow: engine.Block, Patience: time.Hour})
		trySend(t, h, 1)
		go func() { _ = h.Send(t.Context(), 2) }()
		synctest.Wait()
		if full.Close(); full.timer == nil || full.timer.Stop() {
			t.Error("the timer of a closed subscription runs")
		}
	})
}
