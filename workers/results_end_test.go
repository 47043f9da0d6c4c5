package workers_test

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/internal/stage"
	"github.com/sluice-go/sluice/workers"
)

// TestResultsFail: after the results, each receive reports the error, or the panic, of
// f.
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
				outcome := func(recv func() (int, error)) (got int, value any, exited bool, err error) {
					exited = true
					var all sync.WaitGroup
					all.Go(func() {
						defer func() { value = recover() }()
						got, err = recv()
						exited = false
					})
					all.Wait()
					return got, value, exited && value == nil, err
				}
				recv := func() (int, error) { return m.Recv(t.Context()) }
				for want := range 7 {
					if got, _, _, err := outcome(recv); got != want || err != nil {
						t.Fatalf("%d, %v, want %d", got, err, want)
					}
				}
				batch := func() (int, error) { return m.RecvBatch(t.Context(), make([]int, 3)) }
				for _, receive := range []func() (int, error){recv, m.TryRecv, batch, recv} {
					_, value, exited, err := outcome(receive)
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

// TestResultsClose: after Close no job is running, each job is accounted for, and
// computed results can still be received.
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

// TestResultsUnused: unused results start nothing, and Close closes the channel of the
// jobs.
func TestResultsUnused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // no goroutine may be left
		c := sluice.NewBounded[int](1, nil)
		m := workers.Map(t.Context(), c, 3, square, nil)
		if m.Err() != nil || c.TrySend(1) != nil {
			t.Error("Map received a job")
		}
		m.Close()
		if _, err := m.Recv(t.Context()); err != sluice.ErrClosed {
			t.Errorf("Recv: %v", err)
		}
		for range m.All() {
			t.Error("yields after Close")
		}
		if c.TrySend(1) != sluice.ErrClosed || c.Len() != 1 {
			t.Error("Close left the channel open, or received a job")
		}
		_ = workers.Map(t.Context(), sluice.NewBounded[int](1, nil), 3, square, nil)
	})
}

// TestResultsAbandoned: the end of Map's context ends workers that wait for room.
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

// TestResultsClosePanics: Close repeats a panic of f that no receive has reported,
// once.
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

// TestStages: the results of a Map are the jobs of a Map, and its results the jobs of a
// Run, without a goroutine in between. A failure of the last stage ends all stages, and
// a failure of the first one reaches the last.
func TestStages(t *testing.T) {
	for order, o := range mappings {
		for _, bad := range []string{"none", "first", "second", "last", "panic"} {
			t.Run(order+" "+bad, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { // no goroutine may be left
					const jobs = 5000
					c := sluice.NewBounded[int](4, nil)
					sent := make(chan error, 1)
					go func() {
						defer c.Close()
						// A stage that fails must end this loop: a worker that is about to fail may be
						// preempted while the others do any number of jobs.
						for job := 0; bad != "none" || job < jobs; job++ {
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

// TestResultsCloseKeepsError: an error of f that precedes Close reaches receivers and
// Err.
func TestResultsCloseKeepsError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := workers.Map(t.Context(), backlog(9), 2, func(_ context.Context, job int) (int, error) {
			if job == 3 {
				return 0, errPlanted
			}
			return job, nil
		}, nil)
		_ = m.Ready()
		synctest.Wait()
		m.Close()
		m.Close()
		var err error
		for err == nil {
			_, err = m.Recv(t.Context())
		}
		if err != errPlanted || m.Err() != errPlanted {
			t.Errorf("Recv: %v, Err: %v, want the error of f", err, m.Err())
		}
	})
}

// TestResultsCloseBeforeError: an error that f returns because of Close does not count.
func TestResultsCloseBeforeError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := workers.Map(t.Context(), backlog(9), 2, func(ctx context.Context, _ int) (int, error) {
			<-ctx.Done()
			return 0, errPlanted
		}, nil)
		_ = m.Ready()
		synctest.Wait()
		m.Close()
		if _, err := m.Recv(t.Context()); err != sluice.ErrClosed || m.Err() != nil {
			t.Errorf("Recv: %v, Err: %v", err, m.Err())
		}
	})
}

// TestResultsEndAfterUnprocessed: while OnUnprocessed runs in one goroutine, no other
// goroutine is told the end.
func TestResultsEndAfterUnprocessed(t *testing.T) {
	gate, entered := make(chan struct{}), make(chan struct{}, 4000)
	calls := 0
	c := backlog(4000)
	m := workers.Map(t.Context(), c, 1, func(_ context.Context, job int) (int, error) {
		if 4000-c.Len() > job+1 { // the worker has received more jobs
			return 0, errPlanted
		}
		return job, nil
	}, &workers.MapOptions[int]{OnUnprocessed: func(int) {
		entered <- struct{}{}
		<-gate
		calls++
	}})
	ended := make(chan int, 3)
	receive := func() {
		for {
			if _, err := m.Recv(t.Context()); err != nil {
				break
			}
		}
		ended <- calls
	}
	go receive()
	<-entered
	go receive()
	go func() { m.Close(); ended <- calls }()
	if time.Sleep(20 * time.Millisecond); len(ended) > 0 {
		t.Errorf("%d goroutines learned the end while OnUnprocessed runs", len(ended))
	}
	close(gate)
	first := <-ended
	for range 2 {
		if n := <-ended; n != first {
			t.Errorf("%d calls of OnUnprocessed, then %d", first, n)
		}
	}
	if first == 0 {
		t.Error("no job was left")
	}
}

// TestResultsStopEarly: a stop of the last stage frees the senders of the first one
// and does not wait for a running f. Close then waits, and reports a panic of either
// stage.
func TestResultsStopEarly(t *testing.T) {
	for _, bad := range []string{"first", "second"} {
		synctest.Test(t, func(t *testing.T) {
			gate := make(chan struct{})
			f := func(name string) func(context.Context, int) (int, error) {
				return func(_ context.Context, job int) (int, error) {
					if name == bad && job == 1 {
						<-gate
						panic(errPlanted)
					}
					return job, nil
				}
			}
			c := backlog(2)
			second := workers.Map(t.Context(), workers.Map(t.Context(), c, 1, f("first"), nil), 1, f("second"), nil)
			_ = second.Ready()
			synctest.Wait()
			stage.Stop(second)
			if err := c.TrySend(1); err != sluice.ErrClosed {
				t.Errorf("%s: TrySend: %v", bad, err)
			}
			closed := make(chan any, 1)
			go func() {
				defer func() { closed <- recover() }()
				second.Close()
			}()
			if synctest.Wait(); len(closed) > 0 {
				t.Errorf("%s: Close returned while f runs", bad)
			}
			close(gate)
			if p, _ := (<-closed).(*workers.PanicError); !errors.Is(p, errPlanted) {
				t.Errorf("%s: Close panicked with %v", bad, p)
			}
		})
	}
}

// TestResultsUnusedStopEarly: results that were never used end the stage before them in
// the same way.
func TestResultsUnusedStopEarly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := make(chan struct{})
		first := workers.Map(t.Context(), backlog(1), 1, func(context.Context, int) (int, error) {
			<-gate
			panic(errPlanted)
		}, nil)
		_ = first.Ready()
		synctest.Wait()
		second := workers.Map(t.Context(), first, 1, square, nil)
		stage.Stop(second)
		close(gate)
		defer func() {
			if p, _ := recover().(*workers.PanicError); !errors.Is(p, errPlanted) {
				t.Errorf("Close panicked with %v", p)
			}
		}()
		second.Close()
	})
}
