package workers_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/workers"
)

// TestMapLeave leaves the loop at a random position, in each way. When the loop
// statement has ended, no job is running, and each job is accounted for.
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
					l := newTimesheet(t, jobs)
					c := backlog(jobs)
					var inside atomic.Int64
					o := o
					o.OnUnprocessed = l.undone
					m := workers.Map(t.Context(), c, n, func(ctx context.Context, job int) (int, error) {
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
						t.Errorf("%d results before the end, want %d; error %v", yielded, want, m.Err())
					}
					if after != (way == "break" || way == "end") || (value == errPlanted) != (way == "panic") {
						t.Errorf("after the loop: %v, panic %v", after, value)
					}
				}
			})
		}
	}
}

// TestMapFails: a random job fails. The loop still yields the results of jobs that were
// done; with Ordered, those before the failed job and none after it.
func TestMapFails(t *testing.T) {
	const jobs = 1500
	for name, o := range mappings {
		for _, way := range []string{"error", "panic", "Goexit", "cancel"} {
			t.Run(name+" "+way, func(t *testing.T) {
				for seed := range uint64(15) {
					random := rand.New(rand.NewPCG(seed, 5))
					bad, n := random.IntN(jobs), 1+random.IntN(6)
					ctx, cancel := context.WithCancel(t.Context())
					l := newTimesheet(t, jobs)
					c := backlog(jobs)
					o := o
					o.OnUnprocessed = l.undone
					var failed atomic.Bool
					var succeeded atomic.Int64
					m := workers.Map(ctx, c, n, func(ctx context.Context, job int) (int, error) {
						l.do(job)
						if way == "error" && o.Ordered && job < bad && ctx.Err() != nil {
							t.Errorf("job %d was canceled because of job %d", job, bad)
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
							t.Errorf("%d results, want those before job %d", len(results), bad)
						}
					} else if len(results) != int(succeeded.Load()) {
						t.Errorf("%d results, want one for each of %d jobs done", len(results), succeeded.Load())
					}
					p, _ := value.(*workers.PanicError)
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

// TestMapFirstFailure: if several jobs fail, Err reports the first one in order.
func TestMapFirstFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newTimesheet(t, 100)
		c := backlog(100)
		m := workers.Map(t.Context(), c, 4, func(_ context.Context, job int) (int, error) {
			l.do(job)
			time.Sleep(time.Duration(100-job) * time.Second)
			if job > 1 {
				return 0, fmt.Errorf("job %d", job)
			}
			return job, nil
		}, &workers.MapOptions[int]{Ordered: true, OnUnprocessed: l.undone})
		results := slices.Collect(m.All())
		if len(results) != 2 || m.Err() == nil || m.Err().Error() != "job 2" {
			t.Errorf("%d results, then %v", len(results), m.Err())
		}
		l.balance(100, c)
	})
}

// TestMapReceivesNoMoreAfterFailure: with Ordered, no job is received after one has
// failed, even while jobs before it are still running.
func TestMapReceivesNoMoreAfterFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := sluice.NewElastic[int](sluice.Unlimited, nil)
		free := make(chan struct{})
		m := workers.Map(t.Context(), sluice.LeaveOpen(c), 3, func(_ context.Context, job int) (int, error) {
			switch job {
			case 0:
				<-free
			case 1:
				time.Sleep(time.Second) // until the third worker leads
				return 0, errPlanted
			case 2:
				t.Error("a job after the failed one was started")
			}
			return job, nil
		}, &workers.MapOptions[int]{Ordered: true})
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

// TestMapStartsNoJobAfterFailure: of the jobs in local queues only those before the
// first failed job are started, whichever job fails first.
func TestMapStartsNoJobAfterFailure(t *testing.T) {
	for seed := range uint64(10) {
		synctest.Test(t, func(t *testing.T) {
			const warming, jobs = 2000, 2064
			random := rand.New(rand.NewPCG(seed, 8))
			c := sluice.NewElastic[int](sluice.Unlimited, nil)
			l := newTimesheet(t, jobs)
			pass := make([]chan error, jobs)
			for i := range pass {
				pass[i] = make(chan error)
			}
			var mu sync.Mutex
			var running []int
			limit := jobs
			m := workers.Map(t.Context(), c, 4, func(_ context.Context, job int) (int, error) {
				l.do(job)
				if job < warming {
					return job, nil
				}
				mu.Lock()
				if job > limit {
					t.Errorf("job %d was started after %d had failed", job, limit)
				}
				running = append(running, job)
				mu.Unlock()
				return job, <-pass[job]
			}, &workers.MapOptions[int]{Ordered: true, OnUnprocessed: l.undone})
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
					continue // the first job ends last
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

// TestMapLeaveAfterFailure: Err is nil if the body left the loop, even if a job had
// failed before.
func TestMapLeaveAfterFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := backlog(3)
		m := workers.Map(t.Context(), c, 1, func(_ context.Context, job int) (int, error) {
			if job == 1 {
				return 0, errPlanted
			}
			return job, nil
		}, nil)
		for range m.All() {
			synctest.Wait() // until the second job has failed
			break
		}
		if err := m.Err(); err != nil {
			t.Errorf("the body left the loop, and Err is %v", err)
		}
	})
}
