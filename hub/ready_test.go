package hub_test

import (
	"bytes"
	"context"
	"runtime"
	"testing"
	"testing/synctest"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/hub"
)

// TestReady: a native select loop receives every value, of a subscription with each policy.
func TestReady(t *testing.T) {
	for _, policy := range policies[:3] {
		h := hub.New[int](1<<16, nil)
		s := subscribe(t, h, &hub.SubscriptionOptions[int]{Overflow: policy})
		n := rounds(50_000)
		go func() {
			for i := range n {
				if err := h.Send(context.Background(), i); err != nil {
					t.Errorf("Send: %v", err)
				}
				if i%64 == 0 {
					runtime.Gosched()
				}
			}
			h.Close()
		}()
		next := 0
		for open := true; open; {
			_, open = <-s.Ready()
			for v := range s.Drain() {
				if v != next {
					t.Fatalf("%v: received %d, want %d", policy, v, next)
				}
				next++
				if v%3 == 0 {
					break // Ready becomes readable again; after Close the rest is below
				}
			}
		}
		for v := range s.Values(context.Background()).All() {
			if v != next {
				t.Fatalf("%v: received %d, want %d", policy, v, next)
			}
			next++
		}
		if next != n {
			t.Errorf("%v: %d of %d values were received", policy, next, n)
		}
	}
}

// TestReadyAnnounces: Ready has a token whenever a value is queued and none was taken since,
// and is closed at each end.
func TestReadyAnnounces(t *testing.T) {
	readable := func(s *hub.Subscription[int]) (ready, closed bool) {
		select {
		case _, open := <-s.Ready():
			return true, !open
		default:
			return false, false
		}
	}
	h := hub.New[int](2, nil)
	s := subscribe(t, h, dropOldest())
	strict := subscribe(t, h, &hub.SubscriptionOptions[int]{Overflow: sluice.Evict})
	left := subscribe(t, h, dropOldest())
	for _, s := range []*hub.Subscription[int]{s, strict, left} {
		if ready, _ := readable(s); ready {
			t.Error("an empty subscription is ready")
		}
	}
	left.Close()
	if _, closed := readable(left); !closed {
		t.Error("Ready is open after Close of the subscription")
	}
	for range 2 {
		send(t, h, 1)
		if ready, _ := readable(s); !ready {
			t.Error("a value is not announced")
		}
	}
	if _, err := s.TryRecv(); err != nil {
		t.Fatal(err)
	}
	if ready, _ := readable(s); !ready {
		t.Error("a receive that left a value does not announce it")
	}
	if again := subscribe(t, h, dropOldest()); func() bool { ready, _ := readable(again); return ready }() {
		t.Error("a subscription is ready for what was sent before")
	}
	send(t, h, 1)
	_, _ = readable(strict) // a token may be left
	if _, closed := readable(strict); !closed {
		t.Error("Ready is open after an eviction")
	}
	h.Close()
	_, _ = readable(s)
	if _, closed := readable(s); !closed {
		t.Error("Ready is open after Close")
	}
	s.Close()
	if _, err := s.TryRecv(); err != sluice.ErrClosed {
		t.Errorf("a receive after Close: %v", err)
	}
	if late := left.Ready(); late == nil || left.Len() != 0 {
		t.Error("a subscription that has left is not usable")
	}
}

// loud overrides a method of what it embeds: a Select must call it.
type loud struct {
	*hub.Subscription[int]
	calls int
}

func (l *loud) TryRecv() (int, error) { l.calls++; return l.Subscription.TryRecv() }

func TestSelect(t *testing.T) {
	ctx := t.Context()
	a, b := hub.New[int](4, nil), hub.New[string](4, nil)
	as := subscribe(t, a, &hub.SubscriptionOptions[int]{Overflow: sluice.Block, Capacity: 1})
	bs := subscribe(t, b, &hub.SubscriptionOptions[string]{Overflow: sluice.DropNewest})
	jobs := sluice.NewBounded[int](1, nil)
	onA, onB, toA, onJob := sluice.OnRecv(as), sluice.OnRecv(bs), sluice.OnSend(a, 7), sluice.OnRecv(jobs)
	if chosen, _ := sluice.Select(ctx, onA, onB, onJob, sluice.Default); chosen != sluice.Default {
		t.Errorf("chose %v of nothing", chosen)
	}
	if chosen, err := sluice.Select(ctx, onA, onB, toA, onJob); chosen != toA || err != nil {
		t.Errorf("chose %v, %v; want to send", chosen, err)
	}
	if chosen, err := sluice.Select(ctx, toA, onB, onJob, sluice.Default); chosen != sluice.Default {
		t.Errorf("chose %v, %v with a full subscription", chosen, err)
	}
	if chosen, err := sluice.Select(ctx, onA, onB, toA, onJob); chosen != onA || err != nil || onA.Value != 7 {
		t.Errorf("chose %v, %v, received %d", chosen, err, onA.Value)
	}
	go func() { _ = b.Send(context.Background(), "x") }()
	if chosen, err := sluice.Select(ctx, onA, onB, onJob); chosen != onB || err != nil || onB.Value != "x" {
		t.Errorf("chose %v, %v, received %q", chosen, err, onB.Value)
	}
	before := runtime.NumGoroutine()
	l := &loud{Subscription: as}
	send(t, a, 8)
	if chosen, err := sluice.Select(ctx, sluice.OnRecv(l)); chosen == nil || err != nil || l.calls == 0 {
		t.Errorf("a type that embeds a Subscription: %v, %v, %d calls", chosen, err, l.calls)
	}
	as.Close()
	if chosen, err := sluice.Select(ctx, onA); chosen != onA || err != sluice.ErrClosed {
		t.Errorf("after Close: %v, %v", chosen, err)
	}
	if n := runtime.NumGoroutine(); n > before {
		t.Errorf("%d goroutines, %d before", n, before)
	}
}

// bubbled returns the number of goroutines in bubbles. Those of earlier tests, which may end at
// any time, are not.
func bubbled() int {
	all := make([]byte, 1<<20)
	return bytes.Count(all[:runtime.Stack(all, true)], []byte("synctest bubble"))
}

// TestSelectWaitsWithoutGoroutine: a Select that waits for subscriptions starts none.
func TestSelectWaitsWithoutGoroutine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := hub.New[int](4, nil)
		c := sluice.OnRecv(subscribe(t, h, dropOldest()))
		before := bubbled()
		done := make(chan int)
		go func() { _, _ = sluice.Select(context.Background(), c); done <- c.Value }()
		synctest.Wait()
		if n := bubbled(); n != before+1 {
			t.Errorf("%d goroutines for one Select", n-before)
		}
		send(t, h, 5)
		if v := <-done; v != 5 {
			t.Errorf("received %d", v)
		}
	})
}
