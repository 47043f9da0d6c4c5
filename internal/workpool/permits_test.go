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
	for i := range working {
		p.workers[i].retired = !p.permits.take()
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
	if h, l := unpack(p.permits.word.Load()); h != held || l != limit {
		t.Errorf("%d permits are held and the limit is %d, want %d and %d", h, l, held, limit)
	}
}

func TestPermits(t *testing.T) {
	p := resizable(Config[int]{Workers: 4}, 3)
	expectWord(t, p, 3, 3)
	if p.permits.take() || p.permits.drop() || p.permits.exceeded() || p.permits.available() {
		t.Error("3 of 3: a permit was taken or dropped")
	}
	p.Resize(2)
	if p.permits.take() || !p.permits.exceeded() || !p.permits.drop() || p.permits.drop() {
		t.Error("3 of 2: want one worker to drop its permit, and no other")
	}
	p.Resize(100)
	expectWord(t, p, 2, 4)
	if p.permits.drop() || !p.permits.available() || !p.permits.take() || !p.permits.take() || p.permits.take() {
		t.Error("2 of 4: want two workers to take a permit")
	}
	none := New(Config[int]{Workers: 2})
	if none.permits.exceeded() || none.permits.hasJobs() || none.workers[0].takeBack() {
		t.Error("a pool without a limit has permits")
	}
}

// TestPermitsConcurrently: however take, drop and resize overlap, as many permits are held as
// were taken and not dropped, no more are taken beyond the limit, and no worker drops the
// permit that the limit leaves to it.
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
				case has && p.permits.drop():
					held.Add(-1)
					has = false
				case !has && p.permits.take():
					held.Add(1)
					has = true
				}
				if held, _ := unpack(p.permits.word.Load()); held > workers {
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
	if held.Load() < 1 {
		t.Error("no permit is left")
	}
}

// TestResizeToTheSame: the value that was set before wakes no worker, nor does one that
// changes nothing because there are fewer workers.
func TestResizeToTheSame(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := resizable(Config[int]{Workers: 3}, 2)
		l := leading(t, p)
		var back atomic.Int32
		go func() { p.workers[1].follow(); back.Add(1) }()
		go func() { p.workers[2].rest(); back.Add(1) }()
		synctest.Wait()
		waits := p.permits.retired.Tally().Waits() + p.followers.Tally().Waits()
		p.Resize(2)
		synctest.Wait()
		if back.Load() != 0 || l.Err() != nil || p.permits.retired.Tally().Waits()+p.followers.Tally().Waits() != waits {
			t.Errorf("%d workers are back, leader: %v", back.Load(), l.Err())
		}
		p.Resize(3)
		if synctest.Wait(); back.Load() != 1 || l.Err() != nil {
			t.Errorf("raised: %d workers are back, want the one that was retired; leader: %v", back.Load(), l.Err())
		}
		p.Resize(70)
		if synctest.Wait(); back.Load() != 1 || l.Err() != nil {
			t.Errorf("raised above the number of workers: %d are back; leader: %v", back.Load(), l.Err())
		}
		p.finished.Store(true)
		p.followers.WakeAll()
	})
}

// TestLowerRetiresIdle: of the idle workers, the followers retire first, no more of them
// than necessary, and the leader last. Raised, all come back.
func TestLowerRetiresIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := resizable(Config[int]{Workers: 5}, 5) // worker 0 leads, and worker 4 is inside f
		l := leading(t, p)
		for i := 1; i < 4; i++ {
			go p.workers[i].find()
		}
		synctest.Wait()
		expect := func(when string, followers, retired int, interrupted bool) {
			t.Helper()
			synctest.Wait()
			if f, r := p.followers.Snapshot(0, nil).Waiting, p.permits.retired.Snapshot(0, nil).Waiting; f != followers || r != retired {
				t.Errorf("%s: %d follow and %d are retired, want %d and %d", when, f, r, followers, retired)
			}
			if (l.Err() != nil) != interrupted {
				t.Errorf("%s: leader: %v", when, l.Err())
			}
		}
		expect("at first", 3, 0, false)
		p.Resize(4)
		expect("lowered to 4", 2, 1, false)
		p.Resize(2)
		expect("lowered to 2", 0, 3, false)
		expectWord(t, p, 2, 2)
		p.Resize(5)
		expect("raised to 5", 3, 0, false)
		expectWord(t, p, 5, 5)
		p.Resize(1)
		expect("lowered to 1", 0, 3, true)
		expectWord(t, p, 2, 1) // the leader and the worker inside f: the first of them retires
		p.finished.Store(true)
		p.permits.wakeAll()
	})
}

// TestIdleChecksLimit: a worker that is about to wait checks once more whether it is to
// retire, since the limit may have fallen while it was not idle.
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
		leading(t, p)
		p.workers[1].follow() // would block
	})
}

// TestRestChecksLimit: a worker that is about to wait for a permit checks once more, since
// the limit may have risen while no worker was retired.
func TestRestChecksLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := resizable(Config[int]{Workers: 2}, 2)
		leading(t, p)
		p.Resize(1)
		w := &p.workers[1]
		if !w.retires() {
			t.Fatal("not retired")
		}
		p.Resize(2)
		w.rest() // would block
		if w.retires() {
			t.Error("retired with a permit")
		}
		expectWord(t, p, 2, 2)
	})
}

// TestRestMissesNoRise: however retiring and raising overlap, every worker comes back; the
// first one wakes the next. A wake-up that is lost is a deadlock, which synctest reports.
func TestRestMissesNoRise(t *testing.T) {
	const workers, rounds = 3, 3000
	synctest.Test(t, func(t *testing.T) {
		p := resizable(Config[int]{Workers: 1 + workers}, 1+workers)
		leading(t, p)
		for n := range rounds {
			p.Resize(1)
			var all sync.WaitGroup
			var begun atomic.Int32
			for i := range workers {
				all.Go(func() {
					begun.Add(1)
					if w := &p.workers[1+i]; w.retires() {
						w.rest()
					}
				})
			}
			for int(begun.Load()) < n%(workers+1) {
				runtime.Gosched()
			}
			for range n % 64 {
				_ = p.active.Load() // some nanoseconds
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
	if !slices.Equal(ran, []uint64{6, 7}) || !w.retired || p.permits.back.n.Load() != 4 || p.active.Load() != 2+4 {
		t.Fatalf("ran %v, retired: %v, handed back %d jobs, active %d", ran, w.retired, p.permits.back.n.Load(), p.active.Load())
	}
	p.deactivate() // as the worker that retires does
	if p.active.Add(-1); p.active.Load() == 0 {
		t.Error("active counts no job: the last worker that waits would end the pool")
	}
	p.active.Add(1)
	if !p.hasSurplus() {
		t.Error("no surplus")
	}
	for other.find() {
		other.run()
		if len(ran) == 6 {
			break
		}
	}
	if !slices.Equal(ran, []uint64{6, 7, 8, 9, 10, 11}) || p.hasSurplus() || p.active.Load() != 1 {
		t.Errorf("ran %v, surplus: %v, active %d", ran, p.hasSurplus(), p.active.Load())
	}
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
			// A worker in f has just retired: so the limit is not exceeded any more.
			w.retired = true
			p.permits.word.Store(pack(1, 1))
			w.run()
			go w.rest()
			synctest.Wait()
			if back != followers || (l.Err() != nil) != (followers == 0) {
				t.Errorf("%d of %d followers are back; leader: %v", back, followers, l.Err())
			}
			p.finished.Store(true)
			p.permits.wakeAll()
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
