package inspect_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/inspect"
)

// wantAges checks the ages of the waiters on one side, in seconds.
func wantAges(t *testing.T, side string, got []time.Duration, oldest time.Duration, want ...int) {
	t.Helper()
	var ages []time.Duration
	for _, s := range want {
		ages = append(ages, time.Duration(s)*time.Second)
	}
	if !slices.Equal(got, ages) || oldest != append(ages, 0)[0] {
		t.Errorf("ages of %s: %v, oldest %v, want %v", side, got, oldest, ages)
	}
}

// TestSnapshotWaiters: a snapshot lists every waiter on both sides, in a Select or not,
// with the age of its current wait.
func TestSnapshotWaiters(t *testing.T) {
	eachKind(t, func(t *testing.T, c sluice.Channel[int], listed inspect.Channel) {
		ctx := context.Background()
		send := func() { _ = c.Send(ctx, 1) }
		recv := func() { _, _ = c.Recv(ctx) }
		choose := func(cases ...sluice.Case) func() { return func() { _, _ = sluice.Select(ctx, cases...) } }
		empty := sluice.NewBounded[int](20, nil)
		toSend := choose(sluice.OnRecv(empty), sluice.OnSend(c, 1)) // used in both rounds
		toReceive := choose(sluice.OnRecv[int](c), sluice.OnRecv(empty))
		for round := range 2 {
			for _, f := range []func(){recv, toReceive, recv} {
				go f()
				synctest.Wait()
				time.Sleep(time.Second)
			}
			snapshot := snapshotOf(t, listed)
			wantAges(t, "receivers", snapshot.Receivers, snapshot.Stats.OldestReceiver, 3, 2, 1)
			wantAges(t, "senders", snapshot.Senders, snapshot.Stats.OldestSender)
			time.Sleep(time.Hour)
			for range 3 {
				send()
				synctest.Wait()
			}
			snapshot = snapshotOf(t, listed)
			wantAges(t, "receivers", snapshot.Receivers, snapshot.Stats.OldestReceiver)
			for c.TrySend(0) == nil {
			}
			for _, f := range []func(){send, toSend, send} {
				go f()
				synctest.Wait()
				time.Sleep(time.Second)
			}
			snapshot = snapshotOf(t, listed)
			wantAges(t, "senders", snapshot.Senders, snapshot.Stats.OldestSender, 3, 2, 1)
			wantAges(t, "receivers", snapshot.Receivers, snapshot.Stats.OldestReceiver)
			time.Sleep(time.Hour)
			for _, err := c.TryRecv(); err == nil; _, err = c.TryRecv() {
				synctest.Wait()
			}
			snapshot = snapshotOf(t, listed)
			wantAges(t, "senders", snapshot.Senders, snapshot.Stats.OldestSender)
			if t.Failed() {
				t.Fatalf("round %d", round)
			}
		}
	})
}

// TestSnapshotCanceledWaiter: a waiter whose context is done leaves the list, and the
// waiters behind it keep their ages.
func TestSnapshotCanceledWaiter(t *testing.T) {
	eachKind(t, func(t *testing.T, c sluice.Channel[int], listed inspect.Channel) {
		for i := range 3 {
			ctx, cancel := context.WithTimeout(context.Background(), time.Duration(10+10*i)*time.Second)
			defer cancel()
			go func() { _, _ = c.Recv(ctx) }()
			synctest.Wait()
			time.Sleep(time.Second)
		}
		time.Sleep(8 * time.Second)
		snapshot := snapshotOf(t, listed)
		wantAges(t, "receivers", snapshot.Receivers, snapshot.Stats.OldestReceiver, 10, 9)
		time.Sleep(time.Minute)
		snapshot = snapshotOf(t, listed)
		wantAges(t, "receivers", snapshot.Receivers, snapshot.Stats.OldestReceiver)
	})
}

// TestSnapshotLimitsWaiters: a snapshot lists the 64 oldest waiters; Stats counts all.
func TestSnapshotLimitsWaiters(t *testing.T) {
	eachKind(t, func(t *testing.T, c sluice.Channel[int], listed inspect.Channel) {
		const many = 150
		for c.TrySend(0) == nil {
		}
		for range many {
			go func() { _ = c.Send(context.Background(), 1) }()
			synctest.Wait()
			time.Sleep(time.Second)
		}
		snapshot := snapshotOf(t, listed)
		if len(snapshot.Senders) != 64 || snapshot.Stats.SendersWaiting != many || snapshot.Senders[63] != (many-63)*time.Second {
			t.Errorf("%d of %d senders are listed: %v", len(snapshot.Senders), snapshot.Stats.SendersWaiting, snapshot.Senders)
		}
	})
}

// TestSnapshotMergesQueues: a snapshot merges the waiters of several wait queues, the
// oldest first.
func TestSnapshotMergesQueues(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const each = 30
		name := unique(t)
		c := sluice.NewSharded(1, &sluice.ShardedOptions[int]{Name: name, Lanes: 2})
		for c.TrySend(0) == nil {
		}
		for i := range 3 * each {
			go func() {
				if i%3 == 0 {
					_ = c.Send(context.Background(), 0)
					return
				}
				_ = c.SendKey(context.Background(), uint64(i), 0)
			}()
			synctest.Wait()
			time.Sleep(time.Second)
		}
		snapshot := snapshotOf(t, named(name)[0])
		for i, age := range snapshot.Senders {
			if age != time.Duration(3*each-i)*time.Second {
				t.Fatalf("sender %d has waited for %v: %v", i, age, snapshot.Senders)
			}
		}
		if len(snapshot.Senders) != 64 || slices.ContainsFunc(snapshot.Lanes, func(l inspect.Lane) bool { return l.Senders == 0 }) {
			t.Errorf("%d senders are listed: %+v", len(snapshot.Senders), snapshot.Lanes)
		}
		c.Close()
	})
}

// TestSnapshotAfterSpuriousWakeUp: a waiter that was woken spuriously keeps its age and
// its position in the wait queue.
func TestSnapshotAfterSpuriousWakeUp(t *testing.T) {
	for i, k := range namedKinds() {
		t.Run(fmt.Sprint(i, k.kind), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx := context.Background()
				name := unique(t)
				c := k.make(name)
				listed := named(name)[0]
				if c.Cap() == 0 {
					return // a Rendezvous has no spurious wake-ups
				}
				defer c.Close()
				wait := func(f func()) {
					for range 2 {
						go f()
						synctest.Wait()
						time.Sleep(time.Second)
					}
				}
				wait(func() { _, _ = c.Recv(ctx) })
				if _ = c.Send(ctx, 1); c.Len() == 0 {
					return // a hand-off has no spurious wake-ups
				}
				for range 3 { // too few to starve a receiver
					if _, err := c.TryRecv(); err != nil {
						return // the woken receiver, on another P, was faster
					}
					snapshot := snapshotOf(t, listed)
					wantAges(t, "receivers", snapshot.Receivers, snapshot.Stats.OldestReceiver, 2, 1)
					_ = c.Send(ctx, 1)
				}
				synctest.Wait()
				_ = c.Send(ctx, 1)
				synctest.Wait()
				for c.TrySend(1) == nil {
				}
				wait(func() { _ = c.Send(ctx, 1) })
				for range 3 {
					_, _ = c.TryRecv()
					if err := c.TrySend(1); err != nil {
						return // the woken sender was faster
					}
					snapshot := snapshotOf(t, listed)
					wantAges(t, "senders", snapshot.Senders, snapshot.Stats.OldestSender, 2, 1)
				}
			})
		})
	}
}
