package sluice_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/sluicetest"
)

// TestSelectStorm: many goroutines call Select, Send and Recv on the same channels.
// Many calls are canceled, and some channels are closed meanwhile. Each value is
// delivered exactly once if its send succeeded, and never otherwise.
func TestSelectStorm(t *testing.T) {
	kinds := slices.Sorted(maps.Keys(selectKinds))
	for _, over := range [][]string{
		{"Rendezvous"},
		{"Rendezvous", "Rendezvous"},
		{"Rendezvous NoHandOff", "Bounded 2 NoHandOff", "Bounded 16"},
		{"Bounded 1", "Elastic 1"},
		{"Elastic 1", "Elastic 2", "Bounded 16"},
		{"Elastic of bytes", "Rendezvous", "Elastic 1"},
		kinds,
	} {
		for _, closing := range []bool{false, true} {
			t.Run(fmt.Sprint(over, " closing ", closing), func(t *testing.T) { selectStorm(t, over, closing) })
		}
	}
}

func selectStorm(t *testing.T, over []string, closing bool) {
	const goroutines, calls = 6, 300
	delivered := make([]atomic.Int32, goroutines*calls+1)
	sent := make([]atomic.Bool, len(delivered))
	var channels []sluice.Channel[int]
	for _, kind := range over {
		channels = append(channels, selectKinds[kind](func(v int) { delivered[v].Add(1) }))
	}
	ctx, cancel := context.WithCancel(context.Background())
	var all sync.WaitGroup
	var ended atomic.Bool
	for g := range goroutines {
		all.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(g), 3))
			for i := range calls {
				one, cancel := context.WithCancel(ctx)
				if rng.IntN(2) == 0 {
					go cancel()
				}
				v := 1 + g*calls + i
				if delivery, ok := stormCall(t, yielding{one}, rng, channels, v); ok {
					if delivery == v {
						sent[v].Store(true)
					} else {
						delivered[-delivery].Add(1)
					}
				}
				cancel()
			}
		})
	}
	var closer sync.WaitGroup
	closer.Go(func() { // ends the waits of calls that have no partner left
		for n := 0; !ended.Load(); n++ {
			if c := channels[n%len(channels)]; closing && n%64 == 63 {
				c.Close()
			} else if v, err := c.TryRecv(); err == nil {
				delivered[v].Add(1)
			}
			runtime.Gosched()
			if n == 20_000 {
				cancel()
			}
		}
	})
	all.Wait()
	ended.Store(true)
	closer.Wait()
	cancel()
	for _, c := range channels {
		c.Close()
		for v, err := c.TryRecv(); err == nil; v, err = c.TryRecv() {
			delivered[v].Add(1)
		}
		if s := c.Stats(); s.SendersWaiting+s.ReceiversWaiting != 0 {
			t.Errorf("goroutines are still in a wait queue: %+v", s)
		}
	}
	for v := range delivered {
		want := int32(0)
		if sent[v].Load() {
			want = 1
		}
		if got := delivered[v].Load(); got != want {
			t.Errorf("value %d was delivered %d times, want %d", v, got, want)
		}
	}
}

// stormCall performs one call on random channels. It returns v if it sent v, and -w if
// it received w.
func stormCall(t *testing.T, ctx context.Context, rng *rand.Rand, channels []sluice.Channel[int], v int) (int, bool) {
	c := channels[rng.IntN(len(channels))]
	switch rng.IntN(6) {
	case 0:
		return v, c.Send(ctx, v) == nil
	case 1:
		w, err := c.Recv(ctx)
		return -w, err == nil
	}
	var cases []sluice.Case
	for _, c := range channels {
		if k := rng.IntN(4); k == 0 || k == 3 {
			cases = append(cases, sluice.OnSend[int](c, v))
		} else if k == 1 || k == 3 {
			cases = append(cases, sluice.OnRecv[int](c))
		}
	}
	chosen, err := sluice.Select(ctx, cases...)
	switch c := chosen.(type) {
	case *sluice.SendCase[int]:
		return v, err == nil
	case *sluice.RecvCase[int]:
		return -c.Value, err == nil
	default:
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%v, %v", chosen, err)
		}
		return 0, false
	}
}

// onOneP runs f in a bubble with one P, where a woken goroutine does not run before the
// goroutine that woke it parks.
func onOneP(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	synctest.Test(t, f)
}

// TestSelectSpuriousWakeUp: a Select whose value another goroutine received parks
// again, and keeps its position in the queues that are served in order of arrival.
func TestSelectSpuriousWakeUp(t *testing.T) {
	onOneP(t, func(t *testing.T) {
		ctx := context.Background()
		b, r, s := sluice.NewBounded[int](20, nil), sluice.NewRendezvous[int](nil), sluice.NewRendezvous[int](nil)
		in, out, last := sluice.OnRecv[int](r), sluice.OnSend[int](s, 7), sluice.OnRecv[int](b)
		for _, chosen := range []sluice.Case{in, out, last, in, last, out} {
			var got sluice.Case
			var later, sooner int
			go func() { got, _ = sluice.Select(ctx, last, in, out) }()
			synctest.Wait()
			go func() { later, _ = r.Recv(ctx) }()
			go func() { _ = s.Send(ctx, 8) }()
			synctest.Wait()
			for range 5 { // each is a spurious wake-up
				_ = b.TrySend(1)
				_, _ = b.TryRecv()
				synctest.Wait()
				if got != nil {
					t.Fatalf("chose %v, but its value had been received already", got)
				}
			}
			switch chosen {
			case in: // the Select is ahead of the later receiver
				_ = r.Send(ctx, 1)
			case out:
				if sooner, _ = s.Recv(ctx); sooner != 7 {
					t.Errorf("received %d, want 7, which was sent first", sooner)
				}
			case last:
				_ = b.Send(ctx, 2)
			}
			if synctest.Wait(); got != chosen || later != 0 {
				t.Errorf("chose %v, want %v; the later receiver got %d", got, chosen, later)
			}
			_ = r.Send(ctx, 3)
			if v, _ := s.Recv(ctx); v != 8 {
				t.Errorf("received %d, want 8", v)
			}
			if synctest.Wait(); later != 3 {
				t.Errorf("the later receiver got %d, want 3", later)
			}
		}
	})
}

// TestSelectPassesOnWakeUp: a Select that was woken but ends for another reason passes
// the wake-up on to the next waiter.
func TestSelectPassesOnWakeUp(t *testing.T) {
	onOneP(t, func(t *testing.T) {
		ctx := context.Background()
		for _, sends := range []bool{false, true} {
			for _, kind := range []string{"Elastic 2", "Bounded 16", "Bounded 2 NoHandOff"} {
				for _, end := range []string{"another case", "canceled", "a second value"} {
					c, r := selectKinds[kind](nil), sluice.NewRendezvous[int](nil)
					var first sluice.Case
					add, take := func() { _ = c.TrySend(1) }, func(ctx context.Context) error { _, err := c.Recv(ctx); return err }
					first = sluice.OnRecv[int](c)
					if sends {
						fill(c)
						first = sluice.OnSend[int](c, 2)
						add, take = func() { _, _ = c.TryRecv() }, func(ctx context.Context) error { return c.Send(ctx, 3) }
					}
					selecting, cancel := context.WithCancel(ctx)
					one, two := false, false
					go func() {
						_, _ = sluice.Select(selecting, sluice.OnRecv[int](r), first)
						one = true
					}()
					synctest.Wait()
					go func() {
						_ = take(ctx)
						two = true
					}()
					synctest.Wait()
					switch end {
					case "another case":
						_ = r.TrySend(1)
						add()
					case "canceled":
						cancel()
						add() // the Select may still receive it
						add()
					case "a second value":
						add()
						add()
					}
					if synctest.Wait(); !one || !two {
						t.Errorf("%s, sends %v, %s: the Select returned: %v, the next waiter: %v", kind, sends, end, one, two)
					}
					cancel()
					c.Close()
				}
			}
		}
	})
}

// TestSelectPassesOnNotification: a Select that was notified by one queue but proceeds
// on another channel passes the notification on to the next waiter.
func TestSelectPassesOnNotification(t *testing.T) {
	onOneP(t, func(t *testing.T) {
		ctx := context.Background()
		for _, kind := range []string{"Bounded 2 NoHandOff", "Elastic 2"} {
			for _, sends := range []bool{false, true} {
				c, elsewhere := selectKinds[kind](nil), sluice.NewBounded[int](20, nil)
				own, other := sluice.Case(sluice.OnRecv[int](c)), sluice.Case(sluice.OnRecv(elsewhere))
				next := func() { _, _ = c.Recv(ctx) }
				add := func() { _ = c.Send(ctx, 1) }
				more := func() { _ = elsewhere.TrySend(2) }
				if sends {
					fill(c)
					fill(elsewhere)
					own, other = sluice.OnSend[int](c, 3), sluice.OnSend(elsewhere, 4)
					next = func() { _ = c.Send(ctx, 5) }
					add = func() { _, _ = c.Recv(ctx) }
					more = func() { _, _ = elsewhere.TryRecv() }
				}
				var chosen sluice.Case
				ended := false
				go func() { chosen, _ = sluice.Select(ctx, own, other) }()
				synctest.Wait()
				go func() {
					next()
					ended = true
				}()
				synctest.Wait()
				add() // wakes the Select, which has yet to run
				more()
				synctest.Wait()
				if chosen != other {
					add() // the Select took the first value
				}
				if synctest.Wait(); chosen == nil || !ended {
					t.Errorf("%s, sends %v: chose %v, the next waiter returned: %v", kind, sends, chosen, ended)
				}
				c.Close()
			}
		}
	})
}

// TestSelectInBubbles: Selects inside and outside of bubbles share no state, such as
// pooled parkers.
func TestSelectInBubbles(t *testing.T) {
	exchange := func() {
		ctx := context.Background()
		a, b := sluice.NewRendezvous[int](nil), sluice.NewBounded[int](20, nil)
		in, late := sluice.OnRecv[int](a), sluice.OnRecv[int](b)
		for i := range 10 {
			go func() {
				runtime.Gosched()
				if i%2 == 0 {
					_ = a.Send(ctx, i)
				} else {
					_ = b.Send(ctx, i)
				}
			}()
			_, _ = sluice.Select(ctx, in, late)
		}
	}
	for range 10 {
		exchange()
		synctest.Test(t, func(*testing.T) { exchange() })
	}
}

// TestSelectRetainsNothing: only the cases themselves refer to a value that was sent,
// received, or not chosen.
func TestSelectRetainsNothing(t *testing.T) {
	ctx := context.Background()
	for _, c := range []sluice.Channel[*sluicetest.Parcel]{
		sluice.NewRendezvous[*sluicetest.Parcel](nil), sluice.NewBounded[*sluicetest.Parcel](20, nil),
	} {
		never := sluice.NewRendezvous[*sluicetest.Parcel](nil)
		idle, other := sluice.OnSend(never, new(sluicetest.Parcel)), sluice.OnRecv[*sluicetest.Parcel](sluice.NewRendezvous[*sluicetest.Parcel](nil))
		in, out := sluice.OnRecv[*sluicetest.Parcel](c), sluice.OnSend(c, new(sluicetest.Parcel))
		kept := []weak.Pointer[sluicetest.Parcel]{weak.Make(idle.Value), weak.Make(out.Value)}
		var all sync.WaitGroup
		all.Go(func() { _, _ = sluice.Select(ctx, idle, out) })
		_, _ = sluice.Select(ctx, other, in)
		all.Wait()
		short, cancel := context.WithTimeout(ctx, time.Millisecond)
		_, _ = sluice.Select(short, idle, in)
		cancel()
		in.Value, out.Value, idle.Value = nil, nil, nil
		runtime.GC()
		for i, p := range kept {
			if p.Value() != nil {
				t.Errorf("%T: value %d is still reachable", c, i)
			}
		}
		runtime.KeepAlive(c)
		runtime.KeepAlive(idle)
		runtime.KeepAlive(in)
		runtime.KeepAlive(out)
	}
}
