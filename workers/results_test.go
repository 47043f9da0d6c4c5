package workers_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/workers"
)

// TestResultsAreReceived: several goroutines receive each result once, one by one and in
// batches, under contexts of which some end.
func TestResultsAreReceived(t *testing.T) {
	const jobs, receivers = 4000, 4
	for name, o := range mappings {
		t.Run(name, func(t *testing.T) {
			c := sluice.NewBounded[int](64, nil)
			go func() {
				feed(t.Context(), c, jobs)
				c.Close()
			}()
			m := workers.Map(t.Context(), c, 3, func(_ context.Context, job int) (int, error) { return job, nil }, &o)
			fates := make([]atomic.Int32, jobs)
			var all sync.WaitGroup
			for i := range receivers {
				all.Go(func() {
					buf, last := make([]int, 1+i*7), -1
					for turn := 0; ; turn++ {
						ctx, cancel := context.WithCancel(t.Context())
						if turn%5 == 0 {
							time.AfterFunc(time.Duration(turn%7)*time.Microsecond, cancel)
						}
						n, err := 0, error(nil)
						switch turn % 3 {
						case 0:
							n, err = m.RecvBatch(ctx, buf)
						case 1:
							if buf[0], err = m.Recv(ctx); err == nil {
								n = 1
							}
						default:
							if buf[0], err = m.TryRecv(); err == nil {
								n = 1
							}
						}
						cancel()
						for _, job := range buf[:n] {
							fates[job].Add(1)
							if o.Ordered && job < last {
								t.Errorf("%d after %d", job, last)
							}
							last = job
						}
						switch {
						case err == sluice.ErrClosed:
							return
						case err != nil && err != context.Canceled && err != sluice.ErrEmpty, n > 0 && err != nil:
							t.Errorf("%d results, %v", n, err)
							return
						}
					}
				})
			}
			all.Wait()
			for job := range fates {
				if n := fates[job].Load(); n != 1 {
					t.Fatalf("the result of job %d was received %d times", job, n)
				}
			}
			if m.Err() != nil {
				t.Error(m.Err())
			}
		})
	}
}

// TestResultsWake: each result wakes a receiver, and a canceled receiver passes its
// wake-up on.
func TestResultsWake(t *testing.T) {
	for name, o := range mappings {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const receivers = 5
				c := sluice.NewElastic[int](sluice.Unlimited, nil)
				m := workers.Map(t.Context(), c, 3, square, &o)
				var got atomic.Int64
				ctx, cancel := context.WithCancel(t.Context())
				var canceled atomic.Int64
				for i := range receivers {
					ctx := ctx
					if i > 0 {
						ctx = t.Context()
					}
					go func() {
						for {
							_, err := m.Recv(ctx)
							switch err {
							case nil:
								got.Add(1)
								if i > 1 {
									return // the others must receive the rest
								}
							case context.Canceled:
								canceled.Add(1)
								return
							default:
								return
							}
						}
					}()
				}
				synctest.Wait()
				for burst := 1; burst < 20; burst++ {
					before := got.Load()
					for range burst {
						_ = c.TrySend(1)
					}
					if synctest.Wait(); got.Load() != before+int64(burst) {
						t.Fatalf("%d of %d results were received", got.Load()-before, burst)
					}
				}
				cancel()
				if synctest.Wait(); canceled.Load() != 1 {
					t.Error("a receiver waits under a context that is done")
				}
				_ = c.TrySend(1)
				if synctest.Wait(); got.Load() != 191 {
					t.Errorf("%d results in all", got.Load())
				}
				c.Close()
			})
		})
	}
}

// TestResultsReady: a select statement with Ready receives all results, and the end.
func TestResultsReady(t *testing.T) {
	for name, o := range mappings {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const jobs = 1000
				c := sluice.NewBounded[int](7, nil)
				go func() {
					for job := range jobs {
						if job%100 == 0 {
							time.Sleep(time.Millisecond)
						}
						_ = c.Send(t.Context(), job)
					}
					time.Sleep(time.Millisecond)
					c.Close()
				}()
				m := workers.Map(t.Context(), c, 3, square, &o)
				got, stop := 0, time.After(time.Hour)
				for end := error(nil); end == nil; {
					select {
					case <-m.Ready():
						var err error
						for _, err = m.TryRecv(); err == nil; _, err = m.TryRecv() {
							got++
						}
						if err != sluice.ErrEmpty {
							end = err
						}
					case <-stop:
						t.Fatalf("Ready is not readable after %d results", got)
					}
				}
				if got != jobs {
					t.Errorf("%d results of %d", got, jobs)
				}
				if _, open := <-m.Ready(); open {
					t.Error("Ready is not closed at the end")
				}
			})
		})
	}
}
