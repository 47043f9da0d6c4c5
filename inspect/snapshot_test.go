package inspect_test

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/inspect"
)

// A namedKind makes a named channel.
type namedKind struct {
	kind string
	make func(name string) sluice.Channel[int]
}

// namedKinds contains each kind, on each engine and ring.
func namedKinds() []namedKind {
	return []namedKind{
		{"Rendezvous", func(name string) sluice.Channel[int] {
			return sluice.NewRendezvous(&sluice.RendezvousOptions[int]{Name: name})
		}},
		{"Bounded", func(name string) sluice.Channel[int] {
			return sluice.NewBounded(3, &sluice.BoundedOptions[int]{Name: name})
		}},
		{"Bounded", func(name string) sluice.Channel[int] {
			return sluice.NewBounded(20, &sluice.BoundedOptions[int]{Name: name})
		}},
		{"Elastic", func(name string) sluice.Channel[int] {
			return sluice.NewElastic(2000, &sluice.ElasticOptions[int]{Name: name})
		}},
		{"Elastic", func(name string) sluice.Channel[int] {
			return sluice.NewElastic(64, &sluice.ElasticOptions[int]{
				Name: name, MaxBytes: 100, Size: func(int) int { return 1 }})
		}},
		{"Sharded", func(name string) sluice.Channel[int] {
			return sluice.NewSharded(5, &sluice.ShardedOptions[int]{Name: name, Lanes: 2})
		}},
	}
}

// eachKind runs test in a bubble for each kind, with a channel and its entry in the list.
func eachKind(t *testing.T, test func(t *testing.T, c sluice.Channel[int], listed inspect.Channel)) {
	for i, k := range namedKinds() {
		t.Run(fmt.Sprint(i, k.kind), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				name := unique(t)
				c := k.make(name)
				found := named(name)
				if len(found) != 1 || found[0].Kind != k.kind {
					t.Fatalf("listed: %+v", found)
				}
				test(t, c, found[0])
				c.Close()
				runtime.KeepAlive(c)
			})
		})
	}
}

// snapshotOf returns a snapshot of a channel that is alive, once all goroutines of the
// bubble are parked.
func snapshotOf(t *testing.T, listed inspect.Channel) inspect.Snapshot {
	t.Helper()
	synctest.Wait()
	snapshot, ok := listed.Snapshot()
	if stats, alive := listed.Stats(); !ok || !alive || snapshot.Stats != stats {
		t.Fatalf("Stats: %+v, %v; Snapshot: %+v, %v", stats, alive, snapshot.Stats, ok)
	}
	return snapshot
}

// TestSnapshotReady: Ready is true once the method Ready was called.
func TestSnapshotReady(t *testing.T) {
	eachKind(t, func(t *testing.T, c sluice.Channel[int], listed inspect.Channel) {
		before := snapshotOf(t, listed).Ready
		c.Ready()
		if after := snapshotOf(t, listed).Ready; before || !after {
			t.Errorf("before the call %v, after it %v", before, after)
		}
	})
}

// TestSnapshotUnavailable: the zero Channel, a foreign channel and garbage have no
// snapshot.
func TestSnapshotUnavailable(t *testing.T) {
	if _, ok := (inspect.Channel{}).Snapshot(); ok {
		t.Error("the zero Channel has a snapshot")
	}
	name, foreign := unique(t), &tank{}
	inspect.Register(name, "Tank", foreign)
	if _, ok := named(name)[0].Snapshot(); ok {
		t.Error("a foreign channel has a snapshot")
	}
	runtime.KeepAlive(foreign)
	c := sluice.NewRendezvous(&sluice.RendezvousOptions[int]{Name: name + " garbage"})
	garbage := named(name + " garbage")[0]
	runtime.KeepAlive(c)                                              // garbage from now on
	for _, ok := garbage.Snapshot(); ok; _, ok = garbage.Snapshot() { // until the test times out
		runtime.GC()
	}
}

// TestSnapshotConsistent: a snapshot is consistent while senders, receivers and Selects
// park and return: it lists as many waiters as Stats counts, no waiter is older than
// the test, and the rings hold Len values.
func TestSnapshotConsistent(t *testing.T) {
	for i, k := range namedKinds() {
		t.Run(fmt.Sprint(i, k.kind), func(t *testing.T) {
			t.Parallel()
			began := time.Now()
			name := unique(t)
			c := k.make(name)
			listed := named(name)[0]
			ctx := context.Background()
			var users sync.WaitGroup
			for s := range 6 {
				users.Go(func() {
					if s%2 == 0 {
						out := sluice.OnSend(c, 1)
						for range 300 {
							_, _ = sluice.Select(ctx, out)
						}
						return
					}
					for range 300 {
						_ = c.Send(ctx, 1)
					}
				})
			}
			for range 3 {
				users.Go(func() {
					in := sluice.OnRecv[int](c)
					for range 300 {
						_, _ = sluice.Select(ctx, in)
						_, _ = c.Recv(ctx)
					}
				})
			}
			done := make(chan struct{})
			go func() { users.Wait(); close(done) }()
			for running := true; running; {
				select {
				case <-done:
					running = false
				default:
					runtime.Gosched() // with one P, it would run for 10 ms
				}
				snapshot, _ := listed.Snapshot()
				oldest := time.Since(began)
				s := snapshot.Stats
				if len(snapshot.Senders) != s.SendersWaiting || len(snapshot.Receivers) != s.ReceiversWaiting ||
					slices.Max(append(append(snapshot.Senders, snapshot.Receivers...), s.OldestSender, s.OldestReceiver)) > oldest {
					t.Fatalf("after %v: %+v", oldest, snapshot)
				}
				if problem := ringProblem(snapshot, k.kind == "Bounded"); problem != "" && snapshot.Rings != nil {
					t.Fatalf("%s: %+v", problem, snapshot)
				}
			}
		})
	}
}
