package hub_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/hub"
)

// policies are the policies that a subscription can have.
var policies = [...]sluice.Overflow{sluice.DropOldest, sluice.DropNewest, sluice.Block, sluice.Evict}

// dropOldest are the options of a subscription that never makes senders wait.
func dropOldest() *hub.SubscriptionOptions[int] {
	return &hub.SubscriptionOptions[int]{Overflow: sluice.DropOldest}
}

// subscribe adds a subscription that is closed at the end of t.
func subscribe[T any](t *testing.T, h *hub.Hub[T], o *hub.SubscriptionOptions[T]) *hub.Subscription[T] {
	t.Helper()
	s, err := h.Subscribe(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

func send[T any](t *testing.T, h *hub.Hub[T], vs ...T) {
	t.Helper()
	for _, v := range vs {
		if err := h.TrySend(v); err != nil {
			t.Fatalf("TrySend(%v): %v", v, err)
		}
	}
}

// A stuck world has a Hub with a subscription for which senders wait up to a minute, and which
// is full, and another one.
type stuckWorld struct {
	*hub.Hub[int]
	slow, other *hub.Subscription[int]
}

func newStuckWorld(t *testing.T) *stuckWorld {
	h := hub.New[int](8, nil)
	w := &stuckWorld{
		h,
		subscribe(t, h, &hub.SubscriptionOptions[int]{Capacity: 2, Overflow: sluice.Block, EvictAfter: time.Minute}),
		subscribe(t, h, dropOldest()),
	}
	send(t, h, 1, 2)
	return w
}

// evicts checks that a send takes as long as given, and then evicts the slow subscription.
func (w *stuckWorld) evicts(t *testing.T, after time.Duration, send func() error) {
	t.Helper()
	began := time.Now()
	if err := send(); err != nil {
		t.Errorf("the send: %v", err)
	}
	if took := time.Since(began); took != after {
		t.Errorf("the send took %v, want %v", took, after)
	}
	_, err := w.slow.Recv(context.Background())
	if !errors.Is(err, hub.ErrEvicted) || errors.Is(err, sluice.ErrClosed) || !strings.Contains(err.Error(), "2 values was full, and it received nothing for 1m0s") {
		t.Errorf("the error of the slow subscription: %v", err)
	}
	if s := w.slow.Stats(); s.Sent-s.Received != s.Dropped || s.Len != 0 || !s.Closed || s.OldestValue != 0 {
		t.Errorf("the account of the slow subscription: %+v", s)
	}
	if s := w.Stats(); s.Evicted != 1 || s.Subscriptions != 1 {
		t.Errorf("the account of the Hub: %+v", s)
	}
}

// TestEvictAfter: a subscription without a receive is evicted exactly EvictAfter after a sender
// began to wait for it.
func TestEvictAfter(t *testing.T) {
	ctx := context.Background()
	for name, f := range map[string]func(t *testing.T, w *stuckWorld){
		"Send": func(t *testing.T, w *stuckWorld) {
			w.evicts(t, time.Minute, func() error { return w.Send(ctx, 3) })
		},
		"SendBatch": func(t *testing.T, w *stuckWorld) {
			w.evicts(t, time.Minute, func() error { _, err := w.SendBatch(ctx, []int{3, 4, 5}); return err })
		},
		"Select": func(t *testing.T, w *stuckWorld) {
			c := sluice.OnSend(w.Hub, 3)
			w.evicts(t, time.Minute, func() error { _, err := sluice.Select(ctx, c); return err })
		},
		"a receive begins anew": func(t *testing.T, w *stuckWorld) {
			go func() {
				time.Sleep(40 * time.Second)
				_, _ = w.slow.TryRecv()
			}()
			w.evicts(t, 100*time.Second, func() error { _, err := w.SendBatch(ctx, []int{3, 4}); return err })
		},
		"a sender that leaves ends the wait": func(t *testing.T, w *stuckWorld) {
			short, cancel := context.WithTimeout(ctx, 40*time.Second)
			defer cancel()
			if err := w.Send(short, 3); err != context.DeadlineExceeded {
				t.Errorf("Send: %v", err)
			}
			time.Sleep(time.Hour)
			if n := w.slow.Len(); n != 2 || w.other.Len() != 2 {
				t.Errorf("%d values are queued after a canceled send", n)
			}
			w.evicts(t, time.Minute, func() error { return w.Send(ctx, 3) })
		},
		"a short break": func(t *testing.T, w *stuckWorld) {
			short, cancel := context.WithTimeout(ctx, 40*time.Second)
			defer cancel()
			_ = w.Send(short, 3)
			// No sender waits when the timer fires.
			time.Sleep(30 * time.Second)
			w.evicts(t, time.Minute, func() error { return w.Send(ctx, 3) })
		},
		"TrySend does not wait": func(t *testing.T, w *stuckWorld) {
			if err := w.TrySend(3); err != sluice.ErrFull {
				t.Errorf("TrySend: %v", err)
			}
			time.Sleep(40 * time.Second)
			w.evicts(t, time.Minute, func() error { return w.Send(ctx, 3) })
		},
		"the second of two senders": func(t *testing.T, w *stuckWorld) {
			short, cancel := context.WithTimeout(ctx, 40*time.Second)
			defer cancel()
			go func() { _ = w.Send(short, 3) }()
			time.Sleep(20 * time.Second)
			w.evicts(t, 40*time.Second, func() error { return w.Send(ctx, 4) })
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newStuckWorld(t)
				f(t, w)
				if n, err := w.other.RecvBatch(ctx, make([]int, 8)); n < 3 || err != nil {
					t.Errorf("the other subscription received %d, %v", n, err)
				}
			})
		})
	}
}

// TestEvict: a subscription without room is evicted by the value for which it has none, and not
// before.
func TestEvict(t *testing.T) {
	h := hub.New[int](8, nil)
	strict := subscribe(t, h, &hub.SubscriptionOptions[int]{Capacity: 2, Overflow: sluice.Evict})
	blocks := subscribe(t, h, &hub.SubscriptionOptions[int]{Capacity: 3, Overflow: sluice.Block})
	send(t, h, 1, 2)
	send := sluice.OnSend(h, 3)
	if chosen, err := sluice.Select(t.Context(), send, sluice.OnRecv(subscribe(t, h, dropOldest())), sluice.Default); chosen != send || err != nil {
		t.Errorf("Select chose %v, %v", chosen, err)
	}
	if _, err := strict.TryRecv(); !errors.Is(err, hub.ErrEvicted) {
		t.Errorf("after a value too many: %v", err)
	}
	late := subscribe(t, h, &hub.SubscriptionOptions[int]{Capacity: 1, Overflow: sluice.Evict})
	if err := h.TrySend(4); err != sluice.ErrFull {
		t.Fatalf("TrySend without room: %v", err)
	}
	_, _ = blocks.TryRecv()
	if err := h.TrySend(4); err != nil {
		t.Fatal(err)
	}
	if err := h.TrySend(5); err != sluice.ErrFull {
		t.Fatalf("TrySend without room: %v", err)
	}
	// The value that the subscription late has no room for was not sent.
	if v, err := late.TryRecv(); v != 4 || err != nil {
		t.Errorf("received %d, %v", v, err)
	}
}

// TestEvictWakes: an eviction wakes the senders that waited, and the receivers that waited for
// a subscription that is closed.
func TestEvictWakes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newStuckWorld(t)
		failed := make(chan error, 2)
		for range 2 {
			go func() { failed <- w.Send(context.Background(), 3) }()
		}
		quiet := subscribe(t, w.Hub, nil)
		received := make(chan error, 1)
		go func() { _, err := quiet.Recv(context.Background()); received <- err }()
		synctest.Wait()
		if slow, other := w.slow.Stats().SendWaits, w.other.Stats().SendWaits; slow != 2 || other != 0 {
			t.Errorf("senders parked %d and %d times for the two, want 2 and 0", slow, other)
		}
		quiet.Close()
		if err := <-received; err != sluice.ErrClosed {
			t.Errorf("Recv of a subscription that was closed: %v", err)
		}
		w.slow.Close()
		for range 2 {
			if err := <-failed; err != nil {
				t.Errorf("Send after the slow subscription has left: %v", err)
			}
		}
		if n := w.other.Len(); n != 4 {
			t.Errorf("%d values are queued, want 4", n)
		}
	})
}

// TestEvictAfterSparesOthers: a subscription that has received is not evicted while senders wait
// for another one.
func TestEvictAfterSparesOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		h := hub.New[int](8, nil)
		slow := subscribe(t, h, &hub.SubscriptionOptions[int]{Capacity: 2, Overflow: sluice.Block, EvictAfter: time.Minute})
		full := subscribe(t, h, &hub.SubscriptionOptions[int]{Capacity: 3, Overflow: sluice.Block})
		send(t, h, 1, 2)
		go func() { _, _ = h.SendBatch(ctx, []int{3, 4}) }()
		time.Sleep(40 * time.Second)
		for range 2 {
			if _, err := slow.TryRecv(); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
		if slow.Len() != 1 || full.Len() != 3 {
			t.Fatalf("%d and %d values are queued, want 1 and 3", slow.Len(), full.Len())
		}
		time.Sleep(time.Hour)
		if n := h.Stats().Subscriptions; n != 2 || h.Stats().SendersWaiting != 1 {
			t.Errorf("%d subscriptions are left, want 2", n)
		}
	})
}

// TestEvictTogether: senders wait for all subscriptions that are stuck at the same time, not for
// one after the other, and EvictAfter of each begins anew with the next wait.
func TestEvictTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := t.Context()
		h := hub.New[int](4, nil)
		patience := func(limit int, d time.Duration) *hub.Subscription[int] {
			return subscribe(t, h, &hub.SubscriptionOptions[int]{Capacity: limit, Overflow: sluice.Block, EvictAfter: d})
		}
		short, long, alive := patience(2, time.Minute), patience(2, time.Minute+time.Second), patience(3, time.Minute)
		for range 5 {
			patience(2, time.Minute)
		}
		send(t, h, 1, 2)
		began := time.Now()
		if err := h.Send(ctx, 3); err != nil {
			t.Error(err)
		}
		if took := time.Since(began); took != time.Minute+time.Second {
			t.Errorf("the send took %v, want 1m1s", took)
		}
		for _, s := range []*hub.Subscription[int]{short, long} {
			if _, err := s.TryRecv(); !errors.Is(err, hub.ErrEvicted) {
				t.Errorf("a stuck subscription: %v", err)
			}
		}
		time.Sleep(time.Hour)
		canceled, cancel := context.WithTimeout(ctx, 50*time.Second)
		defer cancel()
		if err := h.Send(canceled, 4); err != context.DeadlineExceeded {
			t.Errorf("Send: %v", err)
		}
		time.Sleep(time.Hour)
		if v, err := alive.TryRecv(); v != 1 || err != nil {
			t.Errorf("received %d, %v: senders did not wait for long", v, err)
		}
		if a := h.Stats(); a.Evicted != 7 || a.Subscriptions != 1 {
			t.Errorf("%d were evicted, %d are left; want 7 and 1", a.Evicted, a.Subscriptions)
		}
	})
}

// TestEvictAfterRunsOn: the time of a stuck subscription does not begin anew when senders begin
// to wait for another one.
func TestEvictAfterRunsOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := hub.New[int](4, &hub.Options{Replay: 1})
		for _, d := range []time.Duration{60 * time.Second, 100 * time.Second} {
			subscribe(t, h, &hub.SubscriptionOptions[int]{Capacity: 1, Overflow: sluice.Block, EvictAfter: d})
		}
		send(t, h, 1)
		go func() {
			time.Sleep(30 * time.Second)
			subscribe(t, h, &hub.SubscriptionOptions[int]{Capacity: 1, Overflow: sluice.Block, EvictAfter: time.Minute, Replay: 1})
		}()
		began := time.Now()
		if err := h.Send(t.Context(), 2); err != nil {
			t.Error(err)
		}
		if took := time.Since(began); took != 2*time.Minute {
			t.Errorf("the send took %v, want 2m: a minute from the first eviction on", took)
		}
	})
}

// TestEvictWakesReceiver: a goroutine that waits for a subscription with too little room for a
// batch learns of the eviction.
func TestEvictWakesReceiver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := hub.New[int](4, nil)
		s := subscribe(t, h, &hub.SubscriptionOptions[int]{Capacity: 1, Overflow: sluice.Evict})
		result := make(chan error)
		go func() { _, err := s.Recv(t.Context()); result <- err }()
		synctest.Wait()
		if _, err := h.SendBatch(t.Context(), []int{1, 2}); err != nil {
			t.Error(err)
		}
		if err := <-result; !errors.Is(err, hub.ErrEvicted) {
			t.Errorf("Recv: %v", err)
		}
	})
}
