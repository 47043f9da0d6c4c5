package hub_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/hub"
	"github.com/sluice-go/sluice/internal/suite"
	"github.com/sluice-go/sluice/sluicetest"
)

// A channel is a Hub with one subscription, for which senders wait: it is a Bounded.
type channel[T any] struct {
	*hub.Subscription[T]
	hub *hub.Hub[T]
}

func newChannel[T any](size, limit int) sluicetest.Channel[T] {
	h := hub.New[T](size, nil)
	s, err := h.Subscribe(&hub.SubscriptionOptions[T]{Capacity: limit, Overflow: sluice.Block})
	if err != nil {
		panic(err)
	}
	return channel[T]{s, h}
}

func (c channel[T]) Send(ctx context.Context, v T) error { return c.hub.Send(ctx, v) }
func (c channel[T]) TrySend(v T) error                   { return c.hub.TrySend(v) }
func (c channel[T]) SendBatch(ctx context.Context, vs []T) (int, error) {
	return c.hub.SendBatch(ctx, vs)
}
func (c channel[T]) Close() { c.hub.Close() }

// Stats adds up both ends.
func (c channel[T]) Stats() sluice.Stats {
	sent, s := c.hub.Stats(), c.Subscription.Stats()
	s.SendWaits, s.SendWaitTime = sent.SendWaits, sent.SendWaitTime
	s.Rejected, s.SendersWaiting, s.OldestSender = sent.Rejected, sent.SendersWaiting, sent.OldestSender
	return s
}

// TestConformance: a Hub with one subscription is a channel.
func TestConformance(t *testing.T) {
	for _, size := range [][2]int{{1, 1}, {2, 2}, {3, 3}, {16, 2}, {16, 16}, {1000, 100}} {
		t.Run(fmt.Sprint("Block ", size[0], " ", size[1]), func(t *testing.T) {
			sluicetest.Run(t, sluicetest.Kind{
				Capacity:  size[1],
				MaxBypass: sluicetest.NoBound,
				Keeps:     2 * size[0],
				Variant:   !suite.All(),
				Numbers:   func(func(uint64)) sluicetest.Channel[uint64] { return newChannel[uint64](size[0], size[1]) },
				Pointers: func() sluicetest.Channel[*sluicetest.Parcel] {
					return newChannel[*sluicetest.Parcel](size[0], size[1])
				},
				Strings: func() sluicetest.Channel[string] { return newChannel[string](size[0], size[1]) },
				Empties: func() sluicetest.Channel[struct{}] { return newChannel[struct{}](size[0], size[1]) },
				Giants:  func() sluicetest.Channel[sluicetest.Giant] { return newChannel[sluicetest.Giant](size[0], size[1]) },
			})
		})
	}
}
