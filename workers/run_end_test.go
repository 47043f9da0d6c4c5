package workers_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/workers"
)

// TestRunEndEarly ends Run in each way, at random moments, and accounts for all jobs.
func TestRunEndEarly(t *testing.T) {
	const jobs = 2000
	for name, make := range jobChannels {
		for _, way := range []string{"error", "cancel", "panic", "Goexit", "close"} {
			t.Run(name+" "+way, func(t *testing.T) {
				for seed := range uint64(20) {
					random := rand.New(rand.NewPCG(seed, 4))
					n, last := 1+random.IntN(8), random.Int64N(jobs/2)
					c, l := make(), newTimesheet(t, jobs)
					ctx, cancel := context.WithCancel(t.Context())
					fed := goFeed(c, jobs)
					var inside context.Context
					var calls, after atomic.Int64
					var err error
					var returned, exited bool
					var value any
					var all sync.WaitGroup
					all.Go(func() {
						defer func() {
							value = recover()
							exited = !returned && value == nil
						}()
						err = workers.Run(ctx, c, n, func(ctx context.Context, job int) error {
							l.do(job)
							if ctx.Err() != nil {
								after.Add(1)
							}
							if calls.Add(1) == last+1 {
								inside = ctx
								switch way {
								case "error":
									return errPlanted
								case "cancel":
									cancel()
								case "panic":
									panic(errPlanted)
								case "Goexit":
									runtime.Goexit()
								case "close":
									c.Close()
								}
							}
							if job%61 == 0 {
								runtime.Gosched()
							}
							return nil
						}, &workers.RunOptions[int]{OnUnprocessed: l.undone})
						returned = true
					})
					all.Wait()
					cancel()
					c.Close()
					l.balance(fed(), c)
					// Each worker may have been about to call f.
					if way != "cancel" && after.Load() > int64(n) {
						t.Errorf("%d of %d workers started a job after the end", after.Load(), n)
					}
					cause := context.Cause(inside)
					p, _ := value.(*workers.PanicError)
					switch {
					case way == "error" && (err != errPlanted || cause != errPlanted):
						t.Errorf("Run returned %v, and f's context ended with %v", err, cause)
					case way == "cancel" && (err != context.Canceled):
						t.Errorf("Run returned %v", err)
					case way == "close" && (err != nil || l.left > 0):
						t.Errorf("Run returned %v, with %d jobs unprocessed", err, l.left)
					case way == "Goexit" && !exited:
						t.Error("Run returned, want Goexit")
					case way == "panic" && (p == nil || !errors.Is(p, errPlanted) || !strings.Contains(p.Error(), "planted") ||
						!strings.Contains(p.Error(), "TestRunEndEarly")):
						t.Errorf("Run panicked with %v", value)
					case way != "panic" && value != nil, way != "Goexit" && exited:
						t.Errorf("Run panicked with %v, exited %v", value, exited)
					}
				}
			})
		}
	}
}

// goFeed feeds c in the background. fed waits for that and returns how many jobs were
// accepted.
func goFeed(c sluice.Channel[int], jobs int) (fed func() int) {
	sent := make(chan int, 1)
	go func() { sent <- feed(context.Background(), c, jobs) }()
	return func() int { return <-sent }
}

// TestRunCancelAtRest: the context ends workers that wait for jobs, and workers whose
// jobs wait.
func TestRunCancelAtRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := sluice.NewElastic[int](sluice.Unlimited, nil)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		err := workers.Run(ctx, sluice.LeaveOpen(c), 5, func(ctx context.Context, _ int) error { return nil }, nil)
		if err != context.DeadlineExceeded {
			t.Errorf("idle workers ended with %v", err)
		}
		ctx, cancel = context.WithCancel(t.Context())
		l := newTimesheet(t, 100)
		for i := range 100 {
			c.TrySend(i)
		}
		time.AfterFunc(time.Second, cancel)
		err = workers.Run(ctx, c, 5, func(ctx context.Context, job int) error {
			l.do(job)
			<-ctx.Done()
			return errPlanted // because of ctx
		}, &workers.RunOptions[int]{OnUnprocessed: l.undone})
		if err != context.Canceled || l.done.Load() != 5 {
			t.Errorf("ended with %v after %d jobs", err, l.done.Load())
		}
		l.balance(100, c)
		if err := workers.Run(ctx, c, 5, func(context.Context, int) error { panic("run") }, nil); err != context.Canceled {
			t.Errorf("under a context that is done: %v", err)
		}
	})
}

// TestRunContext: once ctx is done Run returns its error. After Run the context of f is
// done.
func TestRunContext(t *testing.T) {
	for _, fails := range []bool{true, false} {
		ctx, cancel := context.WithCancel(t.Context())
		var inside context.Context
		err := workers.Run(ctx, backlog(1), 1, func(ctx context.Context, _ int) error {
			inside = ctx
			if fails {
				cancel()
				return errPlanted
			}
			return nil
		}, nil)
		if fails && err != context.Canceled || !fails && err != nil || inside.Err() != context.Canceled {
			t.Errorf("ended with %v, and f's context with %v", err, inside.Err())
		}
		cancel()
	}
}

// TestRunOutcomes: a panic takes precedence over an earlier error.
func TestRunOutcomes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := sluice.NewBounded[int](3, nil)
		for i := range 3 {
			c.TrySend(i)
		}
		defer func() {
			p, ok := recover().(*workers.PanicError)
			if !ok || p.Value != "late" || p.Unwrap() != nil {
				t.Errorf("panicked with %v", p)
			}
		}()
		var begun sync.WaitGroup
		begun.Add(3)
		workers.Run(t.Context(), c, 3, func(ctx context.Context, job int) error {
			begun.Done()
			begun.Wait()
			switch job {
			case 0:
				return errPlanted
			case 1:
				<-ctx.Done()
				panic("late")
			}
			<-ctx.Done()
			runtime.Goexit()
			return nil
		}, nil)
	})
}

// broken is a receiver that fails with an error other than ErrClosed.
type broken struct{ sluice.Channel[int] }

func (f broken) RecvBatch(ctx context.Context, buf []int) (int, error) {
	n, err := f.Channel.RecvBatch(ctx, buf)
	if errors.Is(err, sluice.ErrClosed) {
		err = errPlanted
	}
	return n, err
}

// panicking is a receiver that panics when it would wait.
type panicking struct{ sluice.Channel[int] }

func (p panicking) RecvBatch(ctx context.Context, buf []int) (int, error) {
	if ctx.Err() == nil {
		panic(errPlanted)
	}
	return p.Channel.RecvBatch(ctx, buf)
}

func TestRunFailingReceiver(t *testing.T) {
	c := sluice.NewBounded[int](3, nil)
	c.Close()
	nothing := func(context.Context, int) error { return nil }
	if err := workers.Run(t.Context(), broken{c}, 3, nothing, nil); err != errPlanted {
		t.Errorf("Run returned %v", err)
	}
	defer func() {
		if p, _ := recover().(*workers.PanicError); p == nil || !errors.Is(p, errPlanted) {
			t.Errorf("panicked with %v", p)
		}
	}()
	workers.Run(t.Context(), panicking{sluice.NewBounded[int](3, nil)}, 3, nothing, nil)
}

// TestRunUnprocessedPanics: a panic of OnUnprocessed reaches the caller.
func TestRunUnprocessedPanics(t *testing.T) {
	defer func() {
		if v := recover(); v != "unprocessed" {
			t.Errorf("panicked with %v", v)
		}
	}()
	const jobs = 10_000
	c := sluice.NewElastic[int](sluice.Unlimited, nil)
	c.SendBatch(t.Context(), make([]int, jobs))
	c.Close()
	calls := 0
	err := workers.Run(t.Context(), c, 1, func(context.Context, int) error {
		if calls++; jobs-c.Len() > calls { // its queue holds more
			return errPlanted
		}
		return nil
	}, &workers.RunOptions[int]{OnUnprocessed: func(int) { panic("unprocessed") }})
	t.Errorf("Run: %v: no job was unprocessed", err)
}

// evasive is a context that is done and has no error.
type evasive struct {
	context.Context
	done chan struct{}
}

func (e evasive) Done() <-chan struct{} { return e.done }
func (e evasive) Err() error            { return nil }

// TestRunUnderEvasiveContext: such a context ends Run like any other.
func TestRunUnderEvasiveContext(t *testing.T) {
	lie := evasive{t.Context(), make(chan struct{})}
	c := sluice.NewBounded[int](1, nil)
	time.AfterFunc(0, func() { close(lie.done) })
	if err := workers.Run(lie, c, 2, func(context.Context, int) error { return nil }, nil); err != context.Canceled {
		t.Errorf("Run: %v", err)
	}
}

// inventing is a receiver that reports more jobs than it has returned.
type inventing struct {
	sluice.Channel[int]
	n int
}

func (i inventing) RecvBatch(context.Context, []int) (int, error) { return i.n, nil }

// TestRunInventedJobs: Run panics if RecvBatch returns a number out of range, and f is
// not called.
func TestRunInventedJobs(t *testing.T) {
	for _, n := range []int{-1, 1000} {
		func() {
			defer func() {
				if p, ok := recover().(*workers.PanicError); !ok || !strings.Contains(p.Error(), fmt.Sprintf("RecvBatch with a buffer of 1 returned %d", n)) {
					t.Errorf("%d jobs: %v", n, p)
				}
			}()
			f := func(context.Context, int) error { t.Error("f was called"); return nil }
			_ = workers.Run(t.Context(), inventing{sluice.NewBounded[int](1, nil), n}, 1, f, nil)
		}()
	}
}
