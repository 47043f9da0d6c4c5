package workers_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/workers"
)

// TestRunKeyedEndsEarly ends RunKeyed in each way, at random moments, and accounts for all
// jobs.
func TestRunKeyedEndsEarly(t *testing.T) {
	const jobs = 2000
	for _, way := range []string{"error", "cancel", "panic", "Goexit", "close", "panic in key", "panic in OnExcess"} {
		t.Run(way, func(t *testing.T) {
			for seed := range uint64(40) {
				random := rand.New(rand.NewPCG(seed, 5))
				n, last := 1+random.IntN(8), random.Int64N(jobs/2)
				c, l, r := jobChannels["Bounded 4"](), newTimesheet(t, jobs), newRoster(t, 1+random.IntN(9), 1)
				ctx, cancel := context.WithCancel(t.Context())
				fed := goFeed(c, jobs)
				sent := make(chan int, 1)
				go func() {
					sent <- fed()
					c.Close() // what is due may not happen
				}()
				var calls, after atomic.Int64
				due := func(where string) bool { return way == where && calls.Add(1) == last+1 }
				o := &workers.KeyedOptions[int]{OnUnprocessed: l.undone}
				if random.IntN(2) == 0 || way == "panic in OnExcess" {
					o.MaxPerKey = 1 + random.IntN(9)
					o.OnExcess = func(job int) {
						l.do(job)
						if due("panic in OnExcess") {
							panic(errPlanted)
						}
					}
				}
				var inKey int64
				end := ended(func() error {
					return workers.RunKeyed(ctx, c, n, func(job int) int {
						if way == "panic in key" {
							if inKey++; inKey == last+1 {
								panic(errPlanted)
							}
						}
						return r.key(job)
					}, func(ctx context.Context, job int) error {
						if ctx.Err() != nil {
							after.Add(1)
						}
						r.run(job, func() {
							l.do(job)
							switch {
							case due("panic"):
								panic(errPlanted)
							case due("Goexit"):
								runtime.Goexit()
							case due("cancel"):
								cancel()
							case due("close"):
								c.Close()
							case job%61 == 0:
								runtime.Gosched()
							}
						})
						if due("error") {
							return errPlanted
						}
						return nil
					}, o)
				})
				cancel()
				c.Close()
				l.balance(<-sent, c)
				// Each worker may have been about to call f.
				if way != "cancel" && after.Load() > int64(n) {
					t.Errorf("%d of %d workers started a job after the end", after.Load(), n)
				}
				want := map[string]string{
					"error": "planted", "cancel": context.Canceled.Error(), "Goexit": "Goexit", "close": "returned",
				}[way]
				if want == "" {
					want = "panic"
				}
				if happened := max(calls.Load(), inKey) > last; end != want && (happened || end != "returned") {
					t.Errorf("seed %d: RunKeyed ended with %q", seed, end)
				}
			}
		})
	}
}

// ended returns how a call of RunKeyed ended.
func ended(f func() error) (how string) {
	var all sync.WaitGroup
	all.Go(func() {
		how = "Goexit"
		defer func() {
			if value := recover(); value != nil {
				how = fmt.Sprint("panic: ", value)
				if p, ok := value.(*workers.PanicError); ok && errors.Is(p, errPlanted) {
					how = "panic"
				}
			}
		}()
		if err := f(); err != nil {
			how = err.Error()
		} else {
			how = "returned"
		}
	})
	all.Wait()
	return how
}

// TestRunKeyedBadKeys: keys that are not equal to themselves, and keys that cannot be hashed.
func TestRunKeyedBadKeys(t *testing.T) {
	run := func(key func(int) any) func() error {
		return func() error {
			c := sluice.NewBounded[int](4, nil)
			_, _ = c.TrySend(1), c.TrySend(2)
			left := 0
			defer func() {
				if left+c.Stats().Len != 2 {
					t.Errorf("%d jobs are unprocessed, and %d in the channel", left, c.Stats().Len)
				}
			}()
			return workers.RunKeyed(t.Context(), c, 1, key, func(context.Context, int) error { return nil },
				&workers.KeyedOptions[int]{OnUnprocessed: func(int) { left++ }})
		}
	}
	for want, key := range map[string]func(int) any{
		"panic: workers: RunKeyed: the key NaN is not equal to itself": func(int) any { return math.NaN() },
		"panic: hash of unhashable type: []int":                        func(int) any { return []int{} },
	} {
		if got := ended(run(key)); len(got) < len(want) || got[:len(want)] != want {
			t.Errorf("RunKeyed ended with %q, want %q", got, want)
		}
	}
}

func TestRunKeyedBadInput(t *testing.T) {
	ctx := context.Background()
	c := sluice.NewBounded[int](1, nil)
	f := func(context.Context, int) error { return nil }
	key := func(int) int { return 0 }
	type options = workers.KeyedOptions[int]
	run := func(o options) func() {
		return func() { _ = workers.RunKeyed(ctx, c, 2, key, f, &o) }
	}
	for want, call := range map[string]func(){
		"workers: RunKeyed: nil context":                                               func() { _ = workers.RunKeyed(nil, c, 1, key, f, nil) }, //lint:ignore SA1012 on purpose
		"workers: RunKeyed: nil receiver":                                              func() { _ = workers.RunKeyed(ctx, nil, 1, key, f, nil) },
		"workers: RunKeyed: nil key":                                                   func() { _ = workers.RunKeyed[int, int](ctx, c, 1, nil, f, nil) },
		"workers: RunKeyed: nil f":                                                     func() { _ = workers.RunKeyed(ctx, c, 1, key, nil, nil) },
		"workers: RunKeyed: n is 0 (want 1 or more)":                                   func() { _ = workers.RunKeyed(ctx, c, 0, key, f, nil) },
		"workers: RunKeyed: PerKey is -1 (want 0 or more)":                             run(options{PerKey: -1}),
		"workers: RunKeyed: MaxAhead is -1 (want 0 or more)":                           run(options{MaxAhead: -1}),
		"workers: RunKeyed: MaxPerKey is -1 (want 0 or more)":                          run(options{MaxPerKey: -1}),
		"workers: RunKeyed: MaxDelay is -1ns (want 0 or more)":                         run(options{MaxDelay: -1}),
		"workers: RunKeyed: MaxPerKey and OnExcess require each other":                 run(options{MaxPerKey: 1}),
		"workers: RunKeyed: MaxPerKey is 8 (want less than MaxAhead, which is 8)":      run(options{MaxPerKey: 8, MaxAhead: 8, OnExcess: func(int) {}}),
		fmt.Sprintf("workers: RunKeyed: MaxAhead is %d (want 1<<30 or less)", 1<<30+1): run(options{MaxAhead: 1<<30 + 1}),
	} {
		func() {
			defer func() {
				if got := recover(); got != want {
					t.Errorf("panic %v, want %v", got, want)
				}
			}()
			call()
		}()
	}
}
