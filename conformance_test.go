package sluice_test

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/internal/suite"
	"github.com/sluice-go/sluice/sluicetest"
)

// A shape describes a channel of this package, except for its element type.
type shape struct {
	kind        string // "Elastic" and so on; "": a Bounded, or a Rendezvous without capacity
	capacity    int    // or limit
	overflow    sluice.Overflow
	shrink      sluice.ShrinkMode
	oneSender   bool
	oneReceiver bool

	bytes  bool          // of an Elastic: limited in bytes too; each value is 1 byte, the limit is capacity
	sizes  bool          // of an Elastic: limited in bytes too; a value is 0 to 4 bytes, the limit is capacity+1
	lanes  int           // of a Sharded
	by     string        // of a Sharded: how it sends: "" (Send), "lane" or "key"
	levels int           // of a Priority
	spread bool          // of a Priority: values are spread over the levels, otherwise on the last one
	dueAt  bool          // of a Delay: its option returns a time that has passed
	maxAge time.Duration // of an Aged
	stale  time.Duration // of an Aged: StaleAfter
}

// String returns the fields that are set.
func (s shape) String() string {
	words := []string{cmp.Or(s.kind, "Bounded"), fmt.Sprint(s.capacity), s.overflow.String()}
	if s.capacity == sluice.Unlimited {
		words[1] = "Unlimited"
	}
	add := func(set bool, word ...any) {
		if set {
			words = append(words, fmt.Sprint(word...))
		}
	}
	add(s.shrink != 0, s.shrink)
	add(s.oneSender, "SingleSender")
	add(s.oneReceiver, "SingleReceiver")
	add(s.bytes, "bytes")
	add(s.sizes, "sizes")
	add(s.lanes > 0, s.lanes, " lanes")
	add(s.by != "", "by ", s.by)
	add(s.levels > 0, s.levels, " levels")
	add(s.spread, "spread")
	add(s.dueAt, "DueAt")
	add(s.maxAge > 0, "MaxAge ", s.maxAge)
	add(s.stale > 0, "StaleAfter ", s.stale)
	return strings.Join(words, " ")
}

// open returns a new channel of shape s.
func open[T any](s shape, onDrop func(T)) sluicetest.Channel[T] {
	undelivered := dropped(onDrop)
	switch s.kind {
	case "Elastic":
		o := &sluice.ElasticOptions[T]{
			Overflow: s.overflow, OnUndelivered: undelivered, SingleSender: s.oneSender, SingleReceiver: s.oneReceiver,
			Shrink: s.shrink,
		}
		if s.bytes {
			o.MaxBytes = int64(s.capacity)
			o.Size = func(T) int { return 1 }
		}
		if s.sizes {
			o.MaxBytes = int64(s.capacity) + 1
			o.Size = func(v T) int { return sizeOf(any(v).(uint64)) }
		}
		return sluice.NewElastic(s.capacity, o)
	case "Sharded":
		return byLane(s, sluice.NewSharded(s.capacity, &sluice.ShardedOptions[T]{
			Overflow: s.overflow, OnUndelivered: undelivered, Lanes: s.lanes, SingleReceiver: s.oneReceiver,
		}))
	case "Priority":
		o := &sluice.PriorityOptions[T]{Overflow: s.overflow, OnUndelivered: undelivered}
		if s.spread {
			o.LevelOf = func(v T) int {
				n, _ := any(v).(uint64)
				return int(n * 7 % uint64(s.levels))
			}
		}
		return sluice.NewPriority(s.levels, s.capacity, o)
	case "Delay":
		o := &sluice.DelayOptions[T]{Overflow: s.overflow, OnUndelivered: undelivered}
		if s.dueAt {
			o.DueAt = func(T) time.Time { return time.Time{} }
		}
		return sluice.NewDelay(s.capacity, o)
	case "Aged":
		return sluice.NewAged(s.capacity, &sluice.AgedOptions[T]{
			Overflow: s.overflow, OnUndelivered: undelivered, MaxAge: s.maxAge, StaleAfter: s.stale, Shrink: s.shrink,
		})
	}
	o := &sluice.BoundedOptions[T]{
		Overflow: s.overflow, OnUndelivered: undelivered, SingleSender: s.oneSender, SingleReceiver: s.oneReceiver,
	}
	if s.capacity > 0 {
		return sluice.NewBounded(s.capacity, o)
	}
	return sluice.NewRendezvous((*sluice.RendezvousOptions[T])(o))
}

// sizeOf returns the size of a value in a shape with sizes.
func sizeOf(v uint64) int { return int(v * 7 % 5) }

// A laneView is a Sharded with the limit of one lane as its capacity, which sends on a private lane,
// or always with the same key. Its TrySend with a key is a SendKey, so it counts what it rejects.
type laneView[T any] struct {
	*sluice.Sharded[T]
	limit    int
	send     func(context.Context, T) error
	rejected atomic.Uint64
	lane     *sluice.Lane[T] // nil with a key
}

// byLane returns c as s sends to it.
func byLane[T any](s shape, c *sluice.Sharded[T]) sluicetest.Channel[T] {
	switch s.by {
	case "lane":
		lane := c.Lane()
		return &laneView[T]{Sharded: c, limit: s.capacity, send: lane.Send, lane: lane}
	case "key":
		send := func(ctx context.Context, v T) error { return c.SendKey(ctx, 77, v) }
		return &laneView[T]{Sharded: c, limit: s.capacity, send: send}
	}
	return c
}

// canceled is made once, because TrySend must not allocate.
var canceled = canceledContext()

func (l *laneView[T]) Send(ctx context.Context, v T) error { return l.send(ctx, v) }

func (l *laneView[T]) TrySend(v T) error {
	if l.lane != nil {
		return l.lane.TrySend(v)
	}
	err := l.send(canceled, v)
	if err == context.Canceled {
		l.rejected.Add(1)
		return sluice.ErrFull
	}
	return err
}

func (l *laneView[T]) SendBatch(ctx context.Context, vs []T) (int, error) {
	if l.lane != nil {
		return l.lane.SendBatch(ctx, vs)
	}
	for i, v := range vs {
		if err := l.send(ctx, v); err != nil {
			return i, err
		}
	}
	return len(vs), nil
}

func (l *laneView[T]) Cap() int { return l.limit }

func (l *laneView[T]) Stats() sluice.Stats {
	s := l.Sharded.Stats()
	s.Cap = l.limit
	s.Rejected += l.rejected.Load()
	return s
}

const (
	// bargingCapacity is the capacity from which a Bounded allows barging, as an
	// Elastic does.
	bargingCapacity = 16
	// maxBypass is how often barging may pass over a parked goroutine before the
	// channel serves that goroutine first.
	maxBypass = 32

	// No test of the suite lasts for as long as a long age, and in the tests with a short one
	// nearly every value is stale.
	longAge, shortAge = 10_000 * time.Hour, 1
)

// conforming returns what the suite expects of a channel of shape s.
func (s shape) conforming() sluicetest.Kind {
	k := sluicetest.Kind{
		Capacity:    s.capacity,
		Overflow:    s.overflow,
		OneSender:   s.oneSender || s.by == "lane",
		OneReceiver: s.oneReceiver,
		MaxBypass:   maxBypass,
		Memory:      s.memory(),
		Numbers:     func(onDrop func(uint64)) sluicetest.Channel[uint64] { return open(s, onDrop) },
		Pointers:    func() sluicetest.Channel[*sluicetest.Parcel] { return open[*sluicetest.Parcel](s, nil) },
		Strings:     func() sluicetest.Channel[string] { return open[string](s, nil) },
		Empties:     func() sluicetest.Channel[struct{}] { return open[struct{}](s, nil) },
		Giants:      func() sluicetest.Channel[sluicetest.Giant] { return open[sluicetest.Giant](s, nil) },
	}
	switch {
	case s.kind == "" && s.capacity < bargingCapacity, s.bytes && s.overflow != sluice.Reject:
		k.MaxBypass = 0
	case s.kind == "Sharded":
		k.MaxBypass = sluicetest.NoBound
		if s.by == "" {
			k.Capacity = open[uint64](s, nil).Cap()
			k.Lanes = cmp.Or(s.lanes, runtime.GOMAXPROCS(0))
		}
	}
	if k.Lanes > 1 || s.spread || s.stale == shortAge {
		k.Order = sluicetest.AnyOrder
	}
	return k
}

// memory returns the shape's limits: a Bounded allocates its slots, an Elastic little
// more than its queued values. A limit of bytes has its own account.
func (s shape) memory() *sluicetest.Memory {
	m := new(sluicetest.Memory)
	switch s.kind {
	case "":
		m.Idle = 1024 + 8*float64(s.capacity)
	case "Elastic":
		m.Idle = 1024
		if s.bytes {
			m.Idle += 256
		}
		m.Queued, m.QueuedPeak, m.Drained = 8.5, 9.5, 4096
	case "Sharded":
		m.Idle, m.Drained = 16<<10, 16<<10
	case "Priority":
		m.Idle = float64(1024 + 512*s.levels)
		m.Queued, m.QueuedPeak, m.Drained = 17, 26, float64(4096+1024*8*s.levels)
	case "Delay":
		m.Idle = 2048
	case "Aged":
		m.Idle = 2048
		m.Queued, m.QueuedPeak, m.Drained = 34, 52, 40<<10
	}
	if s.capacity != sluice.Unlimited {
		m.Queued, m.QueuedPeak, m.Drained = 0, 0, 0
	}
	if s.shrink == sluice.NoShrink {
		m.Drained = 0
	}
	return m
}

// inFull are the shapes that the suite runs in full if every test runs: one for each way in which this
// package's code differs. Without SLUICE_TEST=all it runs only these, with fewer rounds.
var inFull = []shape{
	{}, {capacity: 3}, {capacity: 3, overflow: sluice.DropOldest},
	{capacity: 16, oneSender: true}, {capacity: 1024}, {capacity: 1024, oneSender: true, oneReceiver: true},

	{kind: "Elastic", capacity: 5, oneSender: true, oneReceiver: true},
	{kind: "Elastic", capacity: sluice.Unlimited},
	{kind: "Elastic", capacity: 5, bytes: true},
	{kind: "Elastic", capacity: 5, bytes: true, overflow: sluice.Reject, oneSender: true, oneReceiver: true},
	{kind: "Elastic", capacity: 5, overflow: sluice.DropOldest},

	{kind: "Sharded", capacity: 2, lanes: 3}, {kind: "Sharded", capacity: 1000},
	{kind: "Sharded", capacity: 5, by: "lane"}, {kind: "Sharded", capacity: 5, by: "key"},

	{kind: "Priority", capacity: 3, levels: 4}, {kind: "Priority", capacity: 3, levels: 4, spread: true},

	{kind: "Delay", capacity: 3, dueAt: true},

	{kind: "Aged", capacity: sluice.Unlimited, maxAge: longAge}, {kind: "Aged", capacity: 3, stale: shortAge},
}

// variants are the other shapes. Both lists cover the pairs of parameters that meet in the code, not all
// combinations. A Bounded below bargingCapacity and an Elastic with a limit in bytes have one lock, to
// which promises make no difference. For the others each promise is its own code, and capacity is only
// a bound. Shrink matters if there are several segments.
var variants = []shape{
	{oneSender: true, oneReceiver: true}, {overflow: sluice.Reject}, {overflow: sluice.DropNewest},

	{capacity: 1}, {capacity: 8, oneSender: true, oneReceiver: true},
	{capacity: 16}, {capacity: 16, oneReceiver: true}, {capacity: 16, oneSender: true, oneReceiver: true},
	{capacity: 1, overflow: sluice.Reject}, {capacity: 128, overflow: sluice.Reject},
	{capacity: 3, overflow: sluice.DropNewest}, {capacity: 128, overflow: sluice.DropNewest},
	{capacity: 1, overflow: sluice.DropOldest}, {capacity: 128, overflow: sluice.DropOldest},
	{capacity: 3, overflow: sluice.DropOldest, oneSender: true, oneReceiver: true},
	{capacity: 128, overflow: sluice.DropOldest, oneSender: true, oneReceiver: true},

	{kind: "Elastic", capacity: 1}, {kind: "Elastic", capacity: 5}, {kind: "Elastic", capacity: 1000},
	{kind: "Elastic", capacity: 1000, shrink: sluice.ShrinkEmpty},
	{kind: "Elastic", capacity: 1 << 30, shrink: sluice.NoShrink},
	{kind: "Elastic", capacity: sluice.Unlimited, shrink: sluice.ShrinkEmpty},
	{kind: "Elastic", capacity: sluice.Unlimited, shrink: sluice.NoShrink},
	{kind: "Elastic", capacity: 5, oneSender: true}, {kind: "Elastic", capacity: 5, oneReceiver: true},
	{kind: "Elastic", capacity: 1 << 30, oneSender: true, oneReceiver: true},
	{kind: "Elastic", capacity: 5, overflow: sluice.Reject}, {kind: "Elastic", capacity: 500, overflow: sluice.DropNewest},
	{kind: "Elastic", capacity: 500, overflow: sluice.DropOldest},
	{kind: "Elastic", capacity: 1, bytes: true}, {kind: "Elastic", capacity: 1000, bytes: true},
	{kind: "Elastic", capacity: 5, bytes: true, overflow: sluice.DropNewest},
	{kind: "Elastic", capacity: 5, bytes: true, overflow: sluice.DropOldest},
	{kind: "Elastic", capacity: 500, bytes: true, overflow: sluice.Reject},

	{kind: "Sharded", capacity: 1, lanes: 1}, {kind: "Sharded", capacity: sluice.Unlimited},
	{kind: "Sharded", capacity: 7, lanes: 2, oneReceiver: true},
	{kind: "Sharded", capacity: sluice.Unlimited, lanes: 3, by: "lane"},
	{kind: "Sharded", capacity: sluice.Unlimited, lanes: 3, by: "key"},
	{kind: "Sharded", capacity: 3, lanes: 2, overflow: sluice.Reject, by: "lane"},
	{kind: "Sharded", capacity: 3, lanes: 2, overflow: sluice.DropNewest, by: "key"},
	{kind: "Sharded", capacity: 3, lanes: 2, overflow: sluice.DropOldest},

	{kind: "Priority", capacity: sluice.Unlimited, levels: 4}, {kind: "Priority", capacity: 1, levels: 1},
	{kind: "Priority", capacity: 1024, levels: 64}, {kind: "Priority", capacity: 64, levels: 4, spread: true},
	{kind: "Priority", capacity: sluice.Unlimited, levels: 3, spread: true},
	{kind: "Priority", capacity: 1, levels: 4, overflow: sluice.Reject},
	{kind: "Priority", capacity: 100, levels: 4, overflow: sluice.Reject, spread: true},
	{kind: "Priority", capacity: 3, levels: 4, overflow: sluice.DropNewest},

	{kind: "Delay", capacity: sluice.Unlimited}, {kind: "Delay", capacity: 1}, {kind: "Delay", capacity: 64},
	{kind: "Delay", capacity: 3, overflow: sluice.Reject}, {kind: "Delay", capacity: 100, overflow: sluice.DropNewest},

	{kind: "Aged", capacity: 1, maxAge: longAge}, {kind: "Aged", capacity: 64, maxAge: longAge, stale: longAge / 2},
	{kind: "Aged", capacity: sluice.Unlimited, maxAge: longAge, shrink: sluice.ShrinkEmpty},
	{kind: "Aged", capacity: sluice.Unlimited, stale: shortAge, shrink: sluice.NoShrink},
	{kind: "Aged", capacity: 3, maxAge: longAge, overflow: sluice.Reject},
	{kind: "Aged", capacity: 100, maxAge: longAge, stale: shortAge, overflow: sluice.DropNewest},
	{kind: "Aged", capacity: 1, maxAge: longAge, overflow: sluice.DropOldest},
	{kind: "Aged", capacity: 100, maxAge: longAge, stale: longAge / 2, overflow: sluice.DropOldest},
	{kind: "Aged", capacity: 5, stale: shortAge, overflow: sluice.DropNewest},
}

// conform runs the suite against the shapes, with what change makes of the channels.
func conform(t *testing.T, inFull, variants []shape, change func(*sluicetest.Kind)) {
	for i, s := range append(inFull[:len(inFull):len(inFull)], variants...) {
		t.Run(s.String(), func(t *testing.T) {
			k := s.conforming()
			if k.Variant = true; i < len(inFull) {
				k.Variant = !suite.All()
			} else {
				suite.Needs(t, "more shapes than one for each way in which the code differs")
			}
			change(&k)
			sluicetest.Run(t, k)
		})
	}
}

// TestConformance: every kind keeps the guarantees of Channel.
func TestConformance(t *testing.T) {
	conform(t, inFull, variants, func(*sluicetest.Kind) {})
}

// TestSelectConforms: a Select keeps every guarantee of Send and Recv except for the
// bound on barging.
func TestSelectConforms(t *testing.T) {
	conform(t, []shape{ // one for each way to wait
		{}, {capacity: 16, oneSender: true, oneReceiver: true}, {kind: "Elastic", capacity: 5, bytes: true},
		{kind: "Sharded", capacity: 2, lanes: 2}, {kind: "Aged", capacity: 3, maxAge: longAge},
	}, []shape{
		{capacity: 1}, {capacity: 3, oneSender: true, oneReceiver: true}, {capacity: 3, overflow: sluice.DropOldest},
		{capacity: 128}, {kind: "Elastic", capacity: sluice.Unlimited},
	}, func(k *sluicetest.Kind) {
		if k.MaxBypass != 0 {
			k.MaxBypass = sluicetest.NoBound
		}
		k.Allocates, k.Memory = true, nil // each call makes its cases
		plain := *k
		k.Numbers = func(onDrop func(uint64)) sluicetest.Channel[uint64] { return newSelecting(plain.Numbers(onDrop)) }
		k.Pointers = func() sluicetest.Channel[*sluicetest.Parcel] { return newSelecting(plain.Pointers()) }
		k.Strings = func() sluicetest.Channel[string] { return newSelecting(plain.Strings()) }
		k.Empties = func() sluicetest.Channel[struct{}] { return newSelecting(plain.Empties()) }
		k.Giants = func() sluicetest.Channel[sluicetest.Giant] { return newSelecting(plain.Giants()) }
	})
}

// selecting is a channel whose Send and Recv are Selects over the channel itself and
// over channels that stay idle.
type selecting[T any] struct {
	sluicetest.Channel[T]
	rendezvous *sluice.Rendezvous[T]
	elastic    *sluice.Elastic[T]
}

func newSelecting[T any](c sluicetest.Channel[T]) sluicetest.Channel[T] {
	return &selecting[T]{c, sluice.NewRendezvous[T](nil), sluice.NewElastic[T](1, nil)}
}

func (c *selecting[T]) withIdle(own sluice.Case) []sluice.Case {
	return []sluice.Case{sluice.OnRecv(c.rendezvous), own, sluice.OnRecv(c.elastic), sluice.OnRecv(c.rendezvous)}
}

func (c *selecting[T]) Send(ctx context.Context, v T) error {
	_, err := sluice.Select(ctx, c.withIdle(sluice.OnSend(c.Channel, v))...)
	return err
}

func (c *selecting[T]) Recv(ctx context.Context) (T, error) {
	in := sluice.OnRecv(c.Channel)
	_, err := sluice.Select(ctx, c.withIdle(in)...)
	return in.Value, err
}
