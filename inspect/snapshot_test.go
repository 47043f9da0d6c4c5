package inspect_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/inspect"
	"github.com/sluice-go/sluice/internal/engine"
	"github.com/sluice-go/sluice/internal/handoff"
	"github.com/sluice-go/sluice/internal/registry"
)

// A named kind is a way to make a channel, over each engine and both its rings.
type namedKind struct {
	kind string
	make func(name string) sluice.Channel[int]
}

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
				Name: name, LimitBytes: 100, Size: func(int) int { return 1 }})
		}},
		{"Sharded", func(name string) sluice.Channel[int] {
			return sluice.NewSharded(5, &sluice.ShardedOptions[int]{Name: name, Lanes: 2})
		}},
	}
}

// eachKind runs test in a bubble for each kind, with what Channels lists of it.
func eachKind(t *testing.T, test func(t *testing.T, c sluice.Channel[int], n inspect.Channel)) {
	for i, k := range namedKinds() {
		t.Run(fmt.Sprint(i, k.kind), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := k.make(t.Name())
				found := listedAs(t.Name())
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

// look returns the inside of a channel that is there.
func look(t *testing.T, n inspect.Channel) inspect.Snapshot {
	t.Helper()
	synctest.Wait()
	inside, ok := n.Snapshot()
	if stats, alive := n.Stats(); !ok || !alive || inside.Stats != stats {
		t.Fatalf("%v, %v: %+v, and inside %+v", ok, alive, stats, inside.Stats)
	}
	return inside
}

// seconds asserts for how long the waiters of one side have waited.
func seconds(t *testing.T, what string, got []time.Duration, oldest time.Duration, want ...int) {
	t.Helper()
	var ages []time.Duration
	for _, s := range want {
		ages = append(ages, time.Duration(s)*time.Second)
	}
	if !slices.Equal(got, ages) || oldest != append(ages, 0)[0] {
		t.Errorf("%s have waited for %v, the oldest for %v, want %v", what, got, oldest, ages)
	}
}

// Whoever waits, on either side, alone or in a Select, is shown for as long as it has
// waited this time, whatever waits there were before.
func TestInsideShowsWhoWaits(t *testing.T) {
	eachKind(t, func(t *testing.T, c sluice.Channel[int], n inspect.Channel) {
		ctx := context.Background()
		send := func() { _ = c.Send(ctx, 1) }
		recv := func() { _, _ = c.Recv(ctx) }
		choose := func(cases ...sluice.Case) func() { return func() { _, _ = sluice.Select(ctx, cases...) } }
		empty := sluice.NewBounded[int](20, nil)
		toSend := choose(sluice.OnRecv(empty), sluice.OnSend(c, 1)) // each used again
		toReceive := choose(sluice.OnRecv[int](c), sluice.OnRecv(empty))
		for round := range 2 {
			for _, f := range []func(){recv, toReceive, recv} {
				go f()
				synctest.Wait()
				time.Sleep(time.Second)
			}
			inside := look(t, n)
			seconds(t, "receivers", inside.Receivers, inside.Stats.OldestReceiver, 3, 2, 1)
			seconds(t, "senders", inside.Senders, inside.Stats.OldestSender)
			time.Sleep(time.Hour)
			for range 3 {
				send()
				synctest.Wait()
			}
			inside = look(t, n)
			seconds(t, "receivers", inside.Receivers, inside.Stats.OldestReceiver)
			for c.TrySend(0) == nil {
			}
			for _, f := range []func(){send, toSend, send} {
				go f()
				synctest.Wait()
				time.Sleep(time.Second)
			}
			inside = look(t, n)
			seconds(t, "senders", inside.Senders, inside.Stats.OldestSender, 3, 2, 1)
			seconds(t, "receivers", inside.Receivers, inside.Stats.OldestReceiver)
			time.Sleep(time.Hour)
			for _, err := c.TryRecv(); err == nil; _, err = c.TryRecv() {
				synctest.Wait()
			}
			inside = look(t, n)
			seconds(t, "senders", inside.Senders, inside.Stats.OldestSender)
			if t.Failed() {
				t.Fatalf("in round %d", round)
			}
		}
	})
}

// One whose context ends is gone, and those behind it stay as they are.
func TestInsideForgetsWhoGaveUp(t *testing.T) {
	eachKind(t, func(t *testing.T, c sluice.Channel[int], n inspect.Channel) {
		for i := range 3 {
			ctx, cancel := context.WithTimeout(context.Background(), time.Duration(10+10*i)*time.Second)
			defer cancel()
			go func() { _, _ = c.Recv(ctx) }()
			synctest.Wait()
			time.Sleep(time.Second)
		}
		time.Sleep(8 * time.Second)
		inside := look(t, n)
		seconds(t, "receivers", inside.Receivers, inside.Stats.OldestReceiver, 10, 9)
		time.Sleep(time.Minute)
		inside = look(t, n)
		seconds(t, "receivers", inside.Receivers, inside.Stats.OldestReceiver)
	})
}

// However many wait, so many are listed; Stats counts all.
func TestInsideIsBounded(t *testing.T) {
	eachKind(t, func(t *testing.T, c sluice.Channel[int], n inspect.Channel) {
		const many = 150
		for c.TrySend(0) == nil {
		}
		for range many {
			go func() { _ = c.Send(context.Background(), 1) }()
			synctest.Wait()
			time.Sleep(time.Second)
		}
		inside := look(t, n)
		if len(inside.Senders) != 64 || inside.Stats.SendersWaiting != many || inside.Senders[63] != (many-63)*time.Second {
			t.Errorf("%d are listed of %d: %v", len(inside.Senders), inside.Stats.SendersWaiting, inside.Senders)
		}
	})
}

// Of those who wait in several lines the oldest are listed, the oldest first.
func TestInsideMergesLines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const each = 30
		c := sluice.NewSharded(1, &sluice.ShardedOptions[int]{Name: t.Name(), Lanes: 2})
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
		inside := look(t, listedAs(t.Name())[0])
		for i, age := range inside.Senders {
			if age != time.Duration(3*each-i)*time.Second {
				t.Fatalf("number %d has waited for %v: %v", i, age, inside.Senders)
			}
		}
		if len(inside.Senders) != 64 || slices.ContainsFunc(inside.Lanes, func(l inspect.Lane) bool { return l.Senders == 0 }) {
			t.Errorf("%d are listed: %+v", len(inside.Senders), inside.Lanes)
		}
		c.Close()
	})
}

// The rings tell where each value is: what is filled one by one, and emptied, is in
// the slots that they say.
func TestInsideRings(t *testing.T) {
	eachKind(t, func(t *testing.T, c sluice.Channel[int], n inspect.Channel) {
		rings := look(t, n).Rings
		if c.Cap() == 0 || n.Kind == "Sharded" {
			if rings != nil {
				t.Errorf("%+v", rings)
			}
			return
		}
		random := rand.New(rand.NewPCG(7, uint64(c.Cap())))
		several := 0
		for step := range 5000 {
			var err error
			sends := random.IntN(1000) < 500+400*(1-2*(step/1250%2)) // more, then fewer
			if sends {
				err = c.TrySend(step)
			} else {
				_, err = c.TryRecv()
			}
			inside := look(t, n)
			if problem := ringsAre(inside, n.Kind == "Bounded"); problem != "" {
				t.Fatalf("step %d, %v, %v: %s: %+v", step, sends, err, problem, inside.Rings)
			}
			if was := rings; err == nil && n.Kind == "Bounded" {
				sent, received := 1, 0
				if !sends {
					sent, received = 0, 1
				}
				now := inside.Rings[0]
				if now.Send != (was[0].Send+sent)%now.Slots || now.Receive != (was[0].Receive+received)%now.Slots {
					t.Fatalf("step %d: from %+v to %+v", step, was[0], now)
				}
			}
			rings = inside.Rings
			several = max(several, len(rings))
		}
		if n.Kind == "Elastic" && c.Cap() == 2000 && several < 3 {
			t.Errorf("%d rings at most: the test saw no chain", several)
		}
	})
}

// However long an Elastic is, so many of its rings are listed: those that are received
// from first.
func TestInsideListsTheFirstRings(t *testing.T) {
	c := sluice.NewElastic[int](sluice.Unlimited, &sluice.ElasticOptions[int]{Name: t.Name()})
	for i := range 200_000 {
		if err := c.TrySend(i); err != nil {
			t.Fatal(err)
		}
	}
	inside, ok := listedAs(t.Name())[0].Snapshot()
	sum := 0
	for _, r := range inside.Rings {
		sum += r.Len
	}
	if !ok || len(inside.Rings) != 64 || inside.Rings[0].Receive != 0 || sum == 0 || sum >= inside.Stats.Len {
		t.Errorf("%d rings, with %d of %d values", len(inside.Rings), sum, inside.Stats.Len)
	}
	runtime.KeepAlive(c)
}

// ringsAre says what does not fit together.
func ringsAre(inside inspect.Snapshot, one bool) string {
	sum := 0
	for i, r := range inside.Rings {
		sum += r.Len
		switch {
		case r.Slots&(r.Slots-1) != 0 || r.Send < 0 || r.Send >= r.Slots || r.Receive < 0 || r.Receive >= r.Slots:
			return fmt.Sprint("no such slot in ring ", i)
		case (r.Receive+r.Len)%r.Slots != r.Send || r.Len > r.Slots:
			return fmt.Sprint("the values do not end where the next one goes, in ring ", i)
		}
	}
	switch {
	case sum != inside.Stats.Len:
		return fmt.Sprint("values in all: ", sum, ", want ", inside.Stats.Len)
	case one && (len(inside.Rings) != 1 || inside.Rings[0].Slots < inside.Stats.Cap):
		return "not one ring for all"
	}
	return ""
}

// Each lane has its own fill, and its own waiters.
func TestInsideLanes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := context.Background()
		c := sluice.NewSharded(3, &sluice.ShardedOptions[int]{Name: t.Name(), Lanes: 2})
		n := listedAs(t.Name())[0]
		mine := c.Lane()
		for range 3 {
			if err := mine.Send(ctx, 1); err != nil {
				t.Fatal(err)
			}
		}
		for c.TrySend(1) == nil {
		}
		wait := func(f func()) {
			go f()
			synctest.Wait()
			time.Sleep(time.Second)
		}
		wait(func() { _ = c.Send(ctx, 1) }) // anywhere
		wait(func() { _ = mine.Send(ctx, 1) })
		wait(func() { _ = c.SendKey(ctx, 7, 1) })
		wait(func() { _ = c.Send(ctx, 1) })
		inside := look(t, n)
		seconds(t, "senders", inside.Senders, inside.Stats.OldestSender, 4, 3, 2, 1)
		lanes := map[string]int{}
		for _, l := range inside.Lanes {
			lanes[fmt.Sprint(l)]++
		}
		want := []inspect.Lane{
			{Private: true, InUse: true, Len: 3, Cap: 3, HighWater: 3, Senders: 1, OldestSender: 3 * time.Second},
			{InUse: true, Len: 3, Cap: 3, HighWater: 3, Senders: 1, OldestSender: 2 * time.Second},
			{InUse: true, Len: 3, Cap: 3, HighWater: 3},
		}
		for _, l := range want {
			if lanes[fmt.Sprint(l)] != 1 {
				t.Errorf("there is no %+v in %+v", l, inside.Lanes)
			}
		}
		if len(inside.Lanes) != len(want) {
			t.Errorf("%d lanes", len(inside.Lanes))
		}
		c.Close()
		runtime.KeepAlive(mine)
	})
}

// Ready is said to be in use once somebody has called it.
func TestInsideSaysReady(t *testing.T) {
	eachKind(t, func(t *testing.T, c sluice.Channel[int], n inspect.Channel) {
		before := look(t, n).Ready
		c.Ready()
		if after := look(t, n).Ready; before || !after {
			t.Errorf("%v, and after the call %v", before, after)
		}
	})
}

// What cannot be looked into says so.
func TestInsideOfNothing(t *testing.T) {
	if _, ok := (inspect.Channel{}).Snapshot(); ok {
		t.Error("the zero Named has an inside")
	}
	foreign := &tank{}
	inspect.Register(t.Name(), "Tank", foreign)
	if _, ok := listedAs(t.Name())[0].Snapshot(); ok {
		t.Error("a channel of a foreign kind has an inside")
	}
	runtime.KeepAlive(foreign)
	sluice.NewRendezvous(&sluice.RendezvousOptions[int]{Name: t.Name() + " garbage"})
	n := listedAs(t.Name() + " garbage")
	for _, ok := n[0].Snapshot(); ok; _, ok = n[0].Snapshot() { // the test's deadline ends it
		runtime.GC()
	}
}

// Looks among senders, receivers and Selects that park all the time see what fits
// together: as many waiters as are counted, nobody older than the test, and values
// where the indices say.
func TestInsideWhileInUse(t *testing.T) {
	for i, k := range namedKinds() {
		t.Run(fmt.Sprint(i, k.kind), func(t *testing.T) {
			t.Parallel()
			began := time.Now()
			c := k.make(t.Name())
			n := listedAs(t.Name())[0]
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
			for over := false; !over; {
				select {
				case <-done:
					over = true
				default:
				}
				inside, _ := n.Snapshot()
				oldest := time.Since(began)
				s := inside.Stats
				if len(inside.Senders) != s.SendersWaiting || len(inside.Receivers) != s.ReceiversWaiting ||
					slices.Max(append(append(inside.Senders, inside.Receivers...), s.OldestSender, s.OldestReceiver)) > oldest {
					t.Fatalf("after %v: %+v", oldest, inside)
				}
				if problem := ringsAre(inside, k.kind == "Bounded"); problem != "" && inside.Rings != nil {
					t.Fatalf("%s: %+v", problem, inside)
				}
			}
		})
	}
}

// withoutHandOff is a Bounded whose waiters look again when they are woken. Only the
// methods that the test calls are there.
type withoutHandOff struct {
	sluice.Channel[int]
	engine engine.Engine[int]
}

func newWithoutHandOff(name string) sluice.Channel[int] {
	config := engine.Config[int]{Name: name, Limit: 3, NoHandOff: true}
	return withoutHandOff{engine: registry.Engine("Bounded", config, handoff.New(config))}
}

func (c withoutHandOff) Send(ctx context.Context, v int) error { return c.engine.Send(ctx, v) }
func (c withoutHandOff) TrySend(v int) error                   { return c.engine.TrySend(v) }
func (c withoutHandOff) Recv(ctx context.Context) (int, error) { return c.engine.Recv(ctx) }
func (c withoutHandOff) TryRecv() (int, error)                 { return c.engine.TryRecv() }
func (c withoutHandOff) Cap() int                              { return c.engine.Cap() }
func (c withoutHandOff) Len() int                              { return c.engine.Len() }
func (c withoutHandOff) Close()                                { c.engine.Close() }

// A waiter that was woken spuriously keeps its position in the wait queue and its age.
func TestSnapshotAfterSpuriousWakeUp(t *testing.T) {
	for i, k := range append(namedKinds(), namedKind{"Bounded", newWithoutHandOff}) {
		t.Run(fmt.Sprint(i, k.kind), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx := context.Background()
				c := k.make(t.Name())
				found := listedAs(t.Name())
				n := found[len(found)-1] // others are of runs before
				if c.Cap() == 0 {
					return // whoever waits is served, or nobody has come
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
					return // likewise
				}
				for range 3 { // too few for one to starve
					if _, err := c.TryRecv(); err != nil {
						return // not in vain: on another P, the one that was woken was faster
					}
					inside := look(t, n)
					seconds(t, "receivers", inside.Receivers, inside.Stats.OldestReceiver, 2, 1)
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
						return // likewise
					}
					inside := look(t, n)
					seconds(t, "senders", inside.Senders, inside.Stats.OldestSender, 2, 1)
				}
			})
		})
	}
}
