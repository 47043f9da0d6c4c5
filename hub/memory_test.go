package hub_test

import (
	"context"
	"runtime"
	"sync"
	"testing"
	"time"
	"weak"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/hub"
	"github.com/sluice-go/sluice/internal/suite"
	"github.com/sluice-go/sluice/sluicetest"
)

// TestOneCopy: every subscription receives the value itself, and the Hub lets go of it once all
// have moved on.
func TestOneCopy(t *testing.T) {
	h := hub.New[*sluicetest.Parcel](4, nil)
	o := &hub.SubscriptionOptions[*sluicetest.Parcel]{Overflow: sluice.DropOldest}
	a, b := subscribe(t, h, o), subscribe(t, h, o)
	first := func() weak.Pointer[sluicetest.Parcel] {
		p := new(sluicetest.Parcel)
		send(t, h, p)
		va, _ := a.TryRecv()
		vb, _ := b.TryRecv()
		if va != p || vb != p {
			t.Error("a subscription received another pointer")
		}
		return weak.Make(p)
	}()
	for range 8 { // two blocks
		send(t, h, new(sluicetest.Parcel))
		_, _ = a.TryRecv()
		_, _ = b.TryRecv()
	}
	for range 3 {
		runtime.GC()
	}
	if first.Value() != nil {
		t.Error("the Hub keeps a value that all have received")
	}
	runtime.KeepAlive(h)
}

// TestUnlimited: a Hub whose capacity is Unlimited takes memory only for what is queued, and the
// Capacity of each subscription counts, under each policy.
func TestUnlimited(t *testing.T) {
	h := hub.New[int](sluice.Unlimited, nil)
	if bytes := h.Stats().Bytes; bytes > 4096 {
		t.Errorf("an empty Hub has %d bytes for values", bytes)
	}
	const sent, limit = 1000, 3
	limited, unlimited := map[sluice.Overflow]*hub.Subscription[int]{}, map[sluice.Overflow]*hub.Subscription[int]{}
	queued := map[sluice.Overflow]int{sluice.DropOldest: limit, sluice.DropNewest: limit, sluice.Evict: 0}
	for policy := range queued {
		limited[policy] = subscribe(t, h, &hub.SubscriptionOptions[int]{Overflow: policy, Capacity: limit})
	}
	for _, policy := range policies {
		unlimited[policy] = subscribe(t, h, &hub.SubscriptionOptions[int]{Overflow: policy})
	}
	for i := range sent {
		send(t, h, i)
	}
	for policy, s := range limited {
		if n := s.Len(); n != queued[policy] {
			t.Errorf("%v with a Capacity of %d: %d values", policy, limit, n)
		}
	}
	if v, err := limited[sluice.DropOldest].TryRecv(); v != sent-limit || err != nil {
		t.Errorf("DropOldest: received %d, %v", v, err)
	}
	if v, err := limited[sluice.DropNewest].TryRecv(); v != 0 || err != nil {
		t.Errorf("DropNewest: received %d, %v", v, err)
	}
	for policy, s := range unlimited {
		if n := s.Len(); n != sent || s.Cap() != sluice.Unlimited {
			t.Errorf("%v without a Capacity: %d of %d values, capacity %d", policy, n, sent, s.Cap())
		}
	}
}

// TestLeavesNothing: ten thousand subscriptions that have come and gone leave neither memory nor
// entries behind, whether or not a value is sent, and a Hub is garbage with its subscriptions.
func TestLeavesNothing(t *testing.T) {
	h := hub.New[int](16, nil)
	heap := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	churn := func() {
		for i := range 10_000 {
			s, err := h.Subscribe(&hub.SubscriptionOptions[int]{Overflow: policies[i%4]})
			if err != nil {
				t.Fatal(err)
			}
			canceled, cancel := context.WithCancel(context.Background())
			var waiter sync.WaitGroup
			waiter.Go(func() { _, _ = s.Recv(canceled) })
			cancel()
			waiter.Wait()
			s.Close()
		}
	}
	churn()
	before := heap()
	churn()
	if after := heap(); after > before+100_000 {
		t.Errorf("%d bytes more after ten thousand subscriptions", after-before)
	}
	if n := h.Stats().Subscriptions; n != 0 {
		t.Errorf("%d subscriptions are left", n)
	}
	abandoned := func() weak.Pointer[hub.Hub[int]] {
		h := hub.New[int](16, nil)
		for range 10 {
			if _, err := h.Subscribe(&hub.SubscriptionOptions[int]{Overflow: sluice.Block, EvictAfter: time.Hour}); err != nil {
				t.Fatal(err)
			}
		}
		return weak.Make(h)
	}()
	for range 3 {
		runtime.GC()
	}
	if abandoned.Value() != nil {
		t.Error("a Hub that nothing refers to is kept alive")
	}
	runtime.KeepAlive(h)
}

// TestAllocations: no operation allocates in steady state.
func TestAllocations(t *testing.T) {
	if suite.Race {
		t.Skip("the race detector allocates")
	}
	ctx := t.Context()
	h := hub.New[*sluicetest.Parcel](100, nil)
	var subs []*hub.Subscription[*sluicetest.Parcel]
	for _, policy := range []sluice.Overflow{sluice.DropOldest, sluice.DropNewest, sluice.DropOldest} {
		subs = append(subs, subscribe(t, h, &hub.SubscriptionOptions[*sluicetest.Parcel]{Overflow: policy}))
	}
	v := new(sluicetest.Parcel)
	step := func() {
		for range 64 {
			if err := h.Send(ctx, v); err != nil {
				t.Fatal(err)
			}
			for _, s := range subs[:2] { // the third one lags behind
				if _, err := s.Recv(ctx); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	for range 10 {
		step()
	}
	if n := testing.AllocsPerRun(100, step); n > 0 {
		t.Errorf("%v allocations for 64 values", n)
	}
}
