package sluice_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-go/sluice"
)

// A discarder is a channel of any kind.
type discarder interface {
	sluice.Channel[int]
	Discard() int
}

// hooked returns a channel of each kind with a limit of 4 values, the given policy and hook.
func hooked(overflow sluice.Overflow, hook func(int, sluice.Reason)) map[string]discarder {
	return map[string]discarder{
		"Rendezvous": sluice.NewRendezvous(&sluice.RendezvousOptions[int]{Overflow: overflow, OnUndelivered: hook}),
		"Bounded 4":  sluice.NewBounded(4, &sluice.BoundedOptions[int]{Overflow: overflow, OnUndelivered: hook}),
		"Bounded 0":  sluice.NewBounded(0, &sluice.BoundedOptions[int]{Overflow: overflow, OnUndelivered: hook}),
		"Elastic":    sluice.NewElastic(4, &sluice.ElasticOptions[int]{Overflow: overflow, OnUndelivered: hook}),
		"one to one": sluice.NewElastic(4, &sluice.ElasticOptions[int]{Overflow: overflow, OnUndelivered: hook, SingleSender: true, SingleReceiver: true}),
		"aged":       sluice.NewAged(4, &sluice.AgedOptions[int]{Overflow: overflow, OnUndelivered: hook, MaxAge: time.Hour}),
		"in bytes": sluice.NewElastic(4, &sluice.ElasticOptions[int]{Overflow: overflow, OnUndelivered: hook,
			MaxBytes: 100, Size: func(int) int { return 1 }}),
		"Sharded":  sluice.NewSharded(4, &sluice.ShardedOptions[int]{Overflow: overflow, OnUndelivered: hook, Lanes: 1}),
		"Priority": sluice.NewPriority(1, 4, &sluice.PriorityOptions[int]{Overflow: overflow, OnUndelivered: hook}),
		"Delay": sluice.NewDelay(4, &sluice.DelayOptions[int]{Overflow: overflow, OnUndelivered: hook,
			DueAt: func(v int) time.Time { return time.Now().Add(time.Duration(v) * time.Hour) }}),
	}
}

// TestDiscard: each kind gives the values that are queued to OnUndelivered, and is closed, for
// senders that wait, too.
func TestDiscard(t *testing.T) {
	for name := range hooked(sluice.Block, nil) {
		synctest.Test(t, func(t *testing.T) {
			var got, want []string
			c := hooked(sluice.Block, func(v int, why sluice.Reason) { got = append(got, fmt.Sprint(v, " ", why)) })[name]
			for v := range c.Cap() {
				if err := c.TrySend(v); err != nil {
					t.Fatalf("%s: TrySend: %v", name, err)
				}
				want = append(want, fmt.Sprint(v, " Discarded"))
			}
			sent := make(chan error)
			go func() { sent <- c.Send(t.Context(), 100) }()
			synctest.Wait()
			if n := c.Discard(); n != c.Cap() || !slices.Equal(got, want) {
				t.Errorf("%s: Discard returned %d, OnUndelivered got %q, want %q", name, n, got, want)
			}
			if err := <-sent; err != sluice.ErrClosed {
				t.Errorf("%s: a sender that waited: %v", name, err)
			}
			if _, err := c.Recv(t.Context()); err != sluice.ErrClosed || c.Discard() != 0 || len(got) != len(want) {
				t.Errorf("%s: after Discard: %v, OnUndelivered got %q", name, err, got)
			}
			if s := c.Stats(); s.Len != 0 || !s.Closed || s.Received != uint64(len(want)) {
				t.Errorf("%s: after Discard: %+v", name, s)
			}
		})
	}
}

// TestDiscardWithoutHook: Discard of a channel without options, and of one that was closed.
func TestDiscardWithoutHook(t *testing.T) {
	for name, c := range eachKind() {
		n := min(c.Cap(), 5)
		for v := range n {
			_ = c.TrySend(v)
		}
		c.Close()
		if got := c.(discarder).Discard(); got != n {
			t.Errorf("%s: Discard returned %d, want %d", name, got, n)
		}
		if _, err := c.TryRecv(); err != sluice.ErrClosed {
			t.Errorf("%s: TryRecv after Discard: %v", name, err)
		}
	}
}

// TestUndeliveredOverflow: OnUndelivered gets what the policy drops.
func TestUndeliveredOverflow(t *testing.T) {
	for policy, want := range map[sluice.Overflow]string{
		sluice.DropNewest: "[4 Overflowed 5 Overflowed]", sluice.DropOldest: "[0 Overflowed 1 Overflowed]",
		sluice.Reject: "[]", sluice.Block: "[]",
	} {
		var got []string
		hook := func(v int, why sluice.Reason) { got = append(got, fmt.Sprint(v, " ", why)) }
		for name, c := range map[string]discarder{
			"Bounded": sluice.NewBounded(4, &sluice.BoundedOptions[int]{Overflow: policy, OnUndelivered: hook}),
			"Elastic": sluice.NewElastic(4, &sluice.ElasticOptions[int]{Overflow: policy, OnUndelivered: hook, SingleSender: true}),
			"aged":    sluice.NewAged(4, &sluice.AgedOptions[int]{Overflow: policy, OnUndelivered: hook, StaleAfter: 1}),
			"Sharded": sluice.NewSharded(4, &sluice.ShardedOptions[int]{Overflow: policy, OnUndelivered: hook, Lanes: 1}),
		} {
			got = nil
			for v := range 6 {
				_ = c.TrySend(v)
			}
			if fmt.Sprint(got) != want {
				t.Errorf("%s, %v: OnUndelivered got %v, want %v", name, policy, got, want)
			}
		}
	}
	var got []string
	p := sluice.NewPriority(2, 1, &sluice.PriorityOptions[int]{Overflow: sluice.DropLeastUrgent,
		OnUndelivered: func(v int, why sluice.Reason) { got = append(got, fmt.Sprint(v, " ", why)) }})
	_, _ = p.TrySend(1), p.Level(0).TrySend(2)
	if fmt.Sprint(got) != "[1 Overflowed]" {
		t.Errorf("Priority: OnUndelivered got %v", got)
	}
}

// TestDiscardSharded: the values of all lanes are discarded.
func TestDiscardSharded(t *testing.T) {
	var got []int
	c := sluice.NewSharded(4, &sluice.ShardedOptions[int]{OnUndelivered: func(v int, _ sluice.Reason) { got = append(got, v) }})
	lane := c.Lane()
	_, _, _ = c.TrySend(1), lane.TrySend(2), c.SendKey(t.Context(), 7, 3)
	n := c.Discard()
	if slices.Sort(got); n != 3 || !slices.Equal(got, []int{1, 2, 3}) || lane.TrySend(4) != sluice.ErrClosed {
		t.Errorf("Discard returned %d, OnUndelivered got %v", n, got)
	}
}

// TestDiscardStorm: while goroutines send and receive, each value that was sent is received or
// discarded, exactly once.
func TestDiscardStorm(t *testing.T) {
	for range 50 {
		var mu sync.Mutex
		var counts map[int]int
		count := func(v int, _ sluice.Reason) {
			mu.Lock()
			defer mu.Unlock()
			counts[v]++
		}
		for name := range hooked(sluice.Block, nil) {
			if name == "one to one" {
				continue // it has one sender and one receiver
			}
			counts = map[int]int{}
			c := hooked(sluice.Block, count)[name]
			if name == "Delay" {
				c = sluice.NewDelay(4, &sluice.DelayOptions[int]{OnUndelivered: count})
			}
			var group sync.WaitGroup
			var sent sync.Map
			for s := range 3 {
				group.Go(func() {
					for v := s * 1000; c.Send(context.Background(), v) == nil; v++ {
						sent.Store(v, true)
					}
				})
			}
			group.Go(func() {
				for range 100 {
					if v, err := c.Recv(context.Background()); err == nil {
						count(v, 0)
					}
				}
			})
			group.Go(func() {
				for range 50 {
					if v, err := c.Recv(context.Background()); err == nil {
						count(v, 0)
					}
				}
				c.Discard()
			})
			group.Wait()
			total := 0
			sent.Range(func(v, _ any) bool {
				if total++; counts[v.(int)] != 1 {
					t.Errorf("%s: %d was seen %d times", name, v, counts[v.(int)])
				}
				return true
			})
			if total != len(counts) {
				t.Errorf("%s: %d sent, %d received or discarded", name, total, len(counts))
			}
		}
	}
}

func TestReason(t *testing.T) {
	if got := fmt.Sprint(sluice.Overflowed, sluice.TooOld, sluice.Discarded, sluice.Reason(9)); got != "Overflowed TooOld Discarded Reason(9)" {
		t.Error(got)
	}
}
