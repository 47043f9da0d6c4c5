package sluice_test

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/internal/suite"
	"github.com/sluice-go/sluice/sluicetest"
)

// A laneView is a Sharded with the limit of one lane as its capacity.
type laneView[T any] struct {
	*sluice.Sharded[T]
	limit int // of each lane
	lane  *sluice.Lane[T]
}

type (
	// onLane sends on a private lane.
	onLane[T any] struct{ laneView[T] }
	// onKey sends with always the same key. Its TrySend is a SendKey, so it counts what it rejects.
	onKey[T any] struct {
		laneView[T]
		rejected *atomic.Uint64
	}
)

func (v laneView[T]) Cap() int { return v.limit }

func (v laneView[T]) Stats() sluice.Stats {
	s := v.Sharded.Stats()
	s.Cap = v.limit
	return s
}

func (l onLane[T]) Send(ctx context.Context, v T) error { return l.lane.Send(ctx, v) }
func (l onLane[T]) TrySend(v T) error                   { return l.lane.TrySend(v) }
func (l onLane[T]) SendBatch(ctx context.Context, vs []T) (int, error) {
	return l.lane.SendBatch(ctx, vs)
}

const key = 77

// canceled is made once, because TrySend must not allocate.
var canceled = canceledContext()

func (k onKey[T]) Send(ctx context.Context, v T) error { return k.SendKey(ctx, key, v) }
func (k onKey[T]) TrySend(v T) error {
	err := k.SendKey(canceled, key, v)
	if err == context.Canceled {
		k.rejected.Add(1)
		return sluice.ErrFull
	}
	return err
}

func (k onKey[T]) Stats() sluice.Stats {
	s := k.laneView.Stats()
	s.Rejected += k.rejected.Load()
	return s
}

func (k onKey[T]) SendBatch(ctx context.Context, vs []T) (int, error) {
	for i, v := range vs {
		if err := k.SendKey(ctx, key, v); err != nil {
			return i, err
		}
	}
	return len(vs), nil
}

// sharded describes a Sharded and how the suite sends to it.
type sharded struct {
	limit, lanes int
	overflow     sluice.Overflow
	oneReceiver  bool
	by           string // "" (Send), "lane" or "key"
}

func openSharded[T any](s sharded, onDrop func(T)) sluicetest.Channel[T] {
	c := sluice.NewSharded(s.limit, &sluice.ShardedOptions[T]{
		Lanes:          s.lanes,
		Overflow:       s.overflow,
		OnUndelivered:  dropped(onDrop),
		SingleReceiver: s.oneReceiver,
	})
	switch s.by {
	case "lane":
		return onLane[T]{laneView[T]{c, s.limit, c.Lane()}}
	case "key":
		return onKey[T]{laneView[T]{c, s.limit, nil}, new(atomic.Uint64)}
	}
	return c
}

func (s sharded) kind() sluicetest.Kind {
	k := sluicetest.Kind{
		Capacity:    s.limit,
		OneSender:   s.by == "lane",
		OneReceiver: s.oneReceiver,
		Overflow:    s.overflow,
		MaxBypass:   sluicetest.NoBound,
		Memory:      &sluicetest.Memory{Idle: 16 << 10},
		Numbers:     func(onDrop func(uint64)) sluicetest.Channel[uint64] { return openSharded(s, onDrop) },
		Pointers:    func() sluicetest.Channel[*sluicetest.Parcel] { return openSharded[*sluicetest.Parcel](s, nil) },
		Strings:     func() sluicetest.Channel[string] { return openSharded[string](s, nil) },
		Empties:     func() sluicetest.Channel[struct{}] { return openSharded[struct{}](s, nil) },
		Giants:      func() sluicetest.Channel[sluicetest.Giant] { return openSharded[sluicetest.Giant](s, nil) },
	}
	if s.by == "" {
		k.Capacity = openSharded[int](s, nil).Cap()
		if k.Lanes = cmp.Or(s.lanes, runtime.GOMAXPROCS(0)); k.Lanes > 1 {
			k.Order = sluicetest.AnyOrder
		}
	}
	if s.limit == sluice.Unlimited {
		k.Memory.Drained = 16 << 10
	}
	return k
}

func TestSharded(t *testing.T) {
	for i, s := range []sharded{
		{limit: 2, lanes: 3}, // the first four in full
		{limit: 1000, lanes: 0},
		{limit: 5, lanes: 0, by: "lane"},
		{limit: 5, lanes: 0, by: "key"},
		{limit: 1, lanes: 1},
		{limit: sluice.Unlimited, lanes: 0},
		{limit: 7, lanes: 2, oneReceiver: true},
		{limit: sluice.Unlimited, lanes: 3, by: "lane"},
		{limit: sluice.Unlimited, lanes: 3, by: "key"},
		{limit: 3, lanes: 2, overflow: sluice.Reject, by: "lane"},
		{limit: 3, lanes: 2, overflow: sluice.DropNewest, by: "key"},
		{limit: 3, lanes: 2, overflow: sluice.DropOldest},
	} {
		k := s.kind()
		k.Variant = i >= 4 || !suite.All()
		t.Run(fmt.Sprintf("%+v", s), func(t *testing.T) { sluicetest.Run(t, k) })
	}
}

// TestShardedStatsConsistent: the counters of Stats belong to one moment. A goroutine
// that sends, drops and receives in turn has never dropped more values than it sent.
func TestShardedStatsConsistent(t *testing.T) {
	c := sluice.NewSharded[int](1, &sluice.ShardedOptions[int]{Lanes: 1, Overflow: sluice.DropNewest})
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range 100_000 {
			_, _ = c.TrySend(1), c.TrySend(2)
			_, _ = c.TryRecv()
		}
	}()
	for running := true; running; {
		select {
		case <-done:
			running = false
		default:
		}
		if s := c.Stats(); s.Dropped > s.Sent || s.Sent > s.Dropped+1 {
			t.Fatalf("inconsistent: %+v", s)
		}
	}
}
