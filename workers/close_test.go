package workers_test

import (
	"cmp"
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/workers"
)

// ends are the ways in which a job ends a stage early.
var ends = map[string]func(cancel func()) error{
	"error":  func(func()) error { return errPlanted },
	"panic":  func(func()) error { panic(errPlanted) },
	"Goexit": func(func()) error { runtime.Goexit(); return nil },
	"cancel": func(cancel func()) error { cancel(); return nil },
}

// TestRunFreesSenders: a sender that waits for room returns with ErrClosed as soon as
// the early end is decided, while another job is still running.
func TestRunFreesSenders(t *testing.T) {
	for name, end := range ends {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				c := sluice.NewBounded[int](1, nil)
				slow := make(chan struct{})
				ended := false
				var all sync.WaitGroup
				all.Go(func() {
					defer func() { ended = true; _ = recover() }()
					_ = workers.Run(ctx, c, 2, func(_ context.Context, job int) error {
						if job == 0 {
							<-slow
							return nil
						}
						return end(cancel)
					}, nil)
				})
				_ = c.Send(t.Context(), 0)
				synctest.Wait()
				for job := 1; ; job++ {
					if err := c.Send(t.Context(), job); err != nil {
						if err != sluice.ErrClosed {
							t.Errorf("Send: %v", err)
						}
						break
					}
				}
				if synctest.Wait(); ended {
					t.Error("Run has ended beside a job that is running")
				}
				close(slow)
				all.Wait()
			})
		})
	}
}

// TestRunClosesAtOnce: also if its context is done before it begins.
func TestRunClosesAtOnce(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, use := range []func(c *sluice.Bounded[int]) error{
		func(c *sluice.Bounded[int]) error {
			return workers.Run(ctx, c, 2, func(context.Context, int) error { return nil }, nil)
		},
		func(c *sluice.Bounded[int]) error {
			_, err := workers.Map(ctx, c, 2, square, nil).Recv(t.Context())
			return err
		},
	} {
		c := sluice.NewBounded[int](1, nil)
		if err := use(c); err != context.Canceled {
			t.Errorf("ended with %v", err)
		}
		if err := c.TrySend(1); err != sluice.ErrClosed {
			t.Errorf("TrySend: %v", err)
		}
	}
}

// shared is a channel that belongs to other processes, too.
type shared struct{ *sluice.Bounded[int] }

func (shared) Shared() bool { return true }

// TestRunLeavesOpen: a channel that is wrapped, or shared.
func TestRunLeavesOpen(t *testing.T) {
	c := sluice.NewBounded[int](9, nil)
	for _, r := range []sluice.BatchReceiver[int]{sluice.LeaveOpen[int](c), shared{c}} {
		_ = c.TrySend(1)
		if err := workers.Run(t.Context(), r, 2, func(context.Context, int) error { return errPlanted }, nil); err != errPlanted {
			t.Errorf("Run: %v", err)
		}
		_ = c.TrySend(1)
		for range workers.Map(t.Context(), r, 2, square, nil).All() {
			break
		}
		if err := c.TrySend(1); err != nil {
			t.Errorf("%T: %v", r, err)
		}
		_, _ = c.TryRecv()
	}
}

// slamming is a channel whose Close does as it is told.
type slamming struct {
	*sluice.Elastic[int]
	close func()
}

func (s slamming) Close() { s.close() }

// TestRunCloseFails: a panic of Close comes out of Run, whichever goroutine called it.
func TestRunCloseFails(t *testing.T) {
	for name, end := range ends {
		if name == "Goexit" {
			continue // see TestRunEndEarly
		}
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			defer func() {
				want := errPlanted
				if name != "panic" {
					want = errClose
				}
				if p, _ := recover().(*workers.PanicError); p == nil || !errors.Is(p, want) {
					t.Errorf("panicked with %v", p)
				}
			}()
			c := slamming{sluice.NewElastic[int](9, nil), func() { panic(errClose) }}
			_ = c.TrySend(1)
			err := workers.Run(ctx, c, 2, func(context.Context, int) error { return end(cancel) }, nil)
			t.Errorf("Run: %v", err)
		})
	}
}

var errClose = errors.New("close")

// TestMapFreesSenders: however the results end early, senders are freed at once, and
// with Ordered also while jobs before the failed one are still running.
func TestMapFreesSenders(t *testing.T) {
	for order, o := range mappings {
		for name, end := range ends {
			t.Run(order+" "+name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					ctx, cancel := context.WithCancel(t.Context())
					defer cancel()
					c := sluice.NewBounded[int](1, nil)
					slow := make(chan struct{})
					if o.MaxAhead == 1 {
						close(slow) // job 1 comes after job 0
					}
					m := workers.Map(ctx, c, 2, func(_ context.Context, job int) (int, error) {
						if job == 0 {
							<-slow
							return 0, nil
						}
						return job, end(cancel)
					}, &o)
					var all sync.WaitGroup
					ended := false
					all.Go(func() {
						defer func() { ended = true; _ = recover() }()
						for range m.All() {
						}
					})
					for job := 0; ; job++ {
						if err := c.Send(t.Context(), job); err != nil {
							if err != sluice.ErrClosed {
								t.Errorf("Send: %v", err)
							}
							break
						}
					}
					if o.MaxAhead != 1 {
						if synctest.Wait(); ended {
							t.Error("the loop has ended beside a job that is running")
						}
						close(slow)
					}
					all.Wait()
				})
			})
		}
	}
}

// TestResultsAreReceived: by several goroutines, each result once, one by one and in
// batches, with contexts that end at times.
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

// TestResultsWake: receivers that wait are woken as results come, one for each.
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
									return // the others must be woken for the rest
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
					t.Error("a receiver does not see that its context is done")
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

// TestResultsReady: a select beside other channels finds all results, and the end.
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

// TestResultsFail: after the results the error, or the panic, of f is what every
// receive reports, and keeps reporting.
func TestResultsFail(t *testing.T) {
	for order, o := range mappings {
		for name, end := range ends {
			t.Run(order+" "+name, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				c := backlog(10)
				m := workers.Map(ctx, c, 1, func(ctx context.Context, job int) (int, error) {
					if job < 7 {
						return job, nil
					}
					err := end(cancel)
					if err == nil {
						<-ctx.Done()
					}
					return 0, cmp.Or(err, errClose) // ctx counts
				}, &o)
				// outcome receives once, in a goroutine of its own.
				outcome := func(recv func() (int, error)) (got int, err error, value any, exited bool) {
					exited = true
					var all sync.WaitGroup
					all.Go(func() {
						defer func() { value = recover() }()
						got, err = recv()
						exited = false
					})
					all.Wait()
					return got, err, value, exited && value == nil
				}
				recv := func() (int, error) { return m.Recv(t.Context()) }
				for want := range 7 {
					if got, err, _, _ := outcome(recv); got != want || err != nil {
						t.Fatalf("%d, %v, want %d", got, err, want)
					}
				}
				batch := func() (int, error) { return m.RecvBatch(t.Context(), make([]int, 3)) }
				for _, receive := range []func() (int, error){recv, m.TryRecv, batch, recv} {
					_, err, value, exited := outcome(receive)
					p, _ := value.(*workers.PanicError)
					switch {
					case name == "error" && (err != errPlanted || m.Err() != errPlanted),
						name == "cancel" && (err != context.Canceled || m.Err() != err),
						name == "panic" && (p == nil || !errors.Is(p, errPlanted)),
						name == "Goexit" && !exited,
						name != "panic" && value != nil:
						t.Errorf("%v, panic %v, exited %v; Err is %v", err, value, exited, m.Err())
					}
				}
				err := m.Err()
				m.Close() // after the end it does nothing
				if m.Err() != err {
					t.Errorf("after Close: %v", m.Err())
				}
			})
		}
	}
}

// TestResultsClose: nothing runs after it, no job is lost, and what was computed can
// still be received.
func TestResultsClose(t *testing.T) {
	const jobs = 3000
	for name, o := range mappings {
		t.Run(name, func(t *testing.T) {
			for cut := 0; cut < 600; cut += 37 {
				l := newTimesheet(t, jobs)
				o := o
				o.OnUnprocessed = l.undone
				c := backlog(jobs)
				var inside, succeeded atomic.Int64
				m := workers.Map(t.Context(), c, 3, func(_ context.Context, job int) (int, error) {
					inside.Add(1)
					defer inside.Add(-1)
					l.do(job)
					succeeded.Add(1)
					return job, nil
				}, &o)
				got := 0
				for range cut {
					if _, err := m.Recv(t.Context()); err != nil {
						t.Fatal(err)
					}
					got++
				}
				var all sync.WaitGroup
				for range 2 {
					all.Go(m.Close)
				}
				m.Close()
				if inside.Load() != 0 {
					t.Error("a job runs after Close")
				}
				all.Wait()
				var err error
				for _, err = m.TryRecv(); err == nil; _, err = m.TryRecv() {
					got++
				}
				if err != sluice.ErrClosed || m.Err() != nil {
					t.Errorf("after Close: %v, %v", err, m.Err())
				}
				if got != int(succeeded.Load()) && !o.Ordered {
					t.Errorf("%d of %d results were received", got, succeeded.Load())
				}
				l.balance(jobs, c)
			}
		})
	}
}

// TestResultsUnused: they start nothing, and Close closes the jobs all the same.
func TestResultsUnused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // no goroutine may be left
		c := sluice.NewBounded[int](1, nil)
		m := workers.Map(t.Context(), c, 3, square, nil)
		if m.Err() != nil || c.TrySend(1) != nil {
			t.Error("Map has done something")
		}
		m.Close()
		if _, err := m.Recv(t.Context()); err != sluice.ErrClosed {
			t.Errorf("Recv: %v", err)
		}
		for range m.All() {
			t.Error("yields after Close")
		}
		if c.TrySend(1) != sluice.ErrClosed || c.Len() != 1 {
			t.Error("Close has left the jobs open, or received some")
		}
		_ = workers.Map(t.Context(), sluice.NewBounded[int](1, nil), 3, square, nil)
	})
}

// TestResultsAbandoned: the end of Map's context frees workers whose results nobody
// receives.
func TestResultsAbandoned(t *testing.T) {
	for name, o := range mappings {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { // no goroutine may be left
				ctx, cancel := context.WithCancel(t.Context())
				m := workers.Map(ctx, backlog(9999), 3, square, &o)
				_, _ = m.Recv(t.Context())
				synctest.Wait()
				cancel()
			})
		})
	}
}

// TestResultsClosePanics: a panic of f that no receive has reported comes out of
// Close, once.
func TestResultsClosePanics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := workers.Map(t.Context(), backlog(9), 2, func(context.Context, int) (int, error) { panic(errPlanted) }, nil)
		_ = m.Ready()
		synctest.Wait()
		func() {
			defer func() {
				if p, _ := recover().(*workers.PanicError); !errors.Is(p, errPlanted) {
					t.Errorf("panicked with %v", p)
				}
			}()
			m.Close()
		}()
		m.Close()
	})
}

// TestStagesInARow: Map feeds Map feeds Run, without a goroutine in between. The
// last stage's failure ends all of them, and a failure of the first one reaches the
// last.
func TestStagesInARow(t *testing.T) {
	for order, o := range mappings {
		for _, bad := range []string{"none", "first", "second", "last", "panic"} {
			t.Run(order+" "+bad, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { // no goroutine may be left
					const jobs = 5000
					c := sluice.NewBounded[int](4, nil)
					sent := make(chan error, 1)
					go func() {
						defer c.Close()
						for job := range jobs {
							if err := c.Send(t.Context(), job); err != nil {
								sent <- err
								return
							}
						}
						sent <- nil
					}()
					fails := func(name string) func(context.Context, int) (int, error) {
						return func(_ context.Context, job int) (int, error) {
							if job == 222 && bad == name {
								return 0, errPlanted
							}
							if job == 222 && bad == "panic" && name == "first" {
								panic(errPlanted)
							}
							return job, nil
						}
					}
					first := workers.Map(t.Context(), c, 3, fails("first"), &o)
					second := workers.Map(t.Context(), first, 2, fails("second"), &o)
					var sum atomic.Int64
					defer func() {
						p, _ := recover().(*workers.PanicError)
						if (p != nil) != (bad == "panic") || p != nil && (p.Value != errPlanted || !errors.Is(p, errPlanted)) {
							t.Errorf("panicked with %v", p)
						}
						if err := <-sent; (err == sluice.ErrClosed) != (bad != "none") {
							t.Errorf("Send: %v", err)
						}
					}()
					last := fails("last")
					err := workers.Run(t.Context(), second, 2, func(ctx context.Context, job int) error {
						sum.Add(int64(job))
						_, err := last(ctx, job)
						return err
					}, nil)
					want := errPlanted
					if bad == "none" {
						want = nil
					}
					if err != want {
						t.Errorf("Run: %v", err)
					}
					if bad == "none" && sum.Load() != jobs*(jobs-1)/2 {
						t.Errorf("the sum is %d", sum.Load())
					}
				})
			})
		}
	}
}
