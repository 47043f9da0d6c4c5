package batch_test

import (
	"context"
	"fmt"
	"iter"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/batch"
)

// A stranger is a BatchReceiver of another package. It derives contexts and cancels them
// late.
type stranger struct {
	*sluice.Elastic[int]
	cancel context.CancelFunc
}

func (s *stranger) RecvBatch(ctx context.Context, buf []int) (int, error) {
	if s.cancel != nil {
		s.cancel()
	}
	outer, cancelOuter := context.WithCancel(ctx)
	inner, cancelInner := context.WithCancel(ctx)
	s.cancel = func() { cancelOuter(); cancelInner() }
	if inner.Err() != nil {
		return s.Elastic.RecvBatch(inner, buf)
	}
	return s.Elastic.RecvBatch(outer, buf)
}

// queues makes channels with room for all values of these tests, by name. The last
// result must be called at the end.
var queues = map[string]func() (sluice.Sender[int], sluice.BatchReceiver[int], func()){
	"Bounded": func() (sluice.Sender[int], sluice.BatchReceiver[int], func()) {
		c := sluice.NewBounded[int](1024, nil)
		return c, c, c.Close
	},
	"Bounded 15": func() (sluice.Sender[int], sluice.BatchReceiver[int], func()) {
		c := sluice.NewBounded[int](15, nil) // the most values that any test has queued at once
		return c, c, c.Close
	},
	"Elastic one to one": func() (sluice.Sender[int], sluice.BatchReceiver[int], func()) {
		c := sluice.NewElastic(sluice.Unlimited, &sluice.ElasticOptions[int]{SingleSender: true, SingleReceiver: true})
		return c, c, c.Close
	},
	"Elastic bytes": func() (sluice.Sender[int], sluice.BatchReceiver[int], func()) {
		c := sluice.NewElastic(1000, &sluice.ElasticOptions[int]{MaxBytes: 1000, Size: func(int) int { return 1 }})
		return c, c, c.Close
	},
	"stranger": func() (sluice.Sender[int], sluice.BatchReceiver[int], func()) {
		c := sluice.NewElastic[int](sluice.Unlimited, nil)
		s := &stranger{Elastic: c}
		return c, s, func() {
			c.Close()
			if s.cancel != nil {
				s.cancel()
			}
		}
	},
}

// inBubbles runs f with each of the queues, in a bubble.
func inBubbles(t *testing.T, f func(t *testing.T, s sluice.Sender[int], r sluice.BatchReceiver[int])) {
	for name, make := range queues {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, r, end := make()
				defer end()
				f(t, s, r)
			})
		})
	}
}

func mustSend(t *testing.T, s sluice.Sender[int], vs ...int) {
	t.Helper()
	for _, v := range vs {
		if err := s.Send(t.Context(), v); err != nil {
			t.Errorf("Send of %d: %v", v, err)
		}
	}
}

// Values that are queued at once are cut into batches of max.
func TestReceiveOfMax(t *testing.T) {
	for _, linger := range []time.Duration{0, time.Second} {
		inBubbles(t, func(t *testing.T, s sluice.Sender[int], r sluice.BatchReceiver[int]) {
			mustSend(t, s, sequence(10)...)
			s.Close()
			start := time.Now()
			var got [][]int
			batches := batch.Receive(t.Context(), r, 4, withLinger(linger))
			for batch := range batches.All() {
				got = append(got, slices.Clone(batch))
			}
			if want := "[[0 1 2 3] [4 5 6 7] [8 9]]"; fmt.Sprint(got) != want {
				t.Errorf("linger %v: %v, want %v", linger, got, want)
			}
			if waited := time.Since(start); waited != 0 {
				t.Errorf("linger %v: waited %v on a closed channel", linger, waited)
			}
			for batch := range batches.All() { // a second loop
				t.Errorf("a second loop yields %v", batch)
			}
		})
	}
}

// Batches of a Rendezvous are made of waiting senders.
func TestReceiveOfRendezvous(t *testing.T) {
	for _, linger := range []time.Duration{0, time.Second} {
		for _, capacity := range []int{0, 1, 16} {
			synctest.Test(t, func(t *testing.T) {
				c := kindOf(capacity)
				go func() {
					mustSend(t, c, sequence(100)...)
					c.Close()
				}()
				var got []int
				for batch := range batch.Receive(t.Context(), c, 7, withLinger(linger)).All() {
					if linger > 0 && len(batch) != 7 && len(got)+len(batch) != 100 {
						t.Errorf("capacity %d: a batch of %d while the sender continues", capacity, len(batch))
					}
					got = append(got, batch...)
				}
				if !slices.Equal(got, sequence(100)) {
					t.Errorf("capacity %d: got %v", capacity, got)
				}
			})
		}
	}
}

// TestReceiveTiming compares random schedules with a calculation: each batch is yielded
// at the moment at which it is full, or exactly linger after its first value was
// received. Sends happen at whole milliseconds, deadlines never do.
func TestReceiveTiming(t *testing.T) {
	inBubbles(t, func(t *testing.T, s sluice.Sender[int], r sluice.BatchReceiver[int]) {
		for seed := range uint64(30) {
			random := rand.New(rand.NewPCG(seed, 1))
			most := 1 + random.IntN(6)
			linger := time.Duration(random.IntN(6))*time.Millisecond + 7*time.Microsecond
			slow := func() time.Duration { // the time that the body takes
				if random.IntN(3) > 0 {
					return 0
				}
				return time.Duration(random.IntN(8))*time.Millisecond + time.Microsecond
			}
			var times []time.Duration // of sends
			at := time.Millisecond
			for range 50 {
				if random.IntN(8) == 0 {
					at += 20 * time.Millisecond
				}
				at += time.Duration(random.IntN(3)) * time.Millisecond
				times = append(times, at)
			}
			start := time.Now()
			go func() {
				for i, at := range times {
					time.Sleep(time.Until(start.Add(at)))
					mustSend(t, s, i)
				}
			}()
			ctx, cancel := context.WithCancel(t.Context())
			next := 0
			ready := time.Duration(0) // when the loop began to wait
			for batch := range batch.Receive(ctx, sluice.LeaveOpen(r), most, withLinger(linger)).All() {
				first := max(ready, times[next])
				want, end := 1, first+linger
				for want < most && next+want < len(times) && times[next+want] < end {
					want++
				}
				if want == most {
					end = max(first, times[next+most-1])
				}
				now := time.Since(start)
				if !slices.Equal(batch, sequence(len(times))[next:next+want]) || now != end {
					t.Fatalf("seed %d, max %d, linger %v: got %v after %v, want %d values from %d after %v",
						seed, most, linger, batch, now, want, next, end)
				}
				if next += want; next == len(times) {
					break
				}
				time.Sleep(slow())
				ready = time.Since(start)
			}
			cancel()
			if next != len(times) {
				t.Fatalf("seed %d: the loop ended at value %d", seed, next)
			}
		}
	})
}

// The loop ends with no value, one value, or more in a batch: they are yielded at that
// moment.
func TestReceiveEnd(t *testing.T) {
	for _, cancelled := range []bool{false, true} {
		inBubbles(t, func(t *testing.T, s sluice.Sender[int], r sluice.BatchReceiver[int]) {
			if cancelled {
				for collected := range 6 {
					endBatches(t, s, r, collected, true)
				}
			}
			endBatches(t, s, r, 3, false)
		})
	}
}

func endBatches(t *testing.T, s sluice.Sender[int], r sluice.BatchReceiver[int], collected int, cancelled bool) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	start := time.Now()
	go func() {
		mustSend(t, s, sequence(collected)...)
		time.Sleep(time.Second)
		if cancelled {
			cancel()
		} else {
			s.Close()
		}
	}()
	var got []int
	batches := batch.Receive(ctx, sluice.LeaveOpen(r), 10, withLinger(time.Hour))
	for batch := range batches.All() {
		got = append(got, batch...)
	}
	if !slices.Equal(got, sequence(collected)) || time.Since(start) != time.Second {
		t.Errorf("got %v after %v, want %d values after 1s", got, time.Since(start), collected)
	}
	if err := batches.Err(); err != ctx.Err() || (err != nil) != cancelled {
		t.Errorf("Err is %v, and ctx.Err %v", err, ctx.Err())
	}
}

// The loop checks a context that is done only when it would wait.
func TestReceiveUnderDoneContext(t *testing.T) {
	inBubbles(t, func(t *testing.T, s sluice.Sender[int], r sluice.BatchReceiver[int]) {
		mustSend(t, s, sequence(5)...)
		var got [][]int
		for batch := range batch.Receive(closedContext(), r, 3, withLinger(time.Hour)).All() {
			got = append(got, slices.Clone(batch))
		}
		if want := "[[0 1 2] [3 4]]"; fmt.Sprint(got) != want {
			t.Errorf("got %v, want %v", got, want)
		}
	})
}

func TestReceiveBadInput(t *testing.T) {
	c := sluice.NewBounded[int](1, nil)
	var none context.Context
	mustPanic(t, "Receive", []string{"nil context"}, func() { batch.Receive(none, c, 1, nil) })
	mustPanic(t, "Receive", []string{"nil receiver"}, func() { batch.Receive[int](t.Context(), nil, 1, nil) })
	mustPanic(t, "Receive", []string{"*sluice.Bounded[int]"}, func() { batch.Receive(t.Context(), new(sluice.Bounded[int]), 1, nil) })
	for _, n := range []int{0, -1, math.MinInt} {
		mustPanic(t, "Receive", []string{"max", fmt.Sprint(n)}, func() { batch.Receive[int](t.Context(), c, n, nil) })
	}
	mustPanic(t, "Receive", []string{"Linger", "-1ns"}, func() { batch.Receive[int](t.Context(), c, 1, withLinger(-1)) })
}

// A max beyond all memory allocates no memory in advance, and a large max is reached
// exactly.
func TestReceiveHuge(t *testing.T) {
	const n = 300_000 // twice what is allocated at once, and more
	for _, max := range []int{math.MaxInt, 1 << 40 & math.MaxInt, n, n - 1, 200_000} {
		if max < 1 { // with 32 bits
			continue
		}
		c := sluice.NewElastic[int](sluice.Unlimited, nil)
		_, _ = c.SendBatch(t.Context(), sequence(n))
		c.Close()
		next := 0
		for batch := range batch.Receive(t.Context(), c, max, withLinger(time.Hour)).All() {
			if len(batch) != min(max, n-next) || batch[0] != next || batch[len(batch)-1] != next+len(batch)-1 {
				t.Errorf("max %d: a batch of %d from %d, at value %d", max, len(batch), batch[0], next)
			}
			next += len(batch)
		}
		if next != n {
			t.Errorf("max %d: %d values of %d", max, next, n)
		}
	}
}

// TestReceiveAllocatesNothing: neither full batches nor batches that linger allocate.
func TestReceiveAllocatesNothing(t *testing.T) {
	for max, c := range map[int]sluice.Channel[int]{1: sluice.NewElastic[int](8, nil), 4: sluice.NewBounded[int](8, nil)} {
		next, stop := iter.Pull(batch.Receive(t.Context(), c, max, withLinger(time.Microsecond)).All())
		allocated := testing.AllocsPerRun(200, func() {
			_ = c.TrySend(1)
			if batch, ok := next(); !ok || len(batch) != 1 {
				t.Errorf("got %v, %v", batch, ok)
			}
		})
		stop()
		if allocated != 0 {
			t.Errorf("max %d: %v allocations per batch", max, allocated)
		}
	}
}

// tokens is a context such as a loop over batches uses: its Done channel is never
// closed.
type tokens struct {
	context.Context
	done    chan struct{}
	stopped bool
}

func (c *tokens) Done() <-chan struct{} { return c.done }

func (c *tokens) Err() error {
	if c.stopped {
		return context.DeadlineExceeded
	}
	return nil
}

// TestTokensAreEnough: each engine checks Err before it waits, and receives from Done at
// most once per call. tokenLinger depends on it.
func TestTokensAreEnough(t *testing.T) {
	kinds := map[string]func() sluice.Channel[int]{
		"Sharded": func() sluice.Channel[int] { return sluice.NewSharded[int](4, nil) },
	}
	for _, s := range []shape{
		{}, {capacity: 1}, {capacity: 15, oneReceiver: true}, {capacity: 16},
		{capacity: 64, oneReceiver: true}, {capacity: sluice.Unlimited, elastic: true}, {capacity: 100, elastic: true, bytes: true},
	} {
		kinds[s.String()] = func() sluice.Channel[int] { return open(s, nil) }
	}
	for name, open := range kinds {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := open()
				ctx := &tokens{Context: t.Context(), done: make(chan struct{}, 2)}
				ended := make(chan error)
				go func() {
					_, err := c.RecvBatch(ctx, make([]int, 3))
					ended <- err
				}()
				synctest.Wait()
				ctx.stopped = true
				ctx.done <- struct{}{}
				ctx.done <- struct{}{}
				if err := <-ended; err != context.DeadlineExceeded {
					t.Errorf("RecvBatch: %v", err)
				}
				if len(ctx.done) != 1 {
					t.Errorf("%d of 2 tokens left", len(ctx.done))
				}
				<-ctx.done
				if _, err := c.RecvBatch(ctx, make([]int, 3)); err != context.DeadlineExceeded { // hangs if Err is not checked
					t.Errorf("RecvBatch again: %v", err)
				}
			})
		})
	}
}
