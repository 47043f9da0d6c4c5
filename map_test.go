package sluice_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-go/sluice"
)

// mappings are the two orders, with windows that are narrow and wide.
var mappings = map[string]sluice.MapOptions[int]{
	"unordered": {},
	"ordered":   {Ordered: true},
	"window 1":  {Ordered: true, Window: 1},
	"window 5":  {Ordered: true, Window: 5},
}

// backlog is a closed channel with the jobs 0 … n-1.
func backlog(n int) sluice.Chan[int] {
	c := sluice.NewElastic[int](sluice.Unlimited, nil)
	for job := range n {
		c.TrySend(job)
	}
	c.Close()
	return c
}

// square is what the tests compute.
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
					m := sluice.Map(t.Context(), c, n, square, &o)
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

// TestMapIsLazyAndOnce: nothing happens before the loop, and a second one panics.
func TestMapIsLazyAndOnce(t *testing.T) {
	c := backlog(3)
	m := sluice.Map(t.Context(), c, 2, square, nil)
	all := m.All()
	if c.Len() != 3 || m.Err() != nil {
		t.Errorf("%d of 3 jobs left before the loop", c.Len())
	}
	for range all {
	}
	for _, again := range []iter.Seq[int]{all, m.All()} {
		mustPanic(t, "Mapping.All", []string{"before"}, func() {
			for range again {
				t.Error("a second loop yields")
			}
		})
	}
}

// TestMapLeave leaves the loop at random positions, in each way: when the loop
// statement has ended nothing runs, and no job is unaccounted for.
func TestMapLeave(t *testing.T) {
	const jobs = 1500
	for name, o := range mappings {
		for _, way := range []string{"break", "panic", "Goexit", "end"} {
			t.Run(name+" "+way, func(t *testing.T) {
				for seed := range uint64(15) {
					random := rand.New(rand.NewPCG(seed, 3))
					position, n := random.IntN(jobs), 1+random.IntN(6)
					if seed == 0 {
						position = 0
					}
					l := newLedger(t, jobs)
					c := backlog(jobs)
					var inside atomic.Int64
					o := o
					o.Undone = l.undone
					m := sluice.Map(t.Context(), c, n, func(ctx context.Context, job int) (int, error) {
						inside.Add(1)
						defer inside.Add(-1)
						l.do(job)
						return square(ctx, job)
					}, &o)
					yielded, after := 0, false
					var value any
					var all sync.WaitGroup
					all.Go(func() {
						defer func() {
							value = recover()
							if inside.Load() != 0 {
								t.Error("f runs after the loop")
							}
						}()
						for range m.All() {
							if yielded == position {
								switch way {
								case "break":
									goto out
								case "panic":
									panic(errPlanted)
								case "Goexit":
									runtime.Goexit()
								}
							}
							yielded++
						}
					out:
						after = true
					})
					all.Wait()
					l.balance(jobs, c)
					want := position
					if way == "end" {
						want = jobs
					}
					if yielded != want || m.Err() != nil {
						t.Errorf("%d results before the end, not %d; error %v", yielded, want, m.Err())
					}
					if after != (way == "break" || way == "end") || (value == errPlanted) != (way == "panic") {
						t.Errorf("after the loop: %v, panic %v", after, value)
					}
				}
			})
		}
	}
}

// TestMapFails: f fails at a random job. What was done is still yielded; in order,
// that is all before the failed job, and nothing after it.
func TestMapFails(t *testing.T) {
	const jobs = 1500
	for name, o := range mappings {
		for _, way := range []string{"error", "panic", "Goexit", "cancel"} {
			t.Run(name+" "+way, func(t *testing.T) {
				for seed := range uint64(15) {
					random := rand.New(rand.NewPCG(seed, 5))
					bad, n := random.IntN(jobs), 1+random.IntN(6)
					ctx, cancel := context.WithCancel(t.Context())
					l := newLedger(t, jobs)
					c := backlog(jobs)
					o := o
					o.Undone = l.undone
					var failed atomic.Bool
					var succeeded atomic.Int64
					m := sluice.Map(ctx, c, n, func(ctx context.Context, job int) (int, error) {
						l.do(job)
						if way == "error" && o.Ordered && job < bad && ctx.Err() != nil {
							t.Errorf("job %d was cancelled because of job %d", job, bad)
						}
						if job == bad {
							failed.Store(true)
							switch way {
							case "error":
								return 0, errPlanted
							case "panic":
								panic(errPlanted)
							case "Goexit":
								runtime.Goexit()
							case "cancel":
								cancel()
							}
						}
						succeeded.Add(1)
						return square(ctx, job)
					}, &o)
					var results []int
					var value any
					var all sync.WaitGroup
					exited := true
					all.Go(func() {
						defer func() { value = recover() }()
						for u := range m.All() {
							results = append(results, u)
						}
						exited = false
					})
					all.Wait()
					cancel()
					l.balance(jobs, c)
					if !failed.Load() {
						t.Fatal("the bad job was not done")
					}
					if o.Ordered {
						for i, u := range results {
							if u != i*i {
								t.Fatalf("result %d is %d", i, u)
							}
						}
						if way == "error" && len(results) != bad {
							t.Errorf("%d results before job %d", len(results), bad)
						}
					} else if len(results) != int(succeeded.Load()) {
						t.Errorf("%d results of %d jobs that were done", len(results), succeeded.Load())
					}
					p, _ := value.(*sluice.PanicError)
					switch {
					case way == "error" && m.Err() != errPlanted,
						way == "cancel" && m.Err() != context.Canceled && len(results) < jobs,
						way == "panic" && !errors.Is(p, errPlanted),
						way == "Goexit" && !exited,
						(way == "error" || way == "cancel") && (value != nil || exited):
						t.Errorf("error %v, panic %v, exited %v", m.Err(), value, exited)
					}
				}
			})
		}
	}
}

// TestMapFirstFailure: the first in order of several failures is the one that counts.
func TestMapFirstFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLedger(t, 100)
		c := backlog(100)
		m := sluice.Map(t.Context(), c, 4, func(_ context.Context, job int) (int, error) {
			l.do(job)
			time.Sleep(time.Duration(100-job) * time.Second)
			if job > 1 {
				return 0, fmt.Errorf("job %d", job)
			}
			return job, nil
		}, &sluice.MapOptions[int]{Ordered: true, WorkersOptions: sluice.WorkersOptions[int]{Undone: l.undone}})
		results := slices.Collect(m.All())
		if len(results) != 2 || m.Err() == nil || m.Err().Error() != "job 2" {
			t.Errorf("%d results, then %v", len(results), m.Err())
		}
		l.balance(100, c)
	})
}

// TestMapReceivesNoMoreAfterFailure: as soon as a job has failed, in order, nothing
// more is received, though those before it are still to be done.
func TestMapReceivesNoMoreAfterFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := sluice.NewElastic[int](sluice.Unlimited, nil)
		free := make(chan struct{})
		m := sluice.Map(t.Context(), c, 3, func(_ context.Context, job int) (int, error) {
			switch job {
			case 0:
				<-free
			case 1:
				time.Sleep(time.Second) // until the third worker leads
				return 0, errPlanted
			case 2:
				t.Error("a job after the failed one was begun")
			}
			return job, nil
		}, &sluice.MapOptions[int]{Ordered: true})
		results := 0
		go func() {
			for range m.All() {
				results++
			}
		}()
		for job := range 3 {
			c.Send(t.Context(), job)
			time.Sleep(2 * time.Second)
			synctest.Wait()
		}
		if c.Len() != 1 || results != 0 {
			t.Errorf("%d of 1 jobs left, %d results", c.Len(), results)
		}
		close(free)
		if synctest.Wait(); results != 1 || m.Err() != errPlanted {
			t.Errorf("%d results, then %v", results, m.Err())
		}
	})
}

// TestMapRunsOnlyWhatComesBeforeFailure: of the jobs in the hands only those before the
// first failed one are begun, whichever fails first.
func TestMapRunsOnlyWhatComesBeforeFailure(t *testing.T) {
	for seed := range uint64(10) {
		synctest.Test(t, func(t *testing.T) {
			const warming, jobs = 2000, 2064
			random := rand.New(rand.NewPCG(seed, 8))
			c := sluice.NewElastic[int](sluice.Unlimited, nil)
			l := newLedger(t, jobs)
			pass := make([]chan error, jobs)
			for i := range pass {
				pass[i] = make(chan error)
			}
			var mu sync.Mutex
			var running []int
			limit := jobs
			m := sluice.Map(t.Context(), c, 4, func(_ context.Context, job int) (int, error) {
				l.do(job)
				if job < warming {
					return job, nil
				}
				mu.Lock()
				if job > limit {
					t.Errorf("job %d was begun after %d had failed", job, limit)
				}
				running = append(running, job)
				mu.Unlock()
				return job, <-pass[job]
			}, &sluice.MapOptions[int]{Ordered: true, WorkersOptions: sluice.WorkersOptions[int]{Undone: l.undone}})
			results, ended := 0, false
			go func() {
				for range m.All() {
					results++
				}
				ended = true
			}()
			run := make([]int, jobs)
			for i := range run {
				run[i] = i
			}
			for i := 0; i < warming; i += 100 {
				c.SendBatch(t.Context(), run[i:i+100])
				synctest.Wait()
			}
			c.SendBatch(t.Context(), run[warming:])
			for synctest.Wait(); len(running) > 0; synctest.Wait() {
				i := random.IntN(len(running))
				if running[i] == warming && len(running) > 1 {
					continue // the first one last
				}
				job := running[i]
				running = slices.Delete(running, i, i+1)
				if random.IntN(3) == 0 || len(running) > 2 && limit == jobs {
					limit = min(limit, job)
					pass[job] <- fmt.Errorf("job %d", job)
				} else {
					pass[job] <- nil
				}
			}
			if !ended || results != limit || m.Err() == nil || m.Err().Error() != fmt.Sprint("job ", limit) {
				t.Errorf("ended %v, %d results, then %v; the first failed is %d", ended, results, m.Err(), limit)
			}
			l.balance(jobs, c)
		})
	}
}

// TestMapWindow: a slow first job lets as many results pile up as the window is
// wide, and no more, and all goes on when it is done.
func TestMapWindow(t *testing.T) {
	for _, width := range []int{1, 2, 7, 64, 100} {
		synctest.Test(t, func(t *testing.T) {
			const jobs = 500
			var begun atomic.Int64
			free := make(chan struct{})
			m := sluice.Map(t.Context(), backlog(jobs), 3, func(_ context.Context, job int) (int, error) {
				begun.Add(1)
				if job == 0 {
					<-free
				}
				return job, nil
			}, &sluice.MapOptions[int]{Ordered: true, Window: width})
			go func() {
				synctest.Wait()
				if begun.Load() != int64(width) {
					t.Errorf("window %d: %d jobs begun", width, begun.Load())
				}
				close(free)
			}()
			if results := slices.Collect(m.All()); len(results) != jobs {
				t.Errorf("%d results of %d", len(results), jobs)
			}
		})
	}
}

// TestMapDoesNotHoldResults: a result can be taken when it is there, whatever the
// worker that computed it does next.
func TestMapDoesNotHoldResults(t *testing.T) {
	for name, o := range mappings {
		if o.Window > 0 {
			continue
		}
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := sluice.NewElastic[int](sluice.Unlimited, nil)
				free := make(chan struct{})
				m := sluice.Map(t.Context(), c, 2, func(_ context.Context, job int) (int, error) {
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

// TestMapBackpressure: a body that does not come back holds the workers up.
func TestMapBackpressure(t *testing.T) {
	for name, o := range mappings {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const jobs, n = 20_000, 3
				var begun atomic.Int64
				m := sluice.Map(t.Context(), backlog(jobs), n, func(_ context.Context, job int) (int, error) {
					begun.Add(1)
					return job, nil
				}, &o)
				results := 0
				for range m.All() {
					if results++; results%7000 != 1 {
						continue
					}
					synctest.Wait()
					// The results in the boxes, those taken for the loop, and
					// one in the hands of each worker.
					limit := int64(results + n*128 + 128 + n)
					if o.Ordered {
						limit = int64(results + max(o.Window, 64) + max(o.Window, 1024))
					}
					if begun.Load() > limit {
						t.Errorf("%d jobs begun at result %d, more than %d", begun.Load(), results, limit)
					}
				}
				if results != jobs {
					t.Errorf("%d results of %d", results, jobs)
				}
			})
		})
	}
}

// TestMapRest is TestWorkersRest for the ordered crew, whose workers receive in turn.
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
				m := sluice.Map(t.Context(), c, n, func(_ context.Context, job int) (int, error) {
					mu.Lock()
					running[job] = true
					mu.Unlock()
					return job, <-pass[job]
				}, &sluice.MapOptions[int]{Ordered: true, Window: width})
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
					t.Fatalf("%d results, but %d are there in order", yielded.Load(), first)
				}
				// All jobs inside the window that are not finished may run.
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
		m := sluice.Map(t.Context(), c, 3, func(context.Context, int) (*[100]int, error) {
			p := new([100]int)
			runtime.AddCleanup(p, func(int) { freed.Add(1) }, 0)
			return p, nil
		}, &sluice.MapOptions[int]{Ordered: ordered})
		results := 0
		for range m.All() {
			if results++; results < 1000 {
				continue
			}
			for freed.Load() < 1000-128 { // those taken with this one may be held
				runtime.GC()
				runtime.Gosched()
			}
			c.Close()
		}
	}
}

func TestMapDoesNotAllocate(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	const jobs = 100_000
	for name, o := range mappings {
		n := testing.AllocsPerRun(1, func() {
			m := sluice.Map(context.Background(), backlog(jobs), 3, square, &o)
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
	type options = sluice.MapOptions[int]
	mapping := func(ctx context.Context, r sluice.BatchReceiver[int], n int, f func(context.Context, int) (int, error), o *options) func() {
		return func() { sluice.Map(ctx, r, n, f, o) }
	}
	mustPanic(t, "Map", []string{"nil context"}, mapping(nil, c, 1, square, nil))
	mustPanic(t, "Map", []string{"nil receiver"}, mapping(ctx, nil, 1, square, nil))
	mustPanic(t, "Map", []string{"nil f"}, mapping(ctx, c, 1, nil, nil))
	mustPanic(t, "Map", []string{"n is 0"}, mapping(ctx, c, 0, square, nil))
	mustPanic(t, "Map", []string{"Window is -1"}, mapping(ctx, c, 1, square, &options{Ordered: true, Window: -1}))
	mustPanic(t, "Map", []string{"Window is 1073741825"}, mapping(ctx, c, 1, square, &options{Ordered: true, Window: 1<<30 + 1}))
	mustPanic(t, "Map", []string{"Window is 5", "Ordered"}, mapping(ctx, c, 1, square, &options{Window: 5}))
	mustPanic(t, "Map", []string{"Hold is -1ns"}, mapping(ctx, c, 1, square, &options{WorkersOptions: sluice.WorkersOptions[int]{Hold: -1}}))
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	m := sluice.Map(cancelled, c, 1, square, nil)
	for range m.All() {
		t.Error("yields under a context that is done")
	}
	if m.Err() != context.Canceled {
		t.Errorf("ended with %v", m.Err())
	}
}
