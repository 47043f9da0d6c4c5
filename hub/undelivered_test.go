package hub_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/hub"
)

// losses are what a hook got.
type losses struct {
	mu  sync.Mutex
	all []string
}

func (l *losses) hook(v int, why sluice.Reason) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, fmt.Sprint(v, " ", why))
}

func (l *losses) want(t *testing.T, when, want string) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	if got := strings.Join(l.all, ", "); got != want {
		t.Errorf("%s the hook got %q, want %q", when, got, want)
	}
}

func subscribeFunc(t *testing.T, h *hub.Hub[int], o *hub.SubscriptionOptions[int], hook func(int, sluice.Reason)) *hub.Subscription[int] {
	t.Helper()
	o.OnUndelivered = hook
	return subscribe(t, h, o)
}

// The hook gets each value that is dropped or discarded, in order, with the reason, and no
// value that is received. The account agrees.
func TestUndelivered(t *testing.T) {
	for _, test := range []struct {
		policy              sluice.Overflow
		sent, closed, taken string
	}{
		{sluice.DropOldest, "1 Overflowed, 2 Overflowed", "4 Discarded", "3"},
		{sluice.DropNewest, "3 Overflowed, 4 Overflowed", "2 Discarded", "1"},
		{sluice.Evict, "1 Overflowed, 2 Overflowed, 3 Overflowed", "", ""},
	} {
		h := hub.New[int](8, &hub.Options{Replay: 1})
		send(t, h, 1)
		var l losses
		s := subscribeFunc(t, h, &hub.SubscriptionOptions[int]{Capacity: 2, Overflow: test.policy, Replay: 1}, l.hook)
		send(t, h, 2)
		l.want(t, fmt.Sprint(test.policy, ": before it is full,"), "")
		send(t, h, 3, 4)
		l.want(t, fmt.Sprint(test.policy, ": by the sends,"), test.sent)
		if v, err := s.TryRecv(); test.taken != "" && fmt.Sprint(v, err) != test.taken+" <nil>" {
			t.Errorf("%v: received %v, %v", test.policy, v, err)
		}
		s.Close()
		s.Close()
		send(t, h, 5)
		want := test.sent
		if test.closed != "" {
			want += ", " + test.closed
		}
		l.want(t, fmt.Sprint(test.policy, ": after Close,"), want)
		if n := s.Stats().Dropped; n != uint64(len(l.all)) {
			t.Errorf("%v: %d dropped, the hook got %d", test.policy, n, len(l.all))
		}
	}
}

// The values of a queue that spans blocks are all reported, whatever its size.
func TestUndeliveredQueues(t *testing.T) {
	for _, policy := range []sluice.Overflow{sluice.DropOldest, sluice.DropNewest, sluice.Block, sluice.Evict} {
		for _, limit := range []int{1, 2, 3, 63, 64, 65, 128, 200, 1000} {
			for _, before := range []int{0, 1, 63, 100} {
				h := hub.New[int](limit, nil)
				send(t, h, slices.Repeat([]int{-1}, before)...)
				var got []int
				s := subscribeFunc(t, h, &hub.SubscriptionOptions[int]{Overflow: policy}, func(v int, _ sluice.Reason) { got = append(got, v) })
				want := limit
				if policy == sluice.Evict {
					want++
				}
				for i := range want {
					send(t, h, i)
				}
				s.Close()
				if len(got) != want || !slices.IsSorted(got) || got[0] != 0 || got[want-1] != want-1 {
					t.Fatalf("%v, limit %d, after %d values: %d values from %v", policy, limit, before, len(got), got[:min(len(got), 5)])
				}
			}
		}
	}
}

// An eviction by the timer reports the queue, and so does Close while a sender waits. After
// Close of the Hub, the queue can be received, and what is not is reported by Close of the
// subscription.
func TestUndeliveredAtEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := hub.New[int](8, nil)
		var slow, left, last losses
		subscribeFunc(t, h, &hub.SubscriptionOptions[int]{Capacity: 2, Overflow: sluice.Block, EvictAfter: time.Minute}, slow.hook)
		leaves := subscribeFunc(t, h, &hub.SubscriptionOptions[int]{Capacity: 2, Overflow: sluice.Block}, left.hook)
		stays := subscribeFunc(t, h, dropOldest(), last.hook)
		send(t, h, 1, 2)
		go func() { _ = h.Send(context.Background(), 3) }()
		time.Sleep(time.Minute)
		synctest.Wait()
		slow.want(t, "after the eviction", "1 Overflowed, 2 Overflowed")
		left.want(t, "before Close", "")
		leaves.Close()
		left.want(t, "after Close", "1 Discarded, 2 Discarded")
		synctest.Wait()
		h.Close()
		if v, err := stays.TryRecv(); v != 1 || err != nil {
			t.Errorf("received %v, %v", v, err)
		}
		last.want(t, "after Close of the Hub", "")
		stays.Close()
		last.want(t, "after all", "2 Discarded, 3 Discarded")
	})
}

// A send that waits calls hooks outside of its wait queue: they may use the Hub.
func TestUndeliveredUsesHub(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := hub.New[int](4, nil)
		var l losses
		var s *hub.Subscription[int]
		s = subscribeFunc(t, h, &hub.SubscriptionOptions[int]{Overflow: sluice.DropOldest, Capacity: 1}, func(v int, why sluice.Reason) {
			l.hook(v, why)
			if _ = h.Stats(); s.Len() == 1 && v < 100 {
				_ = h.TrySend(100 + v) // drops one more
			}
		})
		blocks := subscribe(t, h, &hub.SubscriptionOptions[int]{Capacity: 2, Overflow: sluice.Block})
		sent := make(chan error)
		go func() {
			_, err := h.SendBatch(context.Background(), []int{1, 2, 3, 4, 5})
			sent <- err
		}()
		synctest.Wait()
		l.want(t, "while the sender waits", "1 Overflowed")
		received := 0
		for done := false; !done; {
			if _, err := blocks.TryRecv(); err == nil {
				received++
			}
			synctest.Wait()
			select {
			case err := <-sent:
				if done = true; err != nil {
					t.Errorf("SendBatch: %v", err)
				}
			default:
			}
		}
		l.mu.Lock()
		defer l.mu.Unlock()
		if got := len(l.all); uint64(got) != s.Stats().Dropped || got < 4 {
			t.Errorf("the hook got %v, %d are dropped", l.all, s.Stats().Dropped)
		}
	})
}

// If a hook panics, so does the call, after the hooks of the other values; the value is
// sent.
func TestUndeliveredPanics(t *testing.T) {
	h := hub.New[int](4, nil)
	var l losses
	subscribeFunc(t, h, &hub.SubscriptionOptions[int]{Overflow: sluice.DropOldest, Capacity: 1}, func(v int, _ sluice.Reason) {
		if v == 1 {
			panic(fmt.Sprint("hook of ", v))
		}
	})
	subscribeFunc(t, h, &hub.SubscriptionOptions[int]{Overflow: sluice.DropOldest, Capacity: 1}, l.hook)
	plain := subscribe(t, h, dropOldest())
	send(t, h, 1)
	func() {
		defer func() {
			if r := recover(); r != "hook of 1" {
				t.Errorf("recovered %v", r)
			}
		}()
		_ = h.TrySend(2)
	}()
	l.want(t, "after the panic", "1 Overflowed")
	if n := plain.Len(); n != 2 {
		t.Errorf("%d values are queued", n)
	}
}

// Each value is given to the hook once, whatever its other calls do, and the first panic goes on.
func TestUndeliveredPanicsAgain(t *testing.T) {
	for _, exits := range []int{0, 1, 3} { // no value, the first one, one after a panic
		h := hub.New[int](8, nil)
		var l losses
		s := subscribeFunc(t, h, dropOldest(), func(v int, why sluice.Reason) {
			l.hook(v, why)
			if v == exits {
				runtime.Goexit()
			}
			if v == 2 || v == 4 {
				panic(v)
			}
		})
		send(t, h, 1, 2, 3, 4, 5)
		ended := make(chan any)
		go func() {
			defer close(ended)
			defer func() {
				if r := recover(); r != nil {
					ended <- r
				}
			}()
			s.Close()
			t.Error("Close has returned")
		}()
		if r := <-ended; r != 2 {
			t.Errorf("exit at %d: recovered %v, want the first panic", exits, r)
		}
		l.want(t, "after Close", "1 Discarded, 2 Discarded, 3 Discarded, 4 Discarded, 5 Discarded")
	}
}

// With several senders and receivers, and an end at any moment, each value is received or
// reported, once.
func TestUndeliveredOnce(t *testing.T) {
	const senders, each = 4, 500
	for i := range 40 {
		h := hub.New[int](64, nil)
		policy := policies[i%4]
		var mu sync.Mutex
		seen := map[int]int{}
		note := func(v int) {
			mu.Lock()
			defer mu.Unlock()
			seen[v]++
		}
		s := subscribeFunc(t, h, &hub.SubscriptionOptions[int]{Capacity: 1 + i, Overflow: policy}, func(v int, _ sluice.Reason) { note(v) })
		var sending, receiving sync.WaitGroup
		for n := range senders {
			sending.Go(func() {
				for v := range each {
					if err := h.Send(context.Background(), n*each+v); err != nil {
						t.Error(err)
					}
				}
			})
		}
		for range 2 {
			receiving.Go(func() {
				for {
					v, err := s.Recv(context.Background())
					if err != nil {
						if err != sluice.ErrClosed && !errors.Is(err, hub.ErrEvicted) {
							t.Error(err)
						}
						return
					}
					if note(v); v%each == each/2 && i%3 == 0 {
						s.Close()
					}
				}
			})
		}
		sending.Wait()
		h.Close()
		receiving.Wait()
		s.Close()
		for v, n := range seen {
			if n != 1 {
				t.Fatalf("%v: value %d came %d times", policy, v, n)
			}
		}
		if got := uint64(len(seen)); got != s.Stats().Sent {
			t.Fatalf("%v: %d values received or reported, of %d", policy, got, s.Stats().Sent)
		}
	}
}
