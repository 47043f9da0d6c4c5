package stage_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/hub"
)

// hubEndings are the rows of the table of a Hub: how a subscription with these options, which has
// two values queued and room for no more, ends while a sender has a third one.
var hubEndings = []struct {
	name    string
	options hub.SubscriptionOptions[int]
	end     func(*hub.Hub[int], *hub.Subscription[int], context.CancelFunc)
}{
	{"`Hub.Close`", hub.SubscriptionOptions[int]{Overflow: sluice.Block}, func(h *hub.Hub[int], _ *hub.Subscription[int], _ context.CancelFunc) { h.Close() }},
	{"`Subscription.Close`", hub.SubscriptionOptions[int]{Overflow: sluice.Block}, func(_ *hub.Hub[int], s *hub.Subscription[int], _ context.CancelFunc) { s.Close() }},
	{"`Evict`", hub.SubscriptionOptions[int]{Overflow: sluice.Evict}, nil},
	{"`EvictAfter`", hub.SubscriptionOptions[int]{Overflow: sluice.Block, EvictAfter: time.Minute}, nil},
	{"`Send` is canceled", hub.SubscriptionOptions[int]{Overflow: sluice.Block}, func(_ *hub.Hub[int], _ *hub.Subscription[int], cancel context.CancelFunc) { cancel() }},
}

// TestHubEndings compares what happens at each end of a subscription with the table of the
// document.
func TestHubEndings(t *testing.T) {
	text, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	var observed []string
	for _, e := range hubEndings {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			h := hub.New[int](4, nil)
			e.options.Capacity = 2
			s, _ := h.Subscribe(&e.options)
			other, _ := h.Subscribe(&hub.SubscriptionOptions[int]{Overflow: sluice.DropOldest})
			for _, v := range []int{1, 2} {
				if err := h.TrySend(v); err != nil {
					t.Fatal(err)
				}
			}
			result := make(chan error, 1)
			go func() { result <- h.Send(ctx, 3) }()
			time.Sleep(time.Second)
			if e.end != nil {
				e.end(h, s, cancel)
			}
			sent := <-result
			observed = append(observed, hubRow(t, e.name, s, other, sent))
			h.Close()
		})
	}
	compare(t, string(text), "A hub", observed)
}

// hubRow renders what became of the two values that s had, of the third one, which was sent or
// not, and of another subscription.
func hubRow(t *testing.T, name string, s, other *hub.Subscription[int], sent error) string {
	outcome := func(err error) string {
		switch {
		case errors.Is(err, sluice.ErrClosed):
			return "`ErrClosed`"
		case errors.Is(err, hub.ErrEvicted):
			return "`ErrEvicted`"
		case errors.Is(err, context.Canceled):
			return "the context's error"
		case err == nil || err == sluice.ErrEmpty:
			return "continue"
		}
		return err.Error()
	}
	queued := "arrive"
	if n := s.Stats().Dropped; n > 0 {
		queued = "are counted in `Dropped`"
	}
	if got := len(slices.Collect(s.Drain())); (got == 2) != (queued == "arrive") {
		t.Errorf("%s: %d values arrived, %d were dropped", name, got, s.Stats().Dropped)
	}
	_, err := s.TryRecv()
	want := []int{1, 2}
	if sent == nil {
		want = append(want, 3)
	}
	if got := slices.Collect(other.Drain()); !slices.Equal(got, want) {
		t.Errorf("%s: another subscription received %v, want %v", name, got, want)
	}
	_, others := other.TryRecv()
	return fmt.Sprintf("| %s | %s | %s | %s | %s |", name, queued, outcome(sent), outcome(err), outcome(others))
}
