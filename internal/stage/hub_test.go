package stage_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/batch"
	"github.com/sluice-go/sluice/bridge"
	"github.com/sluice-go/sluice/fan"
	"github.com/sluice-go/sluice/hub"
	"github.com/sluice-go/sluice/workers"
)

func subscribe(t *testing.T, h *hub.Hub[int]) *hub.Subscription[int] {
	t.Helper()
	s, err := h.Subscribe(&hub.SubscriptionOptions[int]{Overflow: sluice.Block})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// TestStagesOfHub: a subscription is the input of each stage, and a Hub the output.
func TestStagesOfHub(t *testing.T) {
	ctx := t.Context()
	h := hub.New[int](100, nil)
	worked, batched, joined, bridged := subscribe(t, h), subscribe(t, h), subscribe(t, h), subscribe(t, h)
	var all sync.WaitGroup
	var mu sync.Mutex
	sums := make(map[string]int)
	add := func(name string, v int) {
		mu.Lock()
		defer mu.Unlock()
		sums[name] += v
	}
	all.Go(func() {
		err := workers.Run(ctx, worked, 3, func(_ context.Context, v int) error { add("workers", v); return nil }, nil)
		if err != nil {
			t.Errorf("workers.Run: %v", err)
		}
	})
	all.Go(func() {
		batches := batch.Receive(ctx, batched, 7, &batch.Options[int]{Linger: time.Millisecond})
		for vs := range batches.All() {
			for _, v := range vs {
				add("batch", v)
			}
		}
	})
	all.Go(func() {
		out := sluice.NewElastic[int](sluice.Unlimited, nil)
		if v, err := fan.In(ctx, out, joined); v != nil || err != nil {
			t.Errorf("fan.In: %v, %v", v, err)
		}
		out.Close()
		for v := range out.Values(ctx).All() {
			add("fan", v)
		}
	})
	all.Go(func() {
		values, rest := bridge.ToChan(ctx, bridged)
		for v := range values {
			add("bridge", v)
		}
		if left, err := rest(); left != nil || err != nil {
			t.Errorf("bridge.ToChan: %v, %v", left, err)
		}
	})
	source := sluice.NewElastic[int](1000, nil)
	want := 0
	for i := range 1000 {
		want += i
		_ = source.TrySend(i)
	}
	source.Close()
	if err := fan.Out(ctx, source, h); err != nil {
		t.Errorf("Out: %v", err)
	}
	h.Close()
	all.Wait()
	for _, name := range []string{"workers", "batch", "fan", "bridge"} {
		if sums[name] != want {
			t.Errorf("%s: the sum is %d, want %d", name, sums[name], want)
		}
	}
}

// TestStageOfHubEndsEarly: a stage that fails closes its subscription, and the others continue.
func TestStageOfHubEndsEarly(t *testing.T) {
	h := hub.New[int](2, nil)
	failing := subscribe(t, h)
	broken := errors.New("broken")
	result := make(chan error)
	go func() {
		result <- workers.Run(context.Background(), failing, 1, func(context.Context, int) error { return broken }, nil)
	}()
	for i := range 100 {
		if err := h.Send(t.Context(), i); err != nil {
			t.Fatal(err)
		}
	}
	if err := <-result; !errors.Is(err, broken) {
		t.Errorf("Run: %v", err)
	}
	if n := h.Stats().Subscriptions; n != 0 {
		t.Errorf("%d subscriptions are left", n)
	}
}
