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

// TestSelectStorm: Selects, Sends and Recvs over the same channels, many of them
// cancelled, some channels closed on the way. Each value is delivered exactly
// once if its send succeeded, and never otherwise.
func TestSelectStorm(t *testing.T) {
	kinds := slices.Sorted(maps.Keys(mixed))
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
		channels = append(channels, mixed[kind](func(v int) { delivered[v].Add(1) }))
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
				if delivery, ok := storm(t, yielding{one}, rng, channels, v); ok {
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
	closer.Go(func() { // nobody may be left alone with a wait that nothing ends
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
			t.Errorf("somebody is left in line: %+v", s)
		}
	}
	for v := range delivered {
		want := int32(0)
		if sent[v].Load() {
			want = 1
		}
		if got := delivered[v].Load(); got != want {
			t.Errorf("value %d: delivered %d times, want %d", v, got, want)
		}
	}
}

// storm does one call over random channels and returns v if that was sent, or -w
// if the value w was received.
func storm(t *testing.T, ctx context.Context, rng *rand.Rand, channels []sluice.Channel[int], v int) (int, bool) {
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

// inTurn runs f in a bubble with one P, where a goroutine that was woken does not
// run before the one that woke it parks.
func inTurn(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	synctest.Test(t, f)
}

// TestSelectWokenInVain: a Select whose value another one took goes back to
// sleep, and has kept its turn at the channels that serve in turn.
func TestSelectWokenInVain(t *testing.T) {
	inTurn(t, func(t *testing.T) {
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
			for range 5 { // each wakes it in vain
				_ = b.TrySend(1)
				_, _ = b.TryRecv()
				synctest.Wait()
				if got != nil {
					t.Fatalf("chose %v, which another one had taken", got)
				}
			}
			switch chosen {
			case in: // the value goes to it, not to the one who came later
				_ = r.Send(ctx, 1)
			case out:
				if sooner, _ = s.Recv(ctx); sooner != 7 {
					t.Errorf("received %d, want 7, which was sent first", sooner)
				}
			case last:
				_ = b.Send(ctx, 2)
			}
			if synctest.Wait(); got != chosen || later != 0 {
				t.Errorf("chose %v, want %v; the later one received %d", got, chosen, later)
			}
			_ = r.Send(ctx, 3)
			if v, _ := s.Recv(ctx); v != 8 {
				t.Errorf("received %d, want 8", v)
			}
			if synctest.Wait(); later != 3 {
				t.Errorf("the later one received %d, want 3", later)
			}
		}
	})
}

// TestSelectPassesOn: a Select that holds a wake-up when it ends otherwise hands
// it on to the next in line.
func TestSelectPassesOn(t *testing.T) {
	inTurn(t, func(t *testing.T) {
		ctx := context.Background()
		for _, sends := range []bool{false, true} {
			for _, kind := range []string{"Elastic 2", "Bounded 16", "Bounded 2 NoHandOff"} {
				for _, how := range []string{"served elsewhere", "cancelled", "a second value"} {
					c, r := mixed[kind](nil), sluice.NewRendezvous[int](nil)
					var first sluice.Case
					add, take := func() { _ = c.TrySend(1) }, func(ctx context.Context) error { _, err := c.Recv(ctx); return err }
					first = sluice.OnRecv[int](c)
					if sends {
						full(c)
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
					switch how {
					case "served elsewhere":
						_ = r.TrySend(1)
						add()
					case "cancelled":
						cancel()
						add() // may be its own
						add()
					case "a second value":
						add()
						add()
					}
					if synctest.Wait(); !one || !two {
						t.Errorf("%s, sends %v, %s: ended %v and %v", kind, sends, how, one, two)
					}
					cancel()
					c.Close()
				}
			}
		}
	})
}

// TestSelectPassesOnACall: a Select that was told to look, and found something
// elsewhere first, leaves what it was told of to the next in line.
func TestSelectPassesOnACall(t *testing.T) {
	inTurn(t, func(t *testing.T) {
		ctx := context.Background()
		for _, kind := range []string{"Bounded 2 NoHandOff", "Elastic 2"} {
			for _, sends := range []bool{false, true} {
				c, elsewhere := mixed[kind](nil), sluice.NewBounded[int](20, nil)
				own, other := sluice.Case(sluice.OnRecv[int](c)), sluice.Case(sluice.OnRecv(elsewhere))
				next := func() { _, _ = c.Recv(ctx) }
				add := func() { _ = c.Send(ctx, 1) }
				more := func() { _ = elsewhere.TrySend(2) }
				if sends {
					full(c)
					full(elsewhere)
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
					add() // it took the first
				}
				if synctest.Wait(); chosen == nil || !ended {
					t.Errorf("%s, sends %v: chose %v, the next one has ended: %v", kind, sends, chosen, ended)
				}
				c.Close()
			}
		}
	})
}

// TestSelectInBubbles: a Select inside a bubble leaves nothing that one outside
// might use, nor the reverse.
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

// TestSelectRetains: what was sent, received, or not chosen is kept by nobody but
// the cases themselves.
func TestSelectRetains(t *testing.T) {
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
				t.Errorf("%T: value %d is kept", c, i)
			}
		}
		runtime.KeepAlive(c)
		runtime.KeepAlive(idle)
		runtime.KeepAlive(in)
		runtime.KeepAlive(out)
	}
}
