package hub_test

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/hub"
	"github.com/sluice-go/sluice/inspect"
)

// TestClose: each subscription receives what it has queued, also if it subscribed with
// replay, and then ErrClosed; sends and new subscriptions fail.
func TestClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := t.Context()
		h := hub.New[int](4, &hub.Options{Replay: 4})
		full := subscribe(t, h, &hub.SubscriptionOptions[int]{Overflow: sluice.Block, Capacity: 2})
		send(t, h, 1, 2)
		late := subscribe(t, h, &hub.SubscriptionOptions[int]{Overflow: sluice.DropOldest, Replay: 2})
		failed := make(chan error, 3)
		go func() { failed <- h.Send(ctx, 3) }()
		go func() { _, err := h.SendBatch(ctx, []int{3, 4}); failed <- err }()
		go func() { _, err := sluice.Select(ctx, sluice.OnSend(h, 3)); failed <- err }()
		empty := subscribe(t, h, dropOldest())
		received := make(chan error, 2)
		go func() { _, err := empty.Recv(ctx); received <- err }()
		go func() { _, err := sluice.Select(ctx, sluice.OnRecv(empty)); received <- err }()
		synctest.Wait()
		h.Close()
		h.Close()
		for range 3 {
			if err := <-failed; err != sluice.ErrClosed {
				t.Errorf("a send that waited: %v", err)
			}
		}
		for range 2 {
			if err := <-received; err != sluice.ErrClosed {
				t.Errorf("a receive that waited: %v", err)
			}
		}
		for _, s := range []*hub.Subscription[int]{full, late} {
			values := s.Values(ctx)
			if got := slices.Collect(values.All()); !slices.Equal(got, []int{1, 2}) || values.Err() != nil {
				t.Errorf("received %v, %v", got, values.Err())
			}
		}
		if _, err := h.Subscribe(nil); err != sluice.ErrClosed {
			t.Errorf("Subscribe after Close: %v", err)
		}
		if err := h.TrySend(1); err != sluice.ErrClosed {
			t.Errorf("TrySend after Close: %v", err)
		}
		if n, err := h.SendBatch(ctx, nil); n != 0 || err != nil {
			t.Errorf("an empty batch: %d, %v", n, err)
		}
	})
}

// TestInspect: a subscription with a name is listed until it is garbage, others are not.
func TestInspect(t *testing.T) {
	var before uint64 // subscriptions of earlier tests may still be listed
	for _, c := range inspect.Channels() {
		before = c.ID
	}
	h := hub.New[int](4, nil)
	s := subscribe(t, h, &hub.SubscriptionOptions[int]{Overflow: sluice.DropOldest, Name: t.Name(), Capacity: 2})
	unnamed := subscribe(t, h, &hub.SubscriptionOptions[int]{Overflow: sluice.DropOldest, Capacity: 2})
	send(t, h, 1, 2, 3)
	var found []inspect.Channel
	for _, c := range inspect.Channels() {
		if c.Kind == "Subscription" && c.ID > before {
			found = append(found, c)
		}
	}
	if len(found) != 1 || found[0].Name != t.Name() {
		t.Fatalf("listed: %+v", found)
	}
	if stats, ok := found[0].Stats(); !ok || stats.Sent != 3 || stats.Dropped != 1 || stats.Len != 2 || stats.Cap != 2 || stats.Name != t.Name() {
		t.Errorf("%+v, %v", stats, ok)
	}
	runtime.KeepAlive(s)
	runtime.KeepAlive(unnamed)
}

// TestAge: the age of the oldest value is that of the value that would be received next, for
// each policy.
func TestAge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := hub.New[int](8, nil)
		var subs []*hub.Subscription[int]
		for _, policy := range policies[:3] {
			subs = append(subs, subscribe(t, h, &hub.SubscriptionOptions[int]{Overflow: policy, Capacity: 4}))
		}
		for i := range 4 {
			send(t, h, i)
			_ = subs[0].Stats() // observes
			time.Sleep(time.Second)
		}
		for i, s := range subs {
			for age := 4 * time.Second; age > 0; age -= time.Second {
				if s := s.Stats(); s.OldestAtLeast != age || age < 4*time.Second && s.OldestAtMost != age+time.Second {
					t.Errorf("%v: the age is %v to %v, want %v", policies[i], s.OldestAtLeast, s.OldestAtMost, age)
				}
				_, _ = s.TryRecv()
			}
		}
	})
}

// TestRefuses: what makes no sense panics with what to do.
func TestRefuses(t *testing.T) {
	var noContext context.Context
	h := hub.New[int](4, &hub.Options{Replay: 3})
	s := subscribe(t, h, dropOldest())
	options := func(o hub.SubscriptionOptions[int]) func() { return func() { _, _ = h.Subscribe(&o) } }
	for want, f := range map[string]func(){
		"hub: New: capacity must be at least 1 (got 0)":            func() { hub.New[int](0, nil) },
		"hub: New: Replay must not be negative (got -1)":           func() { hub.New[int](1, &hub.Options{Replay: -1}) },
		"hub: the Hub is a zero value":                             func() { _ = new(hub.Hub[int]).TrySend(1) },
		"hub: the Subscription is a zero value":                    func() { _, _ = new(hub.Subscription[int]).TryRecv() },
		"hub: Send: nil context":                                   func() { _ = h.Send(noContext, 1) },
		"hub: SendBatch: nil context":                              func() { _, _ = h.SendBatch(noContext, nil) },
		"hub: Recv: nil context":                                   func() { _, _ = s.Recv(noContext) },
		"hub: RecvBatch: nil context":                              func() { _, _ = s.RecvBatch(noContext, nil) },
		"hub: Values: nil context":                                 func() { s.Values(noContext) },
		"sluice: OnSend: *hub.Hub[int] is nil":                     func() { sluice.OnSend((*hub.Hub[int])(nil), 1) },
		"sluice: OnRecv: *hub.Subscription[int] is nil":            func() { sluice.OnRecv((*hub.Subscription[int])(nil)) },
		"hub: Subscribe: Overflow is Overflow(6) (want Block, Dr":  options(hub.SubscriptionOptions[int]{Overflow: sluice.Evict + 1}),
		"Overflow is Reject (want Block, DropOldest, DropNewest ":  options(hub.SubscriptionOptions[int]{Overflow: sluice.Reject}),
		"Overflow is DropLeastUrgent (want Block, DropOldest, Dr":  options(hub.SubscriptionOptions[int]{Overflow: sluice.DropLeastUrgent}),
		"Capacity must be from 1 to 4, the capacity of the Hub (":  options(hub.SubscriptionOptions[int]{Overflow: sluice.DropOldest, Capacity: 5}),
		"EvictAfter and DropAfter must not be negative (got -1ns":  options(hub.SubscriptionOptions[int]{Overflow: sluice.Block, EvictAfter: -1}),
		"EvictAfter and DropAfter must not be negative (got 0s an": options(hub.SubscriptionOptions[int]{Overflow: sluice.Block, DropAfter: -1}),
		"EvictAfter and DropAfter exclude each other":              options(hub.SubscriptionOptions[int]{Overflow: sluice.Block, EvictAfter: 1, DropAfter: 2}),
		"EvictAfter and DropAfter require Block (got Evict, for w": options(hub.SubscriptionOptions[int]{Overflow: sluice.Evict, EvictAfter: 1}),
		"EvictAfter and DropAfter require Block (got DropOldest, ": options(hub.SubscriptionOptions[int]{Overflow: sluice.DropOldest, DropAfter: 1}),
		"Replay must be from 0 to 3, the Replay of the Hub (got ":  options(hub.SubscriptionOptions[int]{Overflow: sluice.DropOldest, Replay: 4}),
		"Replay must not exceed the Capacity of 2 (got 3)":         options(hub.SubscriptionOptions[int]{Overflow: sluice.DropOldest, Replay: 3, Capacity: 2}),
	} {
		func() {
			defer func() {
				if got := fmt.Sprint(recover()); !strings.Contains(got, want) {
					t.Errorf("the panic is %q, want %q", got, want)
				}
			}()
			f()
		}()
	}
	if n := h.Stats().Subscriptions; n != 1 {
		t.Errorf("%d subscriptions after refused ones", n)
	}
}
