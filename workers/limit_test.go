package workers_test

import (
	"context"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/workers"
)

// A gauge counts calls of f that run.
type gauge struct{ running, most, began atomic.Int64 }

func (g *gauge) enter() {
	g.began.Add(1)
	now := g.running.Add(1)
	for most := g.most.Load(); now > most && !g.most.CompareAndSwap(most, now); most = g.most.Load() {
	}
}

func (g *gauge) leave() { g.running.Add(-1) }

func TestLimitArguments(t *testing.T) {
	mustPanic(t, "NewLimit", []string{"n is 0 (want 1 or more)"}, func() { workers.NewLimit(0) })
	l := workers.NewLimit(3)
	mustPanic(t, "Limit.Set", []string{"n is -1 (want 1 or more)"}, func() { l.Set(-1) })
	if l.Get() != 3 {
		t.Errorf("Get returns %d after a Set that panicked, want 3", l.Get())
	}
	if l.Set(7); l.Get() != 7 {
		t.Errorf("Get returns %d, want 7", l.Get())
	}
	do := func(context.Context, int) error { return nil }
	for function, f := range map[string]func(){
		"Run": func() {
			_ = workers.Run(t.Context(), backlog(1), 1, do, &workers.RunOptions[int]{Limit: new(workers.Limit)})
		},
		"Map": func() {
			workers.Map(t.Context(), backlog(1), 1, double, &workers.MapOptions[int]{Limit: new(workers.Limit)})
		},
		"RunKeyed": func() {
			_ = workers.RunKeyed(t.Context(), backlog(1), 1, identity, do, &workers.KeyedOptions[int]{Limit: new(workers.Limit)})
		},
	} {
		mustPanic(t, function, []string{"Limit is the zero value (want one made by NewLimit)"}, f)
	}
}

func identity(job int) int                           { return job }
func double(_ context.Context, job int) (int, error) { return 2 * job, nil }

// A pool runs f for each job of r, by n workers.
type pool struct {
	name string
	run  func(ctx context.Context, r sluice.BatchReceiver[int], n int, f func(context.Context, int) error, l *workers.Limit) error
}

var pools = []pool{
	{"Run", func(ctx context.Context, r sluice.BatchReceiver[int], n int, f func(context.Context, int) error, l *workers.Limit) error {
		return workers.Run(ctx, r, n, f, &workers.RunOptions[int]{Limit: l})
	}},
	{"RunKeyed", func(ctx context.Context, r sluice.BatchReceiver[int], n int, f func(context.Context, int) error, l *workers.Limit) error {
		return workers.RunKeyed(ctx, r, n, identity, f, &workers.KeyedOptions[int]{Limit: l})
	}},
	{"Map", func(ctx context.Context, r sluice.BatchReceiver[int], n int, f func(context.Context, int) error, l *workers.Limit) error {
		return mapped(ctx, r, n, f, &workers.MapOptions[int]{Limit: l})
	}},
	{"ordered Map", func(ctx context.Context, r sluice.BatchReceiver[int], n int, f func(context.Context, int) error, l *workers.Limit) error {
		return mapped(ctx, r, n, f, &workers.MapOptions[int]{Limit: l, Ordered: true})
	}},
}

func mapped(ctx context.Context, r sluice.BatchReceiver[int], n int, f func(context.Context, int) error, o *workers.MapOptions[int]) error {
	results := workers.Map(ctx, r, n, func(ctx context.Context, job int) (int, error) { return job, f(ctx, job) }, o)
	for range results.All() {
	}
	return results.Err()
}

// eachPool runs test for each pool, in a bubble of synctest.
func eachPool(t *testing.T, test func(t *testing.T, p pool)) {
	for _, p := range pools {
		t.Run(p.name, func(t *testing.T) { synctest.Test(t, func(t *testing.T) { test(t, p) }) })
	}
}

// TestLimitBounds: at every moment at which nothing but f is to be waited for, as many calls of f
// run as the limit is, whether it was raised or lowered, up to the number of workers; and
// raising takes effect for jobs that are queued already.
func TestLimitBounds(t *testing.T) {
	eachPool(t, func(t *testing.T, p pool) {
		const n = 8
		var g gauge
		l := workers.NewLimit(2)
		release := make(chan struct{})
		ended := make(chan error)
		go func() {
			ended <- p.run(t.Context(), backlog(200), n, func(context.Context, int) error {
				g.enter()
				defer g.leave()
				<-release
				return nil
			}, l)
		}()
		running := 2
		for _, limit := range []int{2, 5, 5, 1, 3, 100, 8, 4, 1, 2} {
			l.Set(limit)
			synctest.Wait()
			if want := max(running, min(limit, n)); int(g.running.Load()) != want {
				t.Errorf("limit %d: %d calls run, want %d: none is interrupted", limit, g.running.Load(), want)
			}
			g.most.Store(0)
			for range n + 1 { // all calls that run return, and others begin
				release <- struct{}{}
				synctest.Wait()
			}
			running = min(limit, n)
			if int(g.running.Load()) != running {
				t.Errorf("limit %d: %d calls run, want %d", limit, g.running.Load(), running)
			}
		}
		close(release)
		if err := <-ended; err != nil || g.began.Load() != 200 {
			t.Errorf("%d of 200 jobs were done: %v", g.began.Load(), err)
		}
	})
}

// TestLimitLowered: when the limit falls, no call of f begins while more than that many run,
// not even for jobs that a worker had received before; and idle workers retire instead of busy
// ones.
func TestLimitLowered(t *testing.T) {
	eachPool(t, func(t *testing.T, p pool) {
		const n, short = 6, 600
		var g gauge
		l := workers.NewLimit(n)
		jobs := sluice.NewElastic[int](sluice.Unlimited, nil)
		hold := make(chan struct{})
		ended := make(chan error)
		var held atomic.Int64
		go func() {
			ended <- p.run(t.Context(), jobs, n, func(_ context.Context, job int) error {
				g.enter()
				defer g.leave()
				if job%100 == 99 && held.Add(1) <= 2 { // by then batches are large
					<-hold
				}
				return nil
			}, l)
		}()
		for job := range short {
			_ = jobs.TrySend(job)
		}
		synctest.Wait()
		if g.running.Load() != 2 || g.began.Load() != short {
			t.Fatalf("%d calls run after %d of %d: the test is void", g.running.Load(), g.began.Load(), short)
		}
		l.Set(2)
		synctest.Wait() // the four idle workers retire
		for job := range 100 {
			_ = jobs.TrySend(1000 + job)
		}
		if synctest.Wait(); g.began.Load() != short {
			t.Errorf("%d jobs began above the limit", g.began.Load()-short)
		}
		l.Set(3)
		if synctest.Wait(); g.began.Load() != short+100 {
			t.Errorf("raised: %d of 100 queued jobs began", g.began.Load()-short)
		}
		close(hold)
		jobs.Close()
		if err := <-ended; err != nil || g.began.Load() != short+100 {
			t.Errorf("%d jobs of %d: %v", g.began.Load(), short+100, err)
		}
	})
}

// TestLimitHandsBack: the jobs that a worker has received and not started when it retires are
// run by the workers that remain, although these are busy and receive other jobs.
func TestLimitHandsBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := workers.NewLimit(2)
		jobs := backlog(400)
		var ran []int
		var mu sync.Mutex
		var lowered atomic.Bool
		err := workers.Run(t.Context(), jobs, 2, func(_ context.Context, job int) error {
			if job >= 200 && !lowered.Swap(true) {
				l.Set(1)
			}
			mu.Lock()
			defer mu.Unlock()
			ran = append(ran, job)
			return nil
		}, &workers.RunOptions[int]{Limit: l, MaxDelay: time.Hour})
		slices.Sort(ran)
		if err != nil || len(ran) != 400 || len(slices.Compact(ran)) != 400 {
			t.Errorf("%d of 400 jobs ran: %v", len(ran), err)
		}
	})
}

// TestLimitFromF: f raises and lowers the limit of its own pool, and Set does not block.
func TestLimitFromF(t *testing.T) {
	eachPool(t, func(t *testing.T, p pool) {
		var g gauge
		l := workers.NewLimit(1)
		err := p.run(t.Context(), backlog(1000), 5, func(_ context.Context, job int) error {
			g.enter()
			defer g.leave()
			l.Set(1 + job%7)
			if job%3 == 0 {
				time.Sleep(time.Millisecond)
			}
			return nil
		}, l)
		if err != nil || g.began.Load() != 1000 || g.most.Load() > 5 || g.most.Load() < 2 {
			t.Errorf("%d of 1000 jobs ran, at most %d at once: %v", g.began.Load(), g.most.Load(), err)
		}
	})
}

// TestLimitOfSeveral: a limit applies to each of its pools, also to one that begins later.
func TestLimitOfSeveral(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := workers.NewLimit(1)
		gauges := make([]gauge, len(pools))
		release := make(chan struct{})
		var all sync.WaitGroup
		begin := func(i int) {
			all.Go(func() {
				err := pools[i].run(t.Context(), backlog(50), 4, func(context.Context, int) error {
					gauges[i].enter()
					defer gauges[i].leave()
					<-release
					return nil
				}, l)
				if err != nil || gauges[i].began.Load() != 50 {
					t.Errorf("%s: %d of 50 jobs: %v", pools[i].name, gauges[i].began.Load(), err)
				}
			})
		}
		for i := range pools[1:] {
			begin(1 + i)
		}
		synctest.Wait()
		l.Set(3)
		begin(0)
		synctest.Wait()
		for i := range gauges {
			if got := gauges[i].running.Load(); got != 3 {
				t.Errorf("%s: %d calls run, want 3", pools[i].name, got)
			}
		}
		close(release)
		all.Wait()
		l.Set(1) // no pool is left
	})
}

// TestLimitOfKeys: jobs of one key run in order although workers retire and come back, and a
// worker retires before it has run all jobs of its key.
func TestLimitOfKeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const keys, each = 5, 200
		l := workers.NewLimit(3)
		last := make([]int, keys) // by key; no two jobs of a key run at the same time
		err := workers.RunKeyed(t.Context(), backlog(keys*each), 3, func(job int) int { return job % keys }, func(_ context.Context, job int) error {
			if n := job/keys + 1; n != last[job%keys]+1 {
				t.Errorf("key %d: job %d came after job %d", job%keys, n, last[job%keys])
			}
			last[job%keys]++
			if job%11 == 0 {
				l.Set(1 + job%3)
				time.Sleep(time.Microsecond)
			}
			return nil
		}, &workers.KeyedOptions[int]{Limit: l, MaxDelay: time.Hour})
		if err != nil || !slices.Equal(last, []int{each, each, each, each, each}) {
			t.Errorf("jobs done by key: %v, %v", last, err)
		}

		l.Set(2)
		began, hold := make([]int, 2), make(chan struct{})
		ended := make(chan error)
		go func() {
			ended <- workers.RunKeyed(t.Context(), backlog(20), 2, func(job int) int { return job % 2 }, func(_ context.Context, job int) error {
				began[job%2]++
				<-hold
				return nil
			}, &workers.KeyedOptions[int]{Limit: l, MaxDelay: time.Hour})
		}()
		synctest.Wait()
		l.Set(1)
		hold <- struct{}{}
		if synctest.Wait(); began[0]+began[1] != 2 {
			t.Errorf("a worker began another job of its key instead of retiring: %v", began)
		}
		close(hold)
		if err := <-ended; err != nil || !slices.Equal(began, []int{10, 10}) {
			t.Errorf("jobs begun by key: %v, %v", began, err)
		}
	})
}

// TestLimitEarlyEnd: an error, a panic or the end of the context ends a pool whose workers are
// retired, and the jobs that they have handed back are unprocessed.
func TestLimitEarlyEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for range 20 {
			l := workers.NewLimit(4)
			jobs := backlog(300)
			done, left := 0, 0
			var mu sync.Mutex
			err := workers.Run(t.Context(), jobs, 4, func(_ context.Context, job int) error {
				mu.Lock()
				defer mu.Unlock()
				done++
				switch job {
				case 150:
					l.Set(1)
				case 200:
					return errJob
				}
				return nil
			}, &workers.RunOptions[int]{Limit: l, MaxDelay: time.Hour, OnUnprocessed: func(int) { left++ }})
			if err != errJob || done+left+jobs.Len() != 300 {
				t.Errorf("%v: %d done, %d unprocessed, %d in the channel", err, done, left, jobs.Len())
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		jobs := sluice.NewRendezvous[int](nil)
		go func() {
			ended <- workers.Run(ctx, jobs, 4, func(context.Context, int) error { return nil }, &workers.RunOptions[int]{Limit: workers.NewLimit(2)})
		}()
		synctest.Wait()
		if cancel(); <-ended != context.Canceled {
			t.Error("not canceled")
		}
	})
}

// TestLimitForgets: a limit does not keep pools that have ended.
func TestLimitForgets(t *testing.T) {
	l := workers.NewLimit(2)
	pointers := make([]weak.Pointer[[1 << 10]int], len(pools))
	for i, p := range pools {
		func() {
			used := new([1 << 10]int)
			pointers[i] = weak.Make(used)
			if err := p.run(t.Context(), backlog(10), 3, func(_ context.Context, job int) error { _ = used[job]; return nil }, l); err != nil {
				t.Error(err)
			}
		}()
	}
	for i, p := range pointers {
		for range 10 {
			runtime.GC()
		}
		if p.Value() != nil {
			t.Errorf("%s has ended, and its function is still reachable", pools[i].name)
		}
	}
	runtime.KeepAlive(l)
}

// TestLimitSetDoesNotAllocate: Set does not allocate, nor does raising and lowering for each
// job that runs.
func TestLimitSetDoesNotAllocate(t *testing.T) {
	l := workers.NewLimit(3)
	hold, begun := make(chan struct{}), make(chan struct{}, 3)
	ended := make(chan error)
	go func() {
		ended <- workers.Run(t.Context(), backlog(3), 3, func(context.Context, int) error {
			begun <- struct{}{}
			<-hold
			return nil
		}, &workers.RunOptions[int]{Limit: l})
	}()
	for range 3 {
		<-begun
	}
	n := 0
	if got := testing.AllocsPerRun(100, func() { n++; l.Set(1 + n%3) }); got > 0 {
		t.Errorf("Set allocates %v times", got)
	}
	close(hold)
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
