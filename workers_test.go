package sluice_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-go/sluice"
)

// A ledger accounts for numbered jobs: each is done once or undone once.
type ledger struct {
	t     *testing.T
	fates []atomic.Int32
	done  atomic.Int64
	left  int
	in    atomic.Bool
}

func newLedger(t *testing.T, jobs int) *ledger {
	return &ledger{t: t, fates: make([]atomic.Int32, jobs)}
}

func (l *ledger) do(job int) {
	l.done.Add(1)
	if l.fates[job].Add(1) != 1 {
		l.t.Errorf("job %d was done or undone before it was done", job)
	}
}

// undone is an Undone.
func (l *ledger) undone(job int) {
	if l.in.Swap(true) {
		l.t.Error("Undone was called while it ran")
	}
	l.left++
	if l.fates[job].Add(1) != 1 {
		l.t.Errorf("job %d was done or undone before it was undone", job)
	}
	l.in.Store(false)
}

// balance requires that what is left in r is all that was neither done nor undone.
func (l *ledger) balance(sent int, r sluice.Receiver[int]) {
	l.t.Helper()
	for job, err := r.TryRecv(); err == nil; job, err = r.TryRecv() {
		if l.fates[job].Add(1) != 1 {
			l.t.Errorf("job %d is in the channel, but was done or undone", job)
		}
	}
	for job := range sent {
		if l.fates[job].Load() == 0 {
			l.t.Errorf("job %d has vanished", job)
		}
	}
}

// jobChannels are the kinds of channels that jobs come through.
var jobChannels = map[string]func() sluice.Chan[int]{
	"Rendezvous":  func() sluice.Chan[int] { return sluice.NewRendezvous[int](nil) },
	"Bounded 4":   func() sluice.Chan[int] { return sluice.NewBounded[int](4, nil) },
	"Bounded 128": func() sluice.Chan[int] { return sluice.NewBounded[int](128, nil) },
	"Elastic":     func() sluice.Chan[int] { return sluice.NewElastic[int](sluice.Unlimited, nil) },
}

// feed sends the jobs 0 … n-1, alternating between runs and single ones, and
// returns how many were accepted.
func feed(ctx context.Context, s sluice.Chan[int], n int) (sent int) {
	run := make([]int, 37)
	for sent < n {
		if sent%3 == 0 {
			if s.Send(ctx, sent) != nil {
				return sent
			}
			sent++
			continue
		}
		size := min(len(run), n-sent)
		for i := range size {
			run[i] = sent + i
		}
		m, err := s.SendBatch(ctx, run[:size])
		if sent += m; err != nil {
			return sent
		}
	}
	return sent
}

func TestWorkersDoEachJobOnce(t *testing.T) {
	for name, make := range jobChannels {
		for _, n := range []int{1, 2, 3, 16, 200} {
			t.Run(fmt.Sprint(name, " ", n), func(t *testing.T) {
				const jobs = 3000
				c, l := make(), newLedger(t, jobs)
				go func() {
					feed(t.Context(), c, jobs)
					c.Close()
				}()
				err := sluice.Workers(t.Context(), c, n, func(_ context.Context, job int) error {
					l.do(job)
					if job%97 == 0 {
						runtime.Gosched()
					}
					return nil
				}, &sluice.WorkersOptions[int]{Undone: l.undone})
				if err != nil || l.left != 0 {
					t.Errorf("error %v, %d jobs undone", err, l.left)
				}
				l.balance(jobs, c)
			})
		}
	}
}

// A gate lets a test decide when each job ends.
type gate struct {
	mu      sync.Mutex
	running []chan error
}

// enter blocks until the test lets this job go.
func (g *gate) enter() error {
	pass := make(chan error)
	g.mu.Lock()
	g.running = append(g.running, pass)
	g.mu.Unlock()
	return <-pass
}

// release lets the i-th of the running jobs end.
func (g *gate) release(i int, err error) {
	g.mu.Lock()
	pass := g.running[i]
	g.running = slices.Delete(g.running, i, i+1)
	g.mu.Unlock()
	pass <- err
}

// quick is a job that ends at once; a pool that has done many takes large batches.
const quick = -1

// warm lets the workers do so many jobs that end at once that they take batches.
func warm(t *testing.T, c sluice.Chan[int]) {
	run := make([]int, 64)
	for i := range run {
		run[i] = quick
	}
	for range 200 {
		if _, err := c.SendBatch(t.Context(), run); err != nil {
			t.Fatal(err)
		}
	}
	synctest.Wait()
}

// TestWorkersRest: whenever all is at rest, as many jobs run as there are workers,
// or jobs: none lies in a hand, or in the channel, beside an idle worker.
func TestWorkersRest(t *testing.T) {
	for name, make := range jobChannels {
		if name == "Rendezvous" {
			continue // the test's sends would wait
		}
		for seed := range uint64(12) {
			t.Run(fmt.Sprint(name, " seed ", seed), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					random := rand.New(rand.NewPCG(seed, 9))
					n := 1 + random.IntN(7)
					c := make()
					var g gate
					ended := false
					go func() {
						err := sluice.Workers(t.Context(), c, n, func(_ context.Context, job int) error {
							if job == quick {
								return nil
							}
							return g.enter()
						}, nil)
						if err != nil {
							t.Error(err)
						}
						ended = true
					}()
					warm(t, c)
					outstanding := 0
					check := func() {
						synctest.Wait()
						if len(g.running) != min(n, outstanding) {
							t.Fatalf("%d of %d workers run, with %d jobs", len(g.running), n, outstanding)
						}
					}
					for range 300 {
						switch burst := 1 + random.IntN(40); {
						case random.IntN(3) == 0 && outstanding < 400:
							for range burst { // more than fits stays out
								if c.TrySend(0) == nil {
									outstanding++
								}
							}
						case random.IntN(20) == 0 && outstanding == 0:
							warm(t, c)
						case outstanding > 0:
							g.release(random.IntN(len(g.running)), nil)
							outstanding--
						}
						check()
					}
					c.Close()
					for ; outstanding > 0; outstanding-- {
						check()
						g.release(random.IntN(len(g.running)), nil)
					}
					if synctest.Wait(); !ended {
						t.Error("the channel is closed and drained, but Workers has not ended")
					}
				})
			})
		}
	}
}

// TestWorkersStuckHolder: what one worker holds is done by the others while it is
// stuck, also after the channel was closed.
func TestWorkersStuckHolder(t *testing.T) {
	for _, closed := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			const jobs, n = 500, 4
			c := sluice.NewElastic[int](sluice.Unlimited, nil)
			l := newLedger(t, jobs)
			free := make(chan struct{})
			go sluice.Workers(t.Context(), c, n, func(_ context.Context, job int) error {
				if job == quick {
					return nil
				}
				l.do(job)
				if job == 0 {
					<-free
				}
				return nil
			}, nil)
			warm(t, c)
			run := make([]int, jobs)
			for i := range run {
				run[i] = i
			}
			c.SendBatch(t.Context(), run)
			if closed {
				c.Close()
			}
			synctest.Wait()
			if done := l.done.Load(); done != jobs {
				t.Errorf("%d of %d jobs begun while one is stuck", done, jobs)
			}
			close(free)
			c.Close()
		})
	}
}

// TestWorkersRescue: jobs behind one that is unexpectedly slow are done by workers
// that are busy, too, once they were held for longer than Hold.
func TestWorkersRescue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const hold = 10 * time.Millisecond
		c := sluice.NewElastic[int](sluice.Unlimited, nil)
		var slow, fast atomic.Int64
		var begun sync.Map // of jobs 1 … 99, how long after the start
		start := time.Now()
		go sluice.Workers(t.Context(), c, 2, func(_ context.Context, job int) error {
			switch {
			case job == quick:
			case job == 0:
				slow.Add(1)
				time.Sleep(time.Hour)
			case job < 100:
				begun.Store(job, time.Since(start))
			default:
				fast.Add(1)
				time.Sleep(time.Millisecond)
			}
			return nil
		}, &sluice.WorkersOptions[int]{Hold: hold})
		warm(t, c)
		run := make([]int, 100, 10_000)
		for i := range run {
			run[i] = i
		}
		for i := range 9900 {
			run = append(run, 1000+i)
		}
		c.SendBatch(t.Context(), run)
		time.Sleep(time.Minute)
		for job := 1; job < 100; job++ {
			after, ok := begun.Load(job)
			if !ok {
				t.Fatalf("job %d is still held behind a slow one", job)
			}
			// Whoever does them was in a batch of its own, of what it believed
			// to be quick.
			if after := after.(time.Duration); after > 64*hold {
				t.Fatalf("job %d was held for %v", job, after)
			}
		}
		if slow.Load() != 1 || fast.Load() != 9900 {
			t.Errorf("%d slow and %d fast jobs", slow.Load(), fast.Load())
		}
		c.Close()
		time.Sleep(time.Hour)
	})
}

// TestWorkersHoldTime: with steady jobs and all workers busy none waits in a hand
// for longer than Hold; and hands are used, where jobs are short.
func TestWorkersHoldTime(t *testing.T) {
	for _, each := range []time.Duration{time.Microsecond, 30 * time.Microsecond, 3 * time.Millisecond} {
		synctest.Test(t, func(t *testing.T) {
			const jobs, n, hold = 20_000, 3, 2 * time.Millisecond
			spy := &spy{Chan: sluice.NewElastic[int](sluice.Unlimited, nil), received: make([]time.Time, jobs)}
			run := make([]int, jobs)
			for i := range run {
				run[i] = i
			}
			spy.SendBatch(t.Context(), run)
			spy.Close()
			err := sluice.Workers(t.Context(), spy, n, func(_ context.Context, job int) error {
				spy.mu.Lock()
				received := spy.received[job]
				spy.mu.Unlock()
				if held := time.Since(received); held > hold {
					t.Errorf("job %d of %v was held for %v", job, each, held)
				}
				time.Sleep(each)
				return nil
			}, &sluice.WorkersOptions[int]{Hold: hold, HandOver: 0.001})
			if err != nil {
				t.Error(err)
			}
			want := max(1, min(int(50*time.Nanosecond*1000/each), int(hold/each)))
			if most := spy.largest(); most < want || most > want+2 {
				t.Errorf("jobs of %v: the largest batch was %d, not %d", each, most, want)
			}
		})
	}
}

// A spy is a channel that notes when each value was received.
type spy struct {
	sluice.Chan[int]
	mu       sync.Mutex
	received []time.Time
	most     int
}

// largest returns the largest batch since it was last called.
func (s *spy) largest() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	most := s.most
	s.most = 0
	return most
}

func (s *spy) RecvBatch(ctx context.Context, buf []int) (int, error) {
	n, err := s.Chan.RecvBatch(ctx, buf)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.most = max(s.most, n)
	if s.received != nil {
		for _, job := range buf[:n] {
			s.received[job] = time.Now()
		}
	}
	return n, err
}

// A job that is slow shrinks batches at once.
func TestWorkersShrinkAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		spy := &spy{Chan: sluice.NewElastic[int](sluice.Unlimited, nil)}
		go sluice.Workers(t.Context(), spy, 1, func(_ context.Context, job int) error {
			if job != quick {
				time.Sleep(time.Second)
			}
			return nil
		}, nil)
		warm(t, spy.Chan)
		if most := spy.largest(); most < 64 {
			t.Fatalf("the largest batch of many quick jobs was %d", most)
		}
		spy.Send(t.Context(), 0)
		time.Sleep(2 * time.Second)
		spy.largest()
		run := make([]int, 100)
		spy.SendBatch(t.Context(), run)
		time.Sleep(time.Hour)
		if most := spy.largest(); most != 1 {
			t.Errorf("after a slow job the largest batch of slow jobs was %d", most)
		}
		spy.Close()
	})
}

var errPlanted = errors.New("planted")

// TestWorkersEndEarly ends pools in each way, at random moments, and accounts for all jobs.
func TestWorkersEndEarly(t *testing.T) {
	const jobs = 2000
	for name, make := range jobChannels {
		for _, way := range []string{"error", "cancel", "panic", "Goexit", "close"} {
			t.Run(name+" "+way, func(t *testing.T) {
				for seed := range uint64(20) {
					random := rand.New(rand.NewPCG(seed, 4))
					n, last := 1+random.IntN(8), random.Int64N(jobs/2)
					c, l := make(), newLedger(t, jobs)
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
		l := newLedger(t, 100)
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
	c := sluice.NewElastic[int](sluice.Unlimited, nil)
	run := make([]int, 10_000)
	run[len(run)-1] = 1
	c.SendBatch(t.Context(), run)
	sluice.Workers(t.Context(), c, 1, func(_ context.Context, job int) error {
		if c.Len() < 5000 && c.Len()%64 != 0 {
			return errPlanted
		}
		return nil
	}, &sluice.WorkersOptions[int]{Undone: func(int) { panic("undone") }})
}

// TestWorkersReenter: f sends jobs, and runs pools.
func TestWorkersReenter(t *testing.T) {
	c := sluice.NewElastic[int](sluice.Unlimited, nil)
	c.TrySend(12)
	var pending, done atomic.Int64
	pending.Store(1)
	err := sluice.Workers(t.Context(), c, 3, func(ctx context.Context, depth int) error {
		done.Add(1)
		if depth > 0 {
			pending.Add(2)
			c.SendBatch(ctx, []int{depth - 1, depth - 1})
		}
		if pending.Add(-1) == 0 {
			c.Close()
		}
		if depth%5 != 0 {
			return nil
		}
		inner := sluice.NewBounded[int](depth+1, nil)
		inner.TrySend(depth)
		inner.Close()
		return sluice.Workers(ctx, inner, 2, func(context.Context, int) error { return nil }, nil)
	}, nil)
	if err != nil || done.Load() != 1<<13-1 {
		t.Errorf("%d jobs done, error %v", done.Load(), err)
	}
}

// TestWorkersKeepNothingAlive: a job that was done can be collected.
func TestWorkersKeepNothingAlive(t *testing.T) {
	c := sluice.NewElastic[*[100]int](sluice.Unlimited, nil)
	var freed atomic.Int64
	const jobs = 1000
	for range jobs {
		p := new([100]int)
		runtime.AddCleanup(p, func(int) { freed.Add(1) }, 0)
		c.TrySend(p)
	}
	done := make(chan struct{})
	var count atomic.Int64
	go func() {
		defer close(done)
		sluice.Workers(t.Context(), c, 3, func(context.Context, *[100]int) error {
			count.Add(1)
			return nil
		}, nil)
	}()
	for count.Load() < jobs || freed.Load() < jobs {
		runtime.GC() // hangs if the idle workers keep one
		runtime.Gosched()
	}
	c.Close()
	<-done
}

// TestWorkersDoNotAllocate: a job costs no allocation, neither in a stream nor by
// itself.
func TestWorkersDoNotAllocate(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	for _, burst := range []int{1, 5000} {
		c := sluice.NewElastic[int](sluice.Unlimited, &sluice.Options[int]{Shrink: sluice.NoShrink})
		ended, all := make(chan struct{}), make(chan struct{})
		var left atomic.Int64
		go func() {
			defer close(ended)
			sluice.Workers(context.Background(), c, 3, func(context.Context, int) error {
				if left.Add(-1) == 0 {
					all <- struct{}{}
				}
				return nil
			}, nil)
		}()
		run := make([]int, burst)
		runs := 200_000 / burst / 10
		n := testing.AllocsPerRun(runs, func() {
			left.Store(int64(burst))
			c.SendBatch(context.Background(), run)
			<-all
		})
		// Idle leaders are interrupted at times: two allocations each.
		if limit := max(0.1, float64(burst)/100); n > limit {
			t.Errorf("%v allocations for %d jobs", n, burst)
		}
		c.Close()
		<-ended
	}
}

func TestWorkersBadInput(t *testing.T) {
	ctx := context.Background()
	c := sluice.NewBounded[int](1, nil)
	f := func(context.Context, int) error { return nil }
	type options = sluice.WorkersOptions[int]
	workers := func(ctx context.Context, r sluice.BatchReceiver[int], n int, f func(context.Context, int) error, o *options) func() {
		return func() { sluice.Workers(ctx, r, n, f, o) }
	}
	mustPanic(t, "Workers", []string{"nil context"}, workers(nil, c, 1, f, nil))
	mustPanic(t, "Workers", []string{"nil receiver"}, workers(ctx, nil, 1, f, nil))
	mustPanic(t, "Workers", []string{"nil f"}, workers(ctx, c, 1, nil, nil))
	mustPanic(t, "Workers", []string{"n is 0"}, workers(ctx, c, 0, f, nil))
	mustPanic(t, "Workers", []string{"n is -3"}, workers(ctx, c, -3, f, nil))
	mustPanic(t, "Workers", []string{"HandOver is 1"}, workers(ctx, c, 1, f, &options{HandOver: 1}))
	mustPanic(t, "Workers", []string{"HandOver is -0.5"}, workers(ctx, c, 1, f, &options{HandOver: -0.5}))
	mustPanic(t, "Workers", []string{"HandOver is NaN"}, workers(ctx, c, 1, f, &options{HandOver: math.NaN()}))
	mustPanic(t, "Workers", []string{"Hold is -1ns"}, workers(ctx, c, 1, f, &options{Hold: -1}))
	mustPanic(t, "Workers", []string{"MaxBatch is -2"}, workers(ctx, c, 1, f, &options{MaxBatch: -2}))
}
