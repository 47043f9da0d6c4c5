package broadcast

import (
	"errors"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-go/sluice/internal/engine"
	"github.com/sluice-go/sluice/internal/suite"
)

func subscribe(t *testing.T, h *Hub[int], c Config) *Subscription[int] {
	t.Helper()
	s, err := h.Subscribe(c, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func trySend(t *testing.T, h *Hub[int], vs ...int) {
	t.Helper()
	for _, v := range vs {
		if err := h.TrySend(v); err != nil {
			t.Fatal(err)
		}
	}
}

// TestSuspectHasRoom: a subscription becomes the blocker at the moment in which it gets room, as
// the blocker before has. The receivers of the two may see each other's blocker, so the publisher
// that waits is woken by the goroutine that replaced the blocker.
func TestSuspectHasRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := New[int](4, 0)
		a, b := subscribe(t, h, Config{Capacity: 1, Overflow: engine.Block}), subscribe(t, h, Config{Capacity: 1, Overflow: engine.Block})
		trySend(t, h, 1)
		sent := false
		go func() {
			if err := h.Send(t.Context(), 2); err != nil {
				t.Error(err)
			}
			sent = true
		}()
		synctest.Wait()
		first, second := a, b
		if h.blocker.Load() == b {
			first, second = b, a
		}
		for _, s := range []*Subscription[int]{first, second} {
			s.releaseAt(s.acquire() + 1)
		}
		second.received(false)
		h.acquire()
		if bound := h.suspect(second, 1); bound != 2 {
			t.Errorf("the bound is %d, want 2", bound)
		}
		h.lock.Unlock()
		first.received(false)
		synctest.Wait()
		if !sent {
			t.Error("the publisher was not woken")
			first.Close()
		}
	})
}

// TestEvictSparesReceiver: a receive that began before the value for which there was no room
// makes room for it, so the subscription is not evicted, by that value or by its timer.
func TestEvictSparesReceiver(t *testing.T) {
	for name, test := range map[string]struct {
		c     Config
		evict func(h *Hub[int], s *Subscription[int], next uint64)
	}{
		"value": {Config{Capacity: 2, Overflow: engine.Evict}, func(h *Hub[int], s *Subscription[int], _ uint64) {
			_ = h.TrySend(3)
		}},
		"decided": {Config{Capacity: 2, Overflow: engine.Evict}, func(h *Hub[int], s *Subscription[int], next uint64) {
			h.acquire()
			h.evict(s, next, 0)
			h.lock.Unlock()
		}},
	} {
		t.Run(name, func(t *testing.T) {
			h := New[int](4, 0)
			s := subscribe(t, h, test.c)
			trySend(t, h, 1, 2)
			next := s.acquire() // a receive begins
			var other sync.WaitGroup
			other.Go(func() { test.evict(h, s, next) })
			for h.lock.TryLock() { // until the other goroutine has it
				h.lock.Unlock()
				runtime.Gosched()
			}
			for name == "value" && h.tail.Load() < 3 {
				runtime.Gosched()
			}
			s.releaseAt(next + 1) // it has the first value
			other.Wait()
			if v, err := s.TryRecv(); v != 2 || err != nil {
				t.Errorf("received %d, %v; want 2", v, err)
			}
			if h.Stats().Evicted != 0 {
				t.Error("the subscription was evicted")
			}
		})
	}
}

// TestTimerAfterClose: what is queued when the Hub is closed can be received, although the
// timer of an eviction fires before the publishers that were waiting have left.
func TestTimerAfterClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := New[int](4, 0)
		s := subscribe(t, h, Config{Capacity: 1, Overflow: engine.Block, Patience: time.Minute})
		trySend(t, h, 1)
		done := make(chan error)
		go func() { done <- h.Send(t.Context(), 2) }()
		synctest.Wait()
		s.timer.Stop()
		time.Sleep(time.Hour)
		h.acquire()
		h.closed.Store(true) // Close, up to its wake-ups
		h.lock.Unlock()
		s.expire()
		h.senders.WakeAll()
		if err := <-done; err != engine.ErrClosed {
			t.Errorf("Send: %v", err)
		}
		if v, err := s.TryRecv(); v != 1 || err != nil {
			t.Errorf("received %d, %v", v, err)
		}
	})
}

// TestAccountGrows: no counter of an account falls, and what the account has as dropped is not
// received.
func TestAccountGrows(t *testing.T) {
	n := suite.Rounds(10_000, 100_000)
	for _, policy := range policies {
		h := New[int](3, 0)
		s := subscribe(t, h, Config{Capacity: 2, Overflow: policy})
		var all sync.WaitGroup
		all.Go(func() {
			for i := range n {
				_ = h.Send(t.Context(), i)
			}
			h.Close()
		})
		all.Go(func() {
			for {
				if _, err := s.Recv(t.Context()); errors.Is(err, ErrEvicted) || err == engine.ErrClosed {
					return
				}
			}
		})
		var last engine.Stats
		for !last.Closed {
			runtime.Gosched() // or the others hardly find the lock free
			a := s.Stats()
			if a.Sent != a.Received+a.Dropped+uint64(a.Len) || a.Len > a.Cap || a.HighWater < a.Len {
				t.Errorf("%d: the account does not add up: %+v", policy, a)
			}
			if a.Sent < last.Sent || a.Received < last.Received || a.Dropped < last.Dropped || a.HighWater < last.HighWater {
				t.Errorf("%d: a counter falls: %+v after %+v", policy, a, last)
			}
			if last = a; t.Failed() {
				break
			}
		}
		all.Wait()
	}
}

// TestTimerOfEarlierEpisode: a timer that fires late does not evict before its time.
func TestTimerOfEarlierEpisode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := New[int](4, 0)
		s := subscribe(t, h, Config{Capacity: 1, Overflow: engine.Block, Patience: time.Minute})
		trySend(t, h, 1)
		began := time.Now()
		go func() {
			time.Sleep(20 * time.Second)
			s.expire() // for an earlier episode
		}()
		if err := h.Send(t.Context(), 2); err != nil {
			t.Error(err)
		}
		if took := time.Since(began); took != time.Minute {
			t.Errorf("evicted after %v", took)
		}
	})
}

// TestOwnQueueIsPublished: a value that is in some of the queues, but not yet in all, cannot be
// received.
func TestOwnQueueIsPublished(t *testing.T) {
	h := New[int](4, 0)
	s := subscribe(t, h, Config{Capacity: 4, Overflow: engine.DropNewest})
	for range 100 {
		subscribe(t, h, Config{Capacity: 4, Overflow: engine.DropNewest})
	}
	n := suite.Rounds(2_000, 20_000)
	var all sync.WaitGroup
	all.Go(func() {
		for i := range n {
			for s.Len() == s.Cap() {
				runtime.Gosched()
			}
			if err := h.TrySend(i); err != nil {
				t.Error(err)
			}
		}
	})
	for received := 0; received < n; {
		v, err := s.TryRecv()
		if err != nil {
			runtime.Gosched()
			continue
		}
		if tail := h.tail.Load(); uint64(v) >= tail && !t.Failed() {
			t.Errorf("received value %d before it was published: the tail is %d", v, tail)
		}
		received++
	}
	all.Wait()
}
