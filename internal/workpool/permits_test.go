package workpool

import (
	"context"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// resizable returns a pool of which the first working workers have a permit.
func resizable(config Config[int], working int) *Pool[int] {
	config.Resizable, config.Share, config.MaxDelay, config.MaxBatch = true, 0.01, time.Millisecond, 8
	if config.Source == nil {
		config.Source = hook(func(context.Context) (int, error) { return 0, context.Canceled })
	}
	p := New(config)
	p.Resize(working)
	return started(p)
}

// started gives the permits of a pool to its first workers.
func started(p *Pool[int]) *Pool[int] {
	for i := range p.workers {
		p.workers[i].holds = p.permits.take()
	}
	return p
}

// leading returns a leadership that some worker of p has.
func leading(t *testing.T, p *Pool[int]) *leadership {
	l := &leadership{Context: t.Context(), ended: make(chan struct{})}
	p.leader.Store(l)
	return l
}

// expectWord checks the permits of a pool.
func expectWord(t *testing.T, p *Pool[int], held, limit uint32) {
	t.Helper()
	if h, l := p.permits.counts(); h != held || l != limit {
		t.Errorf("%d permits are held and the limit is %d, want %d and %d", h, l, held, limit)
	}
}

func TestPermits(t *testing.T) {
	p := resizable(Config[int]{Workers: 4}, 3)
	expectWord(t, p, 3, 3)
	if p.permits.take() || p.permits.exceeded() || p.permits.available() {
		t.Error("3 of 3: a permit was taken, or is to be dropped")
	}
	p.Resize(2)
	if p.permits.take() || !p.permits.exceeded() || p.permits.drop() || p.permits.exceeded() {
		t.Error("3 of 2: want one worker to drop its permit, and no other")
	}
	p.Resize(100)
	expectWord(t, p, 2, 4)
	if p.permits.exceeded() || !p.permits.available() || !p.permits.take() || !p.permits.take() || p.permits.take() {
		t.Error("2 of 4: want two workers to take a permit")
	}
	p.permits.push(numbered[int]{1, 1})
	p.permits.push(numbered[int]{2, 2})
	for range 3 {
		p.permits.drop()
	}
	if p.permits.drop() || !p.permits.hasJobs() {
		t.Error("the pool ends, but jobs are handed back")
	}
	for want := range uint64(2) {
		p.permits.take()
		if job, ok := p.permits.pop(); !ok || job.seq != want+1 {
			t.Errorf("job %d, %v; want %d", job.seq, ok, want+1)
		}
		if last := p.permits.drop(); last != (want == 1) {
			t.Errorf("job %d is taken: the pool ends: %v", want+1, last)
		}
	}
	if all := started(New(Config[int]{Workers: 2})); !all.workers[1].holds || all.permits.available() {
		t.Error("a pool without a limit has workers without a permit")
	}
}

// TestPermitsConcurrently: however take, drop and resize overlap, as many permits are held as
// were taken and not dropped, and no more are taken beyond the limit.
func TestPermitsConcurrently(t *testing.T) {
	const workers, rounds = 4, 5000
	p := resizable(Config[int]{Workers: workers}, 0)
	var held atomic.Int64
	var all sync.WaitGroup
	for range workers {
		all.Go(func() {
			has := false
			for range rounds {
				switch {
				case has && p.permits.exceeded():
					held.Add(-1)
					p.permits.drop()
					has = false
				case !has && p.permits.take():
					held.Add(1)
					has = true
				}
				if held, _ := p.permits.counts(); held > workers {
					t.Errorf("%d permits are held by %d workers", held, workers)
				}
				runtime.Gosched()
			}
		})
	}
	all.Go(func() {
		for i := range rounds {
			p.Resize(1 + i%workers)
			runtime.Gosched()
		}
	})
	all.Wait()
	expectWord(t, p, uint32(held.Load()), uint32(1+(rounds-1)%workers))
}

// TestResizeIdle: a limit that changes while there is nothing to do wakes no worker: idle workers
// but the leader have no permit.
func TestResizeIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := resizable(Config[int]{Workers: 4}, 3)
		l := leading(t, p) // worker 0
		var back atomic.Int32
		for i := 1; i < 4; i++ {
			go func() { p.workers[i].follow(); back.Add(1) }()
		}
		synctest.Wait()
		waits := p.followers.Tally().Waits()
		for _, limit := range []int{3, 2, 4, 70, 1, 3} {
			p.Resize(limit)
			synctest.Wait()
			expectWord(t, p, 1, uint32(min(limit, 4)))
			if back.Load() != 0 || l.Err() != nil || p.followers.Tally().Waits() != waits {
				t.Errorf("limit %d: %d workers are back, leader: %v", limit, back.Load(), l.Err())
			}
		}
		p.finished.Store(true)
		p.followers.WakeAll()
	})
}

// TestLimitInForce: with surplus for all, as many followers work as the limit allows. Raised, the
// next ones come back, each woken by the one before; lowered, a busy worker gives up its permit, and
// the leader if it is idle.
func TestLimitInForce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := resizable(Config[int]{Workers: 5}, 2) // worker 0 leads, and worker 1 is inside f
		l := leading(t, p)
		stop, ran := make(chan struct{}), atomic.Int32{}
		for i := 2; i < 5; i++ {
			go func() {
				if p.workers[i].find() {
					ran.Add(1)
					<-stop
				}
			}()
		}
		synctest.Wait()
		p.workers[1].queue.slots(64)
		p.workers[1].got(64, 0)
		p.wakeIfUseful()
		expect := func(when string, running int32, held, limit uint32, interrupted bool) {
			t.Helper()
			synctest.Wait()
			if ran.Load() != running || (l.Err() != nil) != interrupted {
				t.Errorf("%s: %d followers run, want %d; leader: %v", when, ran.Load(), running, l.Err())
			}
			expectWord(t, p, held, limit)
		}
		expect("at first", 0, 2, 2, true) // the surplus is for the leader
		l = leading(t, p)
		p.Resize(3)
		expect("raised to 3", 1, 3, 3, true) // there is more of it
		l = leading(t, p)
		p.Resize(5)
		expect("raised to 5", 3, 5, 5, true)
		p.workers[1].queue.span.Store(0)
		l = leading(t, p)
		p.Resize(4)
		expect("lowered to 4", 3, 5, 4, true)
		p.finished.Store(true)
		close(stop)
		p.followers.WakeAll()
	})
}

// TestIdleChecksLimit: a worker that is about to wait in the source checks once more whether it is to
// drop its permit, since the limit may have fallen while it was not idle.
func TestIdleChecksLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := resizable(Config[int]{Workers: 2, Context: t.Context(), Source: hook(func(context.Context) (int, error) {
			t.Error("a worker that is to retire waits in the source")
			return 0, context.Canceled
		})}, 2)
		p.Resize(1)
		if found, led := p.workers[0].leads(); found || !led || p.leader.Load() != nil {
			t.Errorf("found %v, led %v", found, led)
		}
	})
}

// TestFollowChecksLimit: a worker that is about to wait checks once more, since the limit may have
// risen after it has dropped its permit.
func TestFollowChecksLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := resizable(Config[int]{Workers: 2}, 2)
		p.permits.push(numbered[int]{})
		p.Resize(1)
		w := &p.workers[1]
		if !p.permits.exceeded() {
			t.Fatal("the limit is not exceeded")
		}
		p.Resize(2)
		w.follow() // would block
		expectWord(t, p, 2, 2)
	})
}

// TestFollowMissesNoRise: however retiring and raising overlap, every worker comes back as long as
// there are jobs; the first one wakes the next. A wake-up that is lost is a deadlock, which synctest reports.
func TestFollowMissesNoRise(t *testing.T) {
	const workers, rounds = 3, 3000
	synctest.Test(t, func(t *testing.T) {
		p := resizable(Config[int]{Workers: 1 + workers}, 1+workers)
		leading(t, p)
		p.permits.push(numbered[int]{})
		for n := range rounds {
			p.Resize(1)
			var all sync.WaitGroup
			var begun atomic.Int32
			for i := range workers {
				all.Go(func() {
					begun.Add(1)
					if p.permits.exceeded() {
						p.workers[1+i].follow()
						p.wakeIfUseful() // as find does
					}
				})
			}
			for int(begun.Load()) < n%(workers+1) {
				runtime.Gosched()
			}
			for range n % 64 {
				_ = p.closed.Load() // some nanoseconds
			}
			p.Resize(1 + n%workers)
			p.Resize(1 + workers)
			all.Wait()
		}
		expectWord(t, p, 1+workers, 1+workers)
	})
}

// TestHandBack: a worker that is to retire starts no more jobs. Another worker runs them,
// in their order and with their numbers, and the pool does not end before.
func TestHandBack(t *testing.T) {
	var ran []uint64
	p := resizable(Config[int]{Workers: 2, Room: func(uint64) int { return 0 }}, 2)
	p.Context = t.Context()
	p.DoNumbered = func(_ int, seq uint64, job int) error {
		if job != int(seq)+100 {
			t.Errorf("job %d has number %d", job, seq)
		}
		if ran = append(ran, seq); seq == 7 {
			p.Resize(1)
		}
		return nil
	}
	p.closed.Store(true)
	w, other := &p.workers[0], &p.workers[1]
	for i := range w.queue.slots(6) {
		w.queue.jobs[i] = 106 + i
	}
	w.got(6, 6)
	w.run()
	if !slices.Equal(ran, []uint64{6, 7}) || p.permits.back.Len() != 4 || !p.permits.exceeded() {
		t.Fatalf("ran %v, handed back %d jobs", ran, p.permits.back.Len())
	}
	if w.holds = false; p.permits.drop() { // as the worker that retires does
		t.Error("the pool would end")
	}
	if !p.hasSurplus() {
		t.Error("no surplus")
	}
	for other.find() {
		other.run()
		if len(ran) == 6 {
			break
		}
	}
	if !slices.Equal(ran, []uint64{6, 7, 8, 9, 10, 11}) || p.hasSurplus() {
		t.Errorf("ran %v, surplus: %v", ran, p.hasSurplus())
	}
	expectWord(t, p, 1, 1)
	if other.find() || !p.finished.Load() {
		t.Error("the pool has not ended")
	}
}

// TestHandBackFirst: a worker that finds jobs while the limit falls hands all of them back,
// and they are unprocessed if the pool ends.
func TestHandBackFirst(t *testing.T) {
	p := resizable(Config[int]{Workers: 2, Do: func(context.Context, int) error {
		t.Error("a job was started above the limit")
		return nil
	}}, 2)
	w := &p.workers[1]
	copy(w.queue.slots(3), []int{1, 2, 3})
	w.got(3, 0)
	p.Resize(1)
	w.run()
	var left []int
	p.Unprocessed(func(job int) { left = append(left, job) })
	if !slices.Equal(left, []int{1, 2, 3}) {
		t.Errorf("unprocessed: %v", left)
	}
}

// TestHandedBackWakesIdle: the jobs of a worker that retires wake a follower, or the leader.
func TestHandedBackWakesIdle(t *testing.T) {
	for _, followers := range []int{0, 1} {
		synctest.Test(t, func(t *testing.T) {
			p := resizable(Config[int]{Workers: 3, Do: func(context.Context, int) error { return nil }}, 2+followers)
			l := leading(t, p)
			back := 0
			for i := range followers {
				go func() { p.workers[1+i].follow(); back++ }()
			}
			synctest.Wait()
			w := &p.workers[0]
			copy(w.queue.slots(1), []int{1})
			w.got(1, 0)
			if p.permits.word.Store(pack(1, 1)); followers > 0 { // a permit is left
				p.permits.word.Store(pack(2, 3))
			}
			w.handBack(0, 0)
			synctest.Wait()
			if back != followers || (l.Err() != nil) != (followers == 0) {
				t.Errorf("%d of %d followers are back; leader: %v", back, followers, l.Err())
			}
			p.finished.Store(true)
			p.followers.WakeAll()
		})
	}
}

// TestHandedBackFirst: a worker runs what was handed back before it receives more.
func TestHandedBackFirst(t *testing.T) {
	p := resizable(Config[int]{Workers: 2, Source: hook(func(context.Context) (int, error) { return 1, nil })}, 2)
	w := &p.workers[0]
	for slot, job := range []int{7, 8, 9} {
		w.queue.slots(3)[slot] = job
	}
	w.got(3, 0)
	p.Resize(1)
	w.run()
	w.holds = false
	p.permits.drop() // as it follows
	other := &p.workers[1]
	for _, want := range []int{7, 8, 9, 0} {
		if !other.find() {
			t.Error("found no job")
		}
		if job := other.queue.take(0); job != want {
			t.Errorf("found job %d, want %d", job, want)
		}
	}
}
