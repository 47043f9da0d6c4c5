package hub_test

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
	"github.com/sluice-go/sluice/hub"
)

func even(v int) bool { return v%2 == 0 }

// TestFilter: values that a subscription does not want take no room, under each policy, and are not
// in its account.
func TestFilter(t *testing.T) {
	for _, policy := range policies {
		h := hub.New[int](8, &hub.Options{Replay: 3})
		send(t, h, 2, 3, 4)
		s := subscribe(t, h, &hub.SubscriptionOptions[int]{Overflow: policy, Capacity: 5, Replay: 3, Filter: even})
		send(t, h, 5, 7, 6, 9, 11, 8, 13)
		want := sluice.Stats{Sent: 4, Len: 4, HighWater: 4, Cap: 5}
		if got := s.Stats(); got.Sent != want.Sent || got.Dropped != 0 || got.Len != 4 || got.HighWater != 4 || s.Len() != 4 {
			t.Errorf("%v: %+v, want %+v", policy, got, want)
		}
		if n := h.Stats().Behind; n != 4 {
			t.Errorf("%v: Behind is %d, want 4", policy, n)
		}
		if got := slices.Collect(s.Drain()); !slices.Equal(got, []int{2, 4, 6, 8}) {
			t.Errorf("%v: received %v", policy, got)
		}
		if got := s.Stats(); got.Received != 4 || got.Sent != 4 || got.Len != 0 || got.Dropped != 0 {
			t.Errorf("%v: drained: %+v", policy, got)
		}
	}
}

// TestFilterFull: a full subscription with Block delays each send; one with Evict is evicted by the
// first value that it wants, and not by others.
func TestFilterFull(t *testing.T) {
	h := hub.New[int](8, nil)
	blocks := subscribe(t, h, &hub.SubscriptionOptions[int]{Capacity: 1, Filter: even})
	send(t, h, 1, 2)
	for _, v := range []int{3, 4} {
		if err := h.TrySend(v); err != sluice.ErrFull {
			t.Errorf("TrySend(%d) with a full subscription: %v, want %v", v, err, sluice.ErrFull)
		}
	}
	blocks.Close()

	lost := new(losses)
	evicts := subscribe(t, h, &hub.SubscriptionOptions[int]{Capacity: 1, Overflow: sluice.Evict, Filter: even, OnUndelivered: lost.hook})
	send(t, h, 6, 7, 7, 7)
	if n := h.Stats().Evicted; n != 0 {
		t.Fatal("evicted by a value that it does not want")
	}
	send(t, h, 8)
	if _, err := evicts.TryRecv(); h.Stats().Evicted != 1 || err == nil {
		t.Errorf("not evicted by a value that it wants: %v", err)
	}
	if got := evicts.Stats(); got.Sent != 2 || got.Dropped != 2 || got.Len != 0 {
		t.Errorf("the account of an evicted subscription: %+v", got)
	}
	lost.want(t, "an eviction", "6 Overflowed, 8 Overflowed")
}

// TestFilterWakes: a value wakes a goroutine that waits for it, by each way to wait, and no other one.
func TestFilterWakes(t *testing.T) {
	ctx := context.Background()
	for name, receive := range map[string]func(s *hub.Subscription[int]) (int, error){
		"Recv": func(s *hub.Subscription[int]) (int, error) { return s.Recv(ctx) },
		"RecvBatch": func(s *hub.Subscription[int]) (int, error) {
			buf := make([]int, 3)
			_, err := s.RecvBatch(ctx, buf)
			return buf[0], err
		},
		"Select": func(s *hub.Subscription[int]) (int, error) {
			c := sluice.OnRecv(s)
			_, err := sluice.Select(ctx, c)
			return c.Value, err
		},
		"Ready": func(s *hub.Subscription[int]) (int, error) { <-s.Ready(); return s.TryRecv() },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := hub.New[int](8, nil)
				var waiting sync.WaitGroup
				for part := range 20 {
					s := subscribe(t, h, &hub.SubscriptionOptions[int]{Filter: func(v int) bool { return v%20 == part }})
					waiting.Go(func() {
						for lap := range 2 {
							if v, err := receive(s); v != 20*lap+part || err != nil {
								t.Errorf("received %d, %v, want %d", v, err, 20*lap+part)
							}
						}
						if n := s.Stats().RecvWaits; n > 2 {
							t.Errorf("a subscription that got two values has waited %d times", n)
						}
					})
				}
				for v := range 40 {
					synctest.Wait()
					send(t, h, v)
				}
				waiting.Wait()
			})
		})
	}
}

// TestFilterUsesHub: filters run without a lock, outside the wait queue, and may panic.
func TestFilterUsesHub(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := hub.New[int](8, &hub.Options{Replay: 2})
		first := subscribe(t, h, &hub.SubscriptionOptions[int]{Capacity: 2})
		send(t, h, 0)
		s := subscribe(t, h, &hub.SubscriptionOptions[int]{Replay: 2, Filter: func(v int) bool {
			_ = h.Stats()
			if v == 0 {
				send(t, h, 1) // between the values of the replay and those to come
			}
			return true
		}})
		if got := slices.Collect(s.Drain()); !slices.Equal(got, []int{0, 1}) {
			t.Errorf("received %v", got)
		}
		_, _ = first.TryRecv()
		for what, v := range map[string]int{"panic": 7, "Goexit": 8} {
			bad := subscribe(t, h, &hub.SubscriptionOptions[int]{Filter: func(int) bool {
				if v == 7 {
					panic(what)
				}
				runtime.Goexit()
				return false
			}})
			before := h.Stats().Sent
			ended := make(chan any)
			go func() {
				returned := false
				defer func() { ended <- []any{recover(), returned} }()
				_ = h.TrySend(v)
				returned = true
			}()
			want := map[int]string{7: "[panic false]", 8: "[<nil> false]"}[v]
			if got := fmt.Sprint(<-ended); got != want {
				t.Errorf("%s of a filter: recovered and returned %v, want %v", what, got, want)
			}
			if h.Stats().Sent != before {
				t.Errorf("%s of a filter: the value was sent", what)
			}
			bad.Close()
			send(t, h, v) // no lock is held
			_, _ = first.TryRecv()
		}
	})
}

// TestFilterComes: a filter that comes while a sender waits decides about its value. If it panics,
// the sender leaves the wait queue.
func TestFilterComes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := hub.New[int](8, nil)
		full := subscribe(t, h, &hub.SubscriptionOptions[int]{Capacity: 1})
		send(t, h, 0)
		var sending sync.WaitGroup
		sending.Go(func() {
			defer func() {
				if recover() == nil {
					t.Error("the send has not panicked")
				}
			}()
			_ = h.Send(context.Background(), 3)
		})
		sending.Go(func() {
			time.Sleep(time.Second) // behind the other one
			if err := h.Send(context.Background(), 4); err != nil {
				t.Error(err)
			}
		})
		time.Sleep(2 * time.Second)
		s := subscribe(t, h, &hub.SubscriptionOptions[int]{Filter: func(v int) bool {
			if v == 3 {
				panic("odd")
			}
			return true
		}})
		if v, err := full.Recv(t.Context()); v != 0 || err != nil {
			t.Error(v, err)
		}
		sending.Wait()
		for _, r := range []*hub.Subscription[int]{full, s} {
			if got := slices.Collect(r.Drain()); !slices.Equal(got, []int{4}) {
				t.Errorf("received %v, want the value of the other sender", got)
			}
		}
		if n := h.Stats().SendersWaiting; n != 0 {
			t.Errorf("%d senders wait", n)
		}
	})
}

// TestFilterStorm: with filters that come and go, each subscription gets the values that it wants, in
// order and without a gap.
func TestFilterStorm(t *testing.T) {
	ctx := context.Background()
	h := hub.New[int](16, &hub.Options{Replay: 8})
	n := rounds(3000)
	var all sync.WaitGroup
	for guest := range 300 { // more than answers has room for without an allocation
		all.Go(func() {
			for visit := range 4 {
				of := 2 + guest%5
				s, err := h.Subscribe(&hub.SubscriptionOptions[int]{
					Capacity: 8, Replay: visit, Filter: func(v int) bool { return v%of == 0 },
					Overflow: []sluice.Overflow{sluice.Block, sluice.Evict}[guest%2],
				})
				if err != nil {
					return
				}
				last := -1
				for range n / 100 {
					v, err := s.Recv(ctx)
					if err != nil {
						break
					}
					if v%of != 0 || last >= 0 && v != last+of {
						t.Errorf("of the multiples of %d, %d came after %d", of, v, last)
					}
					last = v
				}
				s.Close()
			}
		})
	}
	for v := range n {
		var err error
		if v%3 == 0 {
			_, err = h.SendBatch(ctx, []int{v})
		} else {
			err = h.Send(ctx, v)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	h.Close()
	all.Wait()
}

// TestDropAfter: senders wait once for a subscription that is stuck, which then misses its oldest
// values until it receives again.
func TestDropAfter(t *testing.T) {
	for name, o := range map[string]hub.SubscriptionOptions[int]{
		"":                   {},
		"with OnUndelivered": {OnUndelivered: func(int, sluice.Reason) {}},
		"with Filter":        {Filter: func(v int) bool { return v >= 0 }},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := hub.New[int](8, nil)
				o.Capacity, o.DropAfter = 2, time.Minute
				lost := new(losses)
				if o.OnUndelivered != nil {
					o.OnUndelivered = lost.hook
				}
				s := subscribe(t, h, &o)
				took := func(vs ...int) time.Duration {
					began := time.Now()
					for _, v := range vs {
						if err := h.Send(context.Background(), v); err != nil {
							t.Fatal(err)
						}
					}
					return time.Since(began)
				}
				if d := took(1, 2); d != 0 {
					t.Errorf("sends with room took %v", d)
				}
				if d := took(3); d != time.Minute {
					t.Errorf("the first send without room took %v, want a minute", d)
				}
				if d := took(4, -1, 5, 6); d != 0 {
					t.Errorf("sends to a subscription that is stuck took %v", d)
				}
				if v, err := s.TryRecv(); v != 5 || err != nil {
					t.Errorf("received %d, %v, want 5", v, err)
				}
				if d := took(7); d != 0 {
					t.Errorf("a send with room took %v", d)
				}
				if err := h.TrySend(8); err != sluice.ErrFull {
					t.Errorf("after a receive, a send without room: %v, want %v", err, sluice.ErrFull)
				}
				if got := slices.Collect(s.Drain()); !slices.Equal(got, []int{6, 7}) {
					t.Errorf("received %v, want [6 7]", got)
				}
				if got := s.Stats(); got.Sent-got.Received-got.Dropped != 0 || got.Received != 3 || h.Stats().Evicted != 0 {
					t.Errorf("the account: %+v", got)
				}
				if o.OnUndelivered != nil {
					lost.want(t, "drops", "1 Overflowed, 2 Overflowed, 3 Overflowed, 4 Overflowed, -1 Overflowed")
				}
			})
		})
	}
}

// TestDropAfterPasses: several senders that wait for a stuck subscription all go on.
func TestDropAfterPasses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := hub.New[int](8, nil)
		s := subscribe(t, h, &hub.SubscriptionOptions[int]{Capacity: 1, DropAfter: time.Minute})
		send(t, h, 0)
		began := time.Now()
		var sending sync.WaitGroup
		for v := range 10 {
			sending.Go(func() { _ = h.Send(context.Background(), v) })
		}
		sending.Wait()
		if d := time.Since(began); d != time.Minute || s.Stats().Dropped != 10 {
			t.Errorf("ten senders took %v, with %+v", d, s.Stats())
		}
	})
}
