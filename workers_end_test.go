package sluice_test

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
)

// TestWorkersEndEarly ends pools in each way, at random moments, and accounts for all jobs.
func TestWorkersEndEarly(t *testing.T) {
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
						err = sluice.Workers(ctx, c, n, func(ctx context.Context, job int) error {
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
						}, &sluice.WorkersOptions[int]{Undone: l.undone})
						returned = true
					})
					all.Wait()
					cancel()
					c.Close()
					l.balance(fed(), c)
					// One call each may have been about to begin.
					if way != "cancel" && after.Load() > int64(n) {
						t.Errorf("%d of %d workers went on", after.Load(), n)
					}
					cause := context.Cause(inside)
					p, _ := value.(*sluice.PanicError)
					switch {
					case way == "error" && (err != errPlanted || cause != errPlanted):
						t.Errorf("Workers returned %v, and f's context ended with %v", err, cause)
					case way == "cancel" && (err != context.Canceled):
						t.Errorf("Workers returned %v", err)
					case way == "close" && (err != nil || l.left > 0):
						t.Errorf("Workers returned %v, with %d jobs undone", err, l.left)
					case way == "Goexit" && !exited:
						t.Error("Workers has not exited")
					case way == "panic" && (p == nil || !errors.Is(p, errPlanted) || !strings.Contains(p.Error(), "planted") ||
						!strings.Contains(p.Error(), "TestWorkersEndEarly")):
						t.Errorf("Workers panicked with %v", value)
					case way != "panic" && value != nil, way != "Goexit" && exited:
						t.Errorf("Workers panicked with %v, exited %v", value, exited)
					}
				}
			})
		}
	}
}

// goFeed feeds c in the background; fed waits for that, and returns how many jobs
// were accepted.
func goFeed(c sluice.Chan[int], jobs int) (fed func() int) {
	sent := make(chan int, 1)
	go func() { sent <- feed(context.Background(), c, jobs) }()
	return func() int { return <-sent }
}

// TestWorkersCancelAtRest: a pool ends that waits for jobs, and one whose f waits.
func TestWorkersCancelAtRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := sluice.NewElastic[int](sluice.Unlimited, nil)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		err := sluice.Workers(ctx, c, 5, func(ctx context.Context, _ int) error { return nil }, nil)
		if err != context.DeadlineExceeded {
			t.Errorf("idle workers ended with %v", err)
		}
		ctx, cancel = context.WithCancel(t.Context())
		l := newTimesheet(t, 100)
		for i := range 100 {
			c.TrySend(i)
		}
		time.AfterFunc(time.Second, cancel)
		err = sluice.Workers(ctx, c, 5, func(ctx context.Context, job int) error {
			l.do(job)
			<-ctx.Done()
			return errPlanted // because of ctx
		}, &sluice.WorkersOptions[int]{Undone: l.undone})
		if err != context.Canceled || l.done.Load() != 5 {
			t.Errorf("ended with %v after %d jobs", err, l.done.Load())
		}
		l.balance(100, c)
		if err := sluice.Workers(ctx, c, 5, func(context.Context, int) error { panic("run") }, nil); err != context.Canceled {
			t.Errorf("under a context that is done: %v", err)
		}
	})
}

// TestWorkersContext: once ctx is done its error counts, and when Workers has returned
// f's context is done.
func TestWorkersContext(t *testing.T) {
	for _, fails := range []bool{true, false} {
		ctx, cancel := context.WithCancel(t.Context())
		var inside context.Context
		err := sluice.Workers(ctx, backlog(1), 1, func(ctx context.Context, _ int) error {
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

// TestWorkersOutcomes: a panic counts before the error that came first.
func TestWorkersOutcomes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := sluice.NewBounded[int](3, nil)
		for i := range 3 {
			c.TrySend(i)
		}
		defer func() {
			p, ok := recover().(*sluice.PanicError)
			if !ok || p.Value != "late" || p.Unwrap() != nil {
				t.Errorf("panicked with %v", p)
			}
		}()
		var begun sync.WaitGroup
		begun.Add(3)
		sluice.Workers(t.Context(), c, 3, func(ctx context.Context, job int) error {
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

// broken is a receiver that fails, not because it is closed.
type broken struct{ sluice.Chan[int] }

func (f broken) RecvBatch(ctx context.Context, buf []int) (int, error) {
	n, err := f.Chan.RecvBatch(ctx, buf)
	if errors.Is(err, sluice.ErrClosed) {
		err = errPlanted
	}
	return n, err
}

// panicking is a receiver that panics when it would wait.
type panicking struct{ sluice.Chan[int] }

func (p panicking) RecvBatch(ctx context.Context, buf []int) (int, error) {
	if ctx.Err() == nil {
		panic(errPlanted)
	}
	return p.Chan.RecvBatch(ctx, buf)
}

func TestWorkersFailingReceiver(t *testing.T) {
	c := sluice.NewBounded[int](3, nil)
	c.Close()
	nothing := func(context.Context, int) error { return nil }
	if err := sluice.Workers(t.Context(), broken{c}, 3, nothing, nil); err != errPlanted {
		t.Errorf("Workers returned %v", err)
	}
	defer func() {
		if p, _ := recover().(*sluice.PanicError); p == nil || !errors.Is(p, errPlanted) {
			t.Errorf("panicked with %v", p)
		}
	}()
	sluice.Workers(t.Context(), panicking{sluice.NewBounded[int](3, nil)}, 3, nothing, nil)
}

// TestWorkersUndonePanics: that panic is the caller's.
func TestWorkersUndonePanics(t *testing.T) {
	defer func() {
		if v := recover(); v != "undone" {
			t.Errorf("panicked with %v", v)
		}
	}()
	const jobs = 10_000
	c := sluice.NewElastic[int](sluice.Unlimited, nil)
	c.SendBatch(t.Context(), make([]int, jobs))
	c.Close()
	calls := 0
	err := sluice.Workers(t.Context(), c, 1, func(context.Context, int) error {
		if calls++; jobs-c.Len() > calls { // there are more in its hands
			return errPlanted
		}
		return nil
	}, &sluice.WorkersOptions[int]{Undone: func(int) { panic("undone") }})
	t.Errorf("Workers: %v: nothing was undone", err)
}

// evasive is a context that is done and has no error to show.
type evasive struct {
	context.Context
	done chan struct{}
}

func (e evasive) Done() <-chan struct{} { return e.done }
func (e evasive) Err() error            { return nil }

// Such a context ends Workers all the same.
func TestWorkersUnderEvasiveContext(t *testing.T) {
	lie := evasive{t.Context(), make(chan struct{})}
	c := sluice.NewBounded[int](1, nil)
	time.AfterFunc(0, func() { close(lie.done) })
	if err := sluice.Workers(lie, c, 2, func(context.Context, int) error { return nil }, nil); err != context.Canceled {
		t.Errorf("Workers: %v", err)
	}
}

// inventing is a receiver that tells of jobs that it has not handed out.
type inventing struct {
	sluice.Chan[int]
	n int
}

func (i inventing) RecvBatch(context.Context, []int) (int, error) { return i.n, nil }

// A receiver that returns a number out of range is found out before f is called.
func TestWorkersInventedJobs(t *testing.T) {
	for _, n := range []int{-1, 1000} {
		func() {
			defer func() {
				if p, ok := recover().(*sluice.PanicError); !ok || !strings.Contains(p.Error(), fmt.Sprintf("RecvBatch into room for 1 returned %d", n)) {
					t.Errorf("%d jobs: %v", n, p)
				}
			}()
			f := func(context.Context, int) error { t.Error("f was called"); return nil }
			_ = sluice.Workers(t.Context(), inventing{sluice.NewBounded[int](1, nil), n}, 1, f, nil)
		}()
	}
}
