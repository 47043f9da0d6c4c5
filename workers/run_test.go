package workers_test

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

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/bridge"
	"github.com/sluice-go/sluice/internal/suite"
	"github.com/sluice-go/sluice/workers"
)

// A timesheet accounts for numbered jobs: each is done, or reported as unprocessed, once.
type timesheet struct {
	t     *testing.T
	fates []atomic.Int32
	done  atomic.Int64
	left  int
	in    atomic.Bool
}

func newTimesheet(t *testing.T, jobs int) *timesheet {
	return &timesheet{t: t, fates: make([]atomic.Int32, jobs)}
}

func (l *timesheet) do(job int) {
	l.done.Add(1)
	if l.fates[job].Add(1) != 1 {
		l.t.Errorf("job %d was done twice, or unprocessed", job)
	}
}

// undone is for OnUnprocessed.
func (l *timesheet) undone(job int) {
	if l.in.Swap(true) {
		l.t.Error("OnUnprocessed was called while another call ran")
	}
	l.left++
	if l.fates[job].Add(1) != 1 {
		l.t.Errorf("job %d was unprocessed twice, or done", job)
	}
	l.in.Store(false)
}

// balance requires that r holds exactly the jobs that were neither done nor unprocessed.
func (l *timesheet) balance(sent int, r sluice.Receiver[int]) {
	l.t.Helper()
	for job, err := r.TryRecv(); err == nil; job, err = r.TryRecv() {
		if l.fates[job].Add(1) != 1 {
			l.t.Errorf("job %d is in the channel, but was done or unprocessed", job)
		}
	}
	for job := range sent {
		if l.fates[job].Load() == 0 {
			l.t.Errorf("job %d has vanished", job)
		}
	}
}

// jobChannels make the channels that jobs come from.
var jobChannels = map[string]func() sluice.Channel[int]{
	"Rendezvous":  func() sluice.Channel[int] { return sluice.NewRendezvous[int](nil) },
	"Bounded 4":   func() sluice.Channel[int] { return sluice.NewBounded[int](4, nil) },
	"Bounded 128": func() sluice.Channel[int] { return sluice.NewBounded[int](128, nil) },
	"Elastic":     func() sluice.Channel[int] { return sluice.NewElastic[int](sluice.Unlimited, nil) },
}

// feed sends the jobs 0 … n-1, one by one and in batches, and returns how many were
// accepted.
func feed(ctx context.Context, s sluice.Channel[int], n int) (sent int) {
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

func TestRunDoesEachJobOnce(t *testing.T) {
	for name, make := range jobChannels {
		for _, n := range []int{1, 2, 3, 16, 200} {
			t.Run(fmt.Sprint(name, " ", n), func(t *testing.T) {
				const jobs = 3000
				c, l := make(), newTimesheet(t, jobs)
				go func() {
					feed(t.Context(), c, jobs)
					c.Close()
				}()
				err := workers.Run(t.Context(), c, n, func(_ context.Context, job int) error {
					l.do(job)
					if job%97 == 0 {
						runtime.Gosched()
					}
					return nil
				}, &workers.RunOptions[int]{OnUnprocessed: l.undone})
				if err != nil || l.left != 0 {
					t.Errorf("error %v, %d jobs unprocessed", err, l.left)
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

// quick is a job that ends at once. After many of them workers receive large batches.
const quick = -1

// warm sends quick jobs until the workers receive large batches.
func warm(t *testing.T, c sluice.Channel[int]) {
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

// TestRunRest: no job waits, in a local queue or in the channel, while a worker is idle.
// Whenever all goroutines are blocked, the number of running jobs is the number of
// workers, or of jobs.
func TestRunRest(t *testing.T) {
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
						err := workers.Run(t.Context(), c, n, func(_ context.Context, job int) error {
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
							for range burst { // jobs for which there is no room are not sent
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
						t.Error("the channel is closed and drained, but Run is running")
					}
				})
			})
		}
	}
}

var errPlanted = errors.New("planted")

// TestRunReenter: f sends jobs and calls Run.
func TestRunReenter(t *testing.T) {
	c := sluice.NewElastic[int](sluice.Unlimited, nil)
	c.TrySend(12)
	var pending, done atomic.Int64
	pending.Store(1)
	err := workers.Run(t.Context(), c, 3, func(ctx context.Context, depth int) error {
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
		return workers.Run(ctx, inner, 2, func(context.Context, int) error { return nil }, nil)
	}, nil)
	if err != nil || done.Load() != 1<<13-1 {
		t.Errorf("%d jobs done, error %v", done.Load(), err)
	}
}

// TestRunRetainsNothing: a job that was done can be collected.
func TestRunRetainsNothing(t *testing.T) {
	const jobs = 1000
	c := make(chan []byte, jobs)
	var freed atomic.Int64
	for range jobs {
		p := make([]byte, 800)
		runtime.AddCleanup(&p[0], func(int) { freed.Add(1) }, 0)
		c <- p
	}
	done := make(chan struct{})
	var count atomic.Int64
	go func() {
		defer close(done)
		workers.Run(t.Context(), bridge.NewReceiver(c), 3, func(context.Context, []byte) error {
			count.Add(1)
			return nil
		}, nil)
	}()
	for count.Load() < jobs || freed.Load() < jobs {
		runtime.GC() // hangs if an idle worker retains a job
		runtime.Gosched()
	}
	close(c)
	<-done
}

// TestRunDoesNotAllocate: a job costs no allocation, neither in a stream nor alone.
func TestRunDoesNotAllocate(t *testing.T) {
	if suite.Race {
		t.Skip("the race detector allocates")
	}
	for _, burst := range []int{1, 5000} {
		c := sluice.NewElastic[int](sluice.Unlimited, &sluice.ElasticOptions[int]{Shrink: sluice.NoShrink})
		ended, all := make(chan struct{}), make(chan struct{})
		var left atomic.Int64
		go func() {
			defer close(ended)
			workers.Run(context.Background(), c, 3, func(context.Context, int) error {
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
		// Leaders are interrupted at times, which costs two allocations.
		if limit := max(0.1, float64(burst)/100); n > limit {
			t.Errorf("%v allocations for %d jobs", n, burst)
		}
		c.Close()
		<-ended
	}
}

func TestRunBadInput(t *testing.T) {
	ctx := context.Background()
	c := sluice.NewBounded[int](1, nil)
	f := func(context.Context, int) error { return nil }
	type options = workers.RunOptions[int]
	workers := func(ctx context.Context, r sluice.BatchReceiver[int], n int, f func(context.Context, int) error, o *options) func() {
		return func() { workers.Run(ctx, r, n, f, o) }
	}
	mustPanic(t, "Run", []string{"nil context"}, workers(nil, c, 1, f, nil))
	mustPanic(t, "Run", []string{"nil receiver"}, workers(ctx, nil, 1, f, nil))
	mustPanic(t, "Run", []string{"nil f"}, workers(ctx, c, 1, nil, nil))
	mustPanic(t, "Run", []string{"n is 0"}, workers(ctx, c, 0, f, nil))
	mustPanic(t, "Run", []string{"n is -3"}, workers(ctx, c, -3, f, nil))
	mustPanic(t, "Run", []string{"MaxOverhead is 1"}, workers(ctx, c, 1, f, &options{MaxOverhead: 1}))
	mustPanic(t, "Run", []string{"MaxOverhead is -0.5"}, workers(ctx, c, 1, f, &options{MaxOverhead: -0.5}))
	mustPanic(t, "Run", []string{"MaxOverhead is NaN"}, workers(ctx, c, 1, f, &options{MaxOverhead: math.NaN()}))
	mustPanic(t, "Run", []string{"MaxDelay is -1ns"}, workers(ctx, c, 1, f, &options{MaxDelay: -1}))
	mustPanic(t, "Run", []string{"MaxBatch is -2"}, workers(ctx, c, 1, f, &options{MaxBatch: -2}))
}

// mustPanic requires that f panics with a text that names function and contains words.
func mustPanic(t *testing.T, function string, words []string, f func()) {
	t.Helper()
	defer func() {
		t.Helper()
		message, ok := recover().(string)
		if !ok {
			t.Errorf("no panic with a text")
			return
		}
		if !strings.HasPrefix(message, "workers: "+function+": ") {
			t.Errorf("panic %q does not name the function %s", message, function)
		}
		for _, word := range words {
			if !strings.Contains(message, word) {
				t.Errorf("panic %q does not contain %q", message, word)
			}
		}
	}()
	f()
}
