package workers_test

import (
	"context"
	"fmt"
	"iter"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/internal/suite"
	"github.com/sluice-go/sluice/workers"
)

// mappings are unordered and ordered, with narrow and wide windows.
var mappings = map[string]workers.MapOptions[int]{
	"unordered": {},
	"ordered":   {Ordered: true},
	"window 1":  {Ordered: true, MaxAhead: 1},
	"window 5":  {Ordered: true, MaxAhead: 5},
}

// backlog returns a closed channel with the jobs 0 … n-1.
func backlog(n int) sluice.Channel[int] {
	c := sluice.NewElastic[int](sluice.Unlimited, nil)
	for job := range n {
		c.TrySend(job)
	}
	c.Close()
	return c
}

// square is the job of most tests.
func square(_ context.Context, job int) (int, error) {
	if job%61 == 0 {
		runtime.Gosched()
	}
	return job * job, nil
}

func TestMapYieldsEachResultOnce(t *testing.T) {
	for name, o := range mappings {
		for kind, make := range jobChannels {
			for _, n := range []int{1, 2, 7, 100} {
				t.Run(fmt.Sprint(name, " ", kind, " ", n), func(t *testing.T) {
					const jobs = 2000
					c := make()
					go func() {
						feed(t.Context(), c, jobs)
						c.Close()
					}()
					m := workers.Map(t.Context(), c, n, square, &o)
					results := slices.Collect(m.All())
					if !o.Ordered {
						slices.Sort(results)
					}
					if len(results) != jobs || m.Err() != nil {
						t.Fatalf("%d results of %d, error %v", len(results), jobs, m.Err())
					}
					for i, u := range results {
						if u != i*i {
							t.Fatalf("result %d is %d", i, u)
						}
					}
				})
			}
		}
	}
}

// TestMapIsLazyAndOnce: no job is received before the loop, and a second loop yields
// nothing.
func TestMapIsLazyAndOnce(t *testing.T) {
	c := backlog(3)
	m := workers.Map(t.Context(), c, 2, square, nil)
	all := m.All()
	if c.Len() != 3 || m.Err() != nil {
		t.Errorf("%d of 3 jobs left before the loop", c.Len())
	}
	for range all {
	}
	for _, again := range []iter.Seq[int]{all, m.All()} {
		for range again {
			t.Error("a second loop yields")
		}
		if m.Err() != nil {
			t.Errorf("after a second loop: %v", m.Err())
		}
	}
}

// TestMapWindow: behind a slow first job, MaxAhead jobs are started and no more. When
// it is done the others follow.
func TestMapWindow(t *testing.T) {
	for _, width := range []int{1, 2, 7, 64, 100} {
		synctest.Test(t, func(t *testing.T) {
			const jobs = 500
			var begun atomic.Int64
			free := make(chan struct{})
			m := workers.Map(t.Context(), backlog(jobs), 3, func(_ context.Context, job int) (int, error) {
				begun.Add(1)
				if job == 0 {
					<-free
				}
				return job, nil
			}, &workers.MapOptions[int]{Ordered: true, MaxAhead: width})
			go func() {
				synctest.Wait()
				if begun.Load() != int64(width) {
					t.Errorf("window %d: %d jobs started", width, begun.Load())
				}
				close(free)
			}()
			if results := slices.Collect(m.All()); len(results) != jobs {
				t.Errorf("%d results of %d", len(results), jobs)
			}
		})
	}
}

// TestMapDoesNotHoldResults: a result can be received as soon as it is computed,
// whatever its worker does next.
func TestMapDoesNotHoldResults(t *testing.T) {
	for name, o := range mappings {
		if o.MaxAhead > 0 {
			continue
		}
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := sluice.NewElastic[int](sluice.Unlimited, nil)
				free := make(chan struct{})
				m := workers.Map(t.Context(), c, 2, func(_ context.Context, job int) (int, error) {
					if job == 999 || job == 500 {
						<-free
					}
					return job, nil
				}, &o)
				var results atomic.Int64
				ended := false
				go func() {
					for range m.All() {
						results.Add(1)
					}
					ended = true
				}()
				run := make([]int, 1000)
				for i := range run {
					run[i] = i
				}
				c.SendBatch(t.Context(), run[:999])
				synctest.Wait()
				want := int64(998)
				if o.Ordered {
					want = 500
				}
				if results.Load() != want {
					t.Errorf("%d results of %d, with one job running", results.Load(), want)
				}
				c.Send(t.Context(), run[999])
				c.Close()
				if synctest.Wait(); results.Load() != want {
					t.Errorf("%d results of %d, with two jobs running", results.Load(), want)
				}
				close(free)
				if synctest.Wait(); !ended || results.Load() != 1000 {
					t.Errorf("%d results of 1000 at the end", results.Load())
				}
			})
		})
	}
}

// TestMapBackpressure: a slow body stops the workers.
func TestMapBackpressure(t *testing.T) {
	for name, o := range mappings {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const jobs, n = 20_000, 3
				var begun atomic.Int64
				m := workers.Map(t.Context(), backlog(jobs), n, func(_ context.Context, job int) (int, error) {
					begun.Add(1)
					return job, nil
				}, &o)
				results := 0
				for range m.All() {
					if results++; results%7000 != 1 {
						continue
					}
					synctest.Wait()
					// The results in the buffers, those taken for the loop, and
					// one of each worker.
					limit := int64(results + n*128 + 128 + n)
					if o.Ordered {
						limit = int64(results + max(o.MaxAhead, 64) + max(o.MaxAhead, 1024))
					}
					if begun.Load() > limit {
						t.Errorf("%d jobs started at result %d, want at most %d", begun.Load(), results, limit)
					}
				}
				if results != jobs {
					t.Errorf("%d results of %d", results, jobs)
				}
			})
		})
	}
}

// TestMapRest is TestRunRest with Ordered, where one worker at a time receives.
func TestMapRest(t *testing.T) {
	for seed := range uint64(12) {
		synctest.Test(t, func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 7))
			n, width := 1+random.IntN(6), 1+random.IntN(40)
			c := sluice.NewElastic[int](sluice.Unlimited, nil)
			pass := make([]chan error, 1000)
			for i := range pass {
				pass[i] = make(chan error)
			}
			var mu sync.Mutex
			running := map[int]bool{}
			var yielded atomic.Int64
			ended := false
			go func() {
				m := workers.Map(t.Context(), c, n, func(_ context.Context, job int) (int, error) {
					mu.Lock()
					running[job] = true
					mu.Unlock()
					return job, <-pass[job]
				}, &workers.MapOptions[int]{Ordered: true, MaxAhead: width})
				for job := range m.All() {
					if job != int(yielded.Load()) {
						t.Errorf("job %d yielded after %d", job, yielded.Load())
					}
					yielded.Add(1)
				}
				ended = true
			}()
			finished := map[int]bool{}
			sent, first := 0, 0
			check := func() {
				synctest.Wait()
				for finished[first] {
					first++
				}
				if int(yielded.Load()) != first {
					t.Fatalf("%d results were yielded, want %d", yielded.Load(), first)
				}
				// All unfinished jobs inside the window may run.
				open := 0
				for job := first; job < min(sent, first+width); job++ {
					if !finished[job] {
						open++
					}
				}
				if len(running) != min(n, open) {
					t.Fatalf("%d of %d workers run, with %d jobs in the window of %d", len(running), n, open, width)
				}
			}
			for range 400 {
				if random.IntN(8) == 0 && sent < len(pass)-20 {
					for range 1 + random.IntN(20) {
						c.TrySend(sent)
						sent++
					}
				} else if len(running) > 0 {
					jobs := make([]int, 0, len(running))
					for job := range running {
						jobs = append(jobs, job)
					}
					slices.Sort(jobs)
					job := jobs[random.IntN(len(jobs))]
					delete(running, job)
					finished[job] = true
					pass[job] <- nil
				}
				check()
			}
			c.Close()
			for _, p := range pass {
				close(p)
			}
			if synctest.Wait(); !ended || int(yielded.Load()) != sent {
				t.Errorf("%d results of %d at the end", yielded.Load(), sent)
			}
		})
	}
}

func TestMapKeepsNothingAlive(t *testing.T) {
	for _, ordered := range []bool{false, true} {
		c := sluice.NewElastic[int](sluice.Unlimited, nil)
		for i := range 1000 {
			c.TrySend(i)
		}
		var freed atomic.Int64
		m := workers.Map(t.Context(), c, 3, func(context.Context, int) ([]byte, error) {
			p := make([]byte, 800)
			runtime.AddCleanup(&p[0], func(int) { freed.Add(1) }, 0)
			return p, nil
		}, &workers.MapOptions[int]{Ordered: ordered})
		results := 0
		for range m.All() {
			if results++; results < 1000 {
				continue
			}
			for freed.Load() < 1000-128 { // the run that this result is in may be retained
				runtime.GC()
				runtime.Gosched()
			}
			c.Close()
		}
	}
}

func TestMapDoesNotAllocate(t *testing.T) {
	if suite.Race {
		t.Skip("the race detector allocates")
	}
	const jobs = 100_000
	for name, o := range mappings {
		n := testing.AllocsPerRun(1, func() {
			m := workers.Map(context.Background(), backlog(jobs), 3, square, &o)
			for range m.All() {
			}
		})
		if n > jobs/100 {
			t.Errorf("%s: %v allocations for %d jobs", name, n, jobs)
		}
	}
}

func TestMapBadInput(t *testing.T) {
	ctx := context.Background()
	c := sluice.NewBounded[int](1, nil)
	type options = workers.MapOptions[int]
	mapping := func(ctx context.Context, r sluice.BatchReceiver[int], n int, f func(context.Context, int) (int, error), o *options) func() {
		return func() { workers.Map(ctx, r, n, f, o) }
	}
	mustPanic(t, "Map", []string{"nil context"}, mapping(nil, c, 1, square, nil))
	mustPanic(t, "Map", []string{"nil receiver"}, mapping(ctx, nil, 1, square, nil))
	mustPanic(t, "Map", []string{"nil f"}, mapping(ctx, c, 1, nil, nil))
	mustPanic(t, "Map", []string{"n is 0"}, mapping(ctx, c, 0, square, nil))
	mustPanic(t, "Map", []string{"MaxAhead is -1"}, mapping(ctx, c, 1, square, &options{Ordered: true, MaxAhead: -1}))
	mustPanic(t, "Map", []string{"MaxAhead is 1073741825"}, mapping(ctx, c, 1, square, &options{Ordered: true, MaxAhead: 1<<30 + 1}))
	mustPanic(t, "Map", []string{"MaxAhead is 5", "Ordered"}, mapping(ctx, c, 1, square, &options{MaxAhead: 5}))
	mustPanic(t, "Map", []string{"MaxDelay is -1ns"}, mapping(ctx, c, 1, square, &options{MaxDelay: -1}))
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	m := workers.Map(cancelled, c, 1, square, nil)
	for range m.All() {
		t.Error("yields under a context that is done")
	}
	if m.Err() != context.Canceled {
		t.Errorf("ended with %v", m.Err())
	}
}
