package hub_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/hub"
	"github.com/sluice-go/sluice/internal/suite"
)

// rounds returns n, or a tenth of it unless all tests run.
func rounds(n int) int { return suite.Rounds(max(1, n/10), n) }

// TestReplayLive: a subscription that joins while values are sent begins with the last ones
// before it joined, and continues without a gap and without a duplicate.
func TestReplayLive(t *testing.T) {
	const replay = 5
	ctx := t.Context()
	h := hub.New[int](64, &hub.Options{Replay: replay})
	var sent, began atomic.Int64 // values whose Send has returned, or begun
	stop := make(chan struct{})
	var publisher sync.WaitGroup
	publisher.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			began.Add(1)
			if err := h.Send(ctx, i); err != nil {
				t.Errorf("Send: %v", err)
				return
			}
			sent.Add(1)
		}
	})
	var all sync.WaitGroup
	for i := range 4 {
		all.Go(func() {
			for range rounds(2000) {
				n := int64(i + 1)
				least := max(0, sent.Load()-n)
				s, err := h.Subscribe(&hub.SubscriptionOptions[int]{Overflow: sluice.Block, Replay: int(n)})
				if err != nil {
					t.Error(err)
					return
				}
				most := max(0, began.Load()-n)
				first, err := s.Recv(ctx)
				if int64(first) < least || int64(first) > most || err != nil {
					t.Errorf("the first value is %d, %v; want %d to %d", first, err, least, most)
				}
				for next := first + 1; next < first+2*replay; next++ {
					if v, err := s.Recv(ctx); v != next || err != nil {
						t.Errorf("received %d, %v; want %d", v, err, next)
					}
				}
				s.Close()
			}
		})
	}
	all.Wait()
	close(stop)
	publisher.Wait()
}

// stamp returns a value that identifies its sender, of up to maxSenders.
func stamp(sender, number int) int { return number*maxSenders + sender }

// stampOf returns the sender and the number of a value.
func stampOf(v int) (sender, number int) { return v % maxSenders, v / maxSenders }

const maxSenders = 8

// TestStorm: while subscriptions with all policies come and go, each receives a part of one
// sequence, the same for all, in which each sender's values are in order. Those that drop
// nothing have no gap.
func TestStorm(t *testing.T) {
	ctx := t.Context()
	h := hub.New[int](32, &hub.Options{Replay: 8})
	reference := subscribe(t, h, &hub.SubscriptionOptions[int]{Overflow: sluice.Block})
	var everything []int
	var recorder sync.WaitGroup
	recorder.Go(func() {
		for v := range reference.Values(ctx).All() {
			everything = append(everything, v)
		}
	})
	var mu sync.Mutex
	var parts [][]int
	var whole []bool // without a gap
	var senders, guests sync.WaitGroup
	n := rounds(10_000) / 10 * 10
	for i := range 3 {
		senders.Go(func() {
			for number := 0; number < n; number++ {
				var err error
				switch number % 5 {
				case 0:
					var sent int
					if sent, err = h.SendBatch(ctx, []int{stamp(i, number), stamp(i, number+1)}); sent == 2 {
						number++
					}
				case 1:
					for err = sluice.ErrFull; err == sluice.ErrFull; runtime.Gosched() {
						err = h.TrySend(stamp(i, number))
					}
				default:
					err = h.Send(ctx, stamp(i, number))
				}
				if err != nil {
					t.Errorf("sender %d: %v", i, err)
				}
			}
		})
	}
	for i := range 8 {
		guests.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(i), 2))
			for {
				o := &hub.SubscriptionOptions[int]{Capacity: 1 + rng.IntN(32), Overflow: policies[i%4]}
				o.Replay = rng.IntN(min(8, o.Capacity) + 1)
				s, err := h.Subscribe(o)
				if err == sluice.ErrClosed {
					return
				}
				if err != nil {
					t.Error(err)
					return
				}
				got := guest(t, s, rng)
				mu.Lock()
				parts, whole = append(parts, got), append(whole, o.Overflow == sluice.Block || o.Overflow == sluice.Evict)
				mu.Unlock()
			}
		})
	}
	senders.Wait()
	h.Close()
	guests.Wait()
	recorder.Wait()
	if len(everything) != 3*n {
		t.Fatalf("%d values were received, want %d", len(everything), 3*n)
	}
	at := make(map[int]int)
	var last [3]int
	for i, v := range everything {
		at[v] = i
		sender, number := stampOf(v)
		if number != last[sender] {
			t.Fatalf("value %d of sender %d follows %d", number, sender, last[sender]-1)
		}
		last[sender]++
	}
	for i, part := range parts {
		for k := 1; k < len(part); k++ {
			if step := at[part[k]] - at[part[k-1]]; step < 1 || whole[i] && step > 1 {
				t.Fatalf("part %d: value %d of the sequence follows value %d", i, at[part[k]], at[part[k-1]])
			}
		}
	}
}

// guest receives a few values in different ways, and leaves.
func guest(t *testing.T, s *hub.Subscription[int], rng *rand.Rand) (got []int) {
	defer s.Close()
	buf := make([]int, 1+rng.IntN(8))
	for range rng.IntN(40) {
		ctx, cancel := context.WithCancel(t.Context())
		if rng.IntN(4) == 0 {
			cancel()
		}
		var n int
		var err error
		switch rng.IntN(4) {
		case 0:
			n, err = s.TryRecvBatch(buf)
		case 1:
			n, err = s.RecvBatch(ctx, buf)
		default:
			if buf[0], err = s.Recv(ctx); err == nil {
				n = 1
			}
		}
		cancel()
		got = append(got, buf[:n]...)
		switch {
		case errors.Is(err, hub.ErrEvicted), errors.Is(err, sluice.ErrClosed):
			return got
		case err != nil && err != sluice.ErrEmpty && err != context.Canceled:
			t.Errorf("a receive: %v", err)
		}
		if rng.IntN(8) == 0 {
			runtime.Gosched()
		}
	}
	if a := s.Stats(); a.Sent != a.Received+a.Dropped+uint64(a.Len) || a.Received != uint64(len(got)) {
		t.Errorf("received %d; the account is %+v", len(got), a)
	}
	return got
}

// TestWakesAll: after each value no goroutine is parked that could receive it, however many wait,
// whether or not others give up at that moment, and whether or not they receive again.
func TestWakesAll(t *testing.T) {
	for _, n := range []int{1, 2, 7, 50, 300} {
		synctest.Test(t, func(t *testing.T) { wakesAll(t, n) })
	}
}

func wakesAll(t *testing.T, n int) {
	h, quiet := hub.New[int](4, nil), hub.New[int](4, nil)
	rng := rand.New(rand.NewPCG(uint64(n), 3))
	subs := make([]*hub.Subscription[int], n)
	for i := range subs {
		subs[i] = subscribe(t, h, &hub.SubscriptionOptions[int]{Overflow: policies[i%3]})
	}
	other := subscribe(t, quiet, dropOldest())
	for step := range rounds(100) {
		var waiting atomic.Int64 // goroutines that do not give up
		var all sync.WaitGroup
		for _, s := range subs {
			ctx, leave := context.WithCancel(t.Context())
			defer leave()
			selects, leaves := rng.IntN(3) == 0, rng.IntN(3) == 0
			if leaves { // before or while the value comes
				go leave()
			} else {
				waiting.Add(1)
			}
			all.Go(func() {
				var v int
				var err error
				if selects {
					c := sluice.OnRecv(s)
					_, err = sluice.Select(ctx, sluice.OnRecv(other), c)
					v = c.Value
				} else {
					v, err = s.Recv(ctx)
				}
				if !leaves {
					waiting.Add(-1)
				}
				if err == nil && v != step || err != nil && (!leaves || err != context.Canceled) {
					t.Errorf("step %d: received %d, %v", step, v, err)
				}
			})
		}
		if rng.IntN(2) == 0 {
			synctest.Wait() // all are parked
		}
		send(t, h, step)
		synctest.Wait()
		if left := waiting.Load(); left > 0 {
			t.Fatalf("step %d: %d of %d still wait", step, left, n)
		}
		all.Wait()
		for _, s := range subs {
			_, _ = s.TryRecv() // its receiver may have left
		}
	}
}

// TestStolen: a goroutine that was woken and finds its value taken wakes the others
// nevertheless.
func TestStolen(t *testing.T) {
	const n, kept = 50, 4
	synctest.Test(t, func(t *testing.T) {
		h := hub.New[int](4, nil)
		rng := rand.New(rand.NewPCG(1, 5))
		var subs []*hub.Subscription[int]
		received := make([]int, n)
		for i := range n {
			s := subscribe(t, h, dropOldest())
			subs = append(subs, s)
			go func() {
				for range s.Values(context.Background()).All() {
					received[i]++
				}
			}()
		}
		for step := range rounds(300) {
			synctest.Wait()
			before := append([]int(nil), received...)
			send(t, h, step)
			order := rng.Perm(n)
			for _, i := range order[kept:] {
				_, _ = subs[i].TryRecv()
			}
			synctest.Wait()
			for _, i := range order[:kept] {
				if received[i] != before[i]+1 {
					t.Fatalf("step %d: a subscription was forgotten", step)
				}
			}
		}
		h.Close()
		synctest.Wait()
	})
}

// TestAllAreWoken: with one receiver for each subscription and none that leaves, all have
// a value when the bubble is quiet.
func TestAllAreWoken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n = 500
		ctx := t.Context()
		h := hub.New[int](4, nil)
		var got atomic.Int64
		var all sync.WaitGroup
		for i := range n {
			s := subscribe(t, h, &hub.SubscriptionOptions[int]{Overflow: policies[i%4]})
			if i%2 == 0 {
				all.Go(func() {
					for range s.Values(ctx).All() {
						got.Add(1)
					}
				})
				continue
			}
			all.Go(func() { // another subscription, which gets every value too
				c := sluice.OnRecv(s)
				for {
					if _, err := sluice.Select(ctx, c); err != nil {
						return
					}
					got.Add(1)
				}
			})
		}
		for step := range 20 {
			synctest.Wait()
			send(t, h, step)
			synctest.Wait()
			if got.Load() != int64(n*(step+1)) {
				t.Fatalf("%d of %d have value %d", got.Load()-int64(n*step), n, step)
			}
		}
		h.Close()
		all.Wait()
	})
}

// TestSelectsWakeOthers: a Select that was woken, and is not called again, wakes others.
func TestSelectsWakeOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n = 100
		h := hub.New[int](4, nil)
		var got atomic.Int64
		for range n {
			c := sluice.OnRecv(subscribe(t, h, dropOldest()))
			go func() {
				if _, err := sluice.Select(t.Context(), c); err == nil {
					got.Add(1)
				}
			}()
		}
		synctest.Wait()
		send(t, h, 1)
		synctest.Wait()
		if got.Load() != n {
			t.Errorf("%d of %d Selects were woken", got.Load(), n)
		}
	})
}
