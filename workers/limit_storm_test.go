package workers_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/workers"
)

// A resizing is one random pool whose limit changes while it runs: senders, the pool, and
// goroutines that call Set.
type resizing struct {
	*rand.Rand
	t       *testing.T
	seed    uint64
	workers int
	senders int
	each    int // values per sender
	failAt  int // the value that fails, or -1
	fromF   bool
	pauses  bool

	limit *workers.Limit
	jobs  *sluice.Bounded[int]
	gauge gauge
	// settled is the limit while no call of f may begin beside as many others, or 0 while
	// the limit changes.
	settled         atomic.Int64
	fates           []atomic.Int32 // of each value: times that it was given to f, or reported
	sent, out, done atomic.Int64   // values sent, reported and completed
	over            chan struct{}
}

func newResizing(t *testing.T, seed uint64) *resizing {
	r := rand.New(rand.NewPCG(seed, 2))
	s := &resizing{
		Rand: r, t: t, seed: seed, workers: 1 + r.IntN(6), senders: 1 + r.IntN(3), each: 1 + r.IntN(400), failAt: -1,
		fromF: r.IntN(3) == 0, pauses: r.IntN(4) > 0,
		limit: workers.NewLimit(1 + r.IntN(6)), jobs: sluice.NewBounded[int](r.IntN(40), nil), over: make(chan struct{}),
	}
	s.fates = make([]atomic.Int32, s.senders*s.each)
	if r.IntN(3) == 0 {
		s.failAt = r.IntN(len(s.fates))
	}
	return s
}

func (s *resizing) send(all *sync.WaitGroup) {
	for sender := range s.senders {
		all.Go(func() {
			for i := range s.each {
				if s.jobs.Send(context.Background(), sender*s.each+i) != nil {
					return // the pool has ended early
				}
				s.sent.Add(1)
			}
		})
	}
	go func() {
		all.Wait()
		s.jobs.Close()
	}()
}

// f is the job.
func (s *resizing) f(_ context.Context, v int) error {
	s.gauge.enter()
	defer s.gauge.leave()
	running := s.gauge.running.Load() // first: once the limit is no longer settled, others may begin
	if limit := s.settled.Load(); limit > 0 && running > limit {
		s.t.Errorf("seed %d: a call of f began beside %d others, and the limit is %d", s.seed, running-1, limit)
	}
	s.fates[v].Add(1)
	if s.fromF && v%5 == 0 {
		s.limit.Set(1 + v%s.workers)
	}
	if s.pauses && v%7 == 0 {
		time.Sleep(time.Duration(1+v%13) * 100 * time.Microsecond)
	}
	if v == s.failAt {
		return errJob
	}
	s.done.Add(1)
	return nil
}

func (s *resizing) unprocessed(v int) {
	s.out.Add(1)
	s.fates[v].Add(1)
}

// resize sets the limit at random times. If f does not, each value holds for a while.
func (s *resizing) resize(r *rand.Rand) {
	for {
		s.settled.Store(0)
		limit := 1 + r.IntN(s.workers+1)
		s.limit.Set(limit)
		if !s.fromF {
			synctest.Wait() // no call of f is about to begin
			s.settled.Store(int64(limit))
		}
		select {
		case <-s.over:
			return
		case <-time.After(time.Duration(r.IntN(2000)) * time.Microsecond):
		}
	}
}

// run runs a pool, of which there are four sorts, and checks the order that it promises.
func (s *resizing) run(ctx context.Context) error {
	n, last := s.workers, make([]int, s.senders)
	inOrder := func(v int) {
		sender := v / s.each
		if v%s.each+1 <= last[sender] {
			s.t.Errorf("seed %d: value %d of sender %d came after %d", s.seed, v%s.each, sender, last[sender]-1)
		}
		last[sender] = v%s.each + 1
	}
	switch sort := s.IntN(4); sort {
	case 0:
		return workers.Run(ctx, s.jobs, n, s.f, &workers.RunOptions[int]{Limit: s.limit, OnUnprocessed: s.unprocessed})
	case 1:
		key := func(v int) int { return v / s.each }
		return workers.RunKeyed(ctx, s.jobs, n, key, func(ctx context.Context, v int) error {
			inOrder(v)
			return s.f(ctx, v)
		}, &workers.KeyedOptions[int]{Limit: s.limit, MaxAhead: 1 + s.IntN(50), OnUnprocessed: s.unprocessed})
	default:
		o := &workers.MapOptions[int]{Limit: s.limit, Ordered: sort == 2, OnUnprocessed: s.unprocessed}
		if o.Ordered {
			o.MaxAhead = 1 + s.IntN(30)
		}
		results := workers.Map(ctx, s.jobs, n, func(ctx context.Context, v int) (int, error) { return v, s.f(ctx, v) }, o)
		got := int64(0)
		for v := range results.All() {
			if got++; o.Ordered {
				inOrder(v)
			}
		}
		if err := results.Err(); err != nil || got == s.sent.Load() {
			return err
		}
		return errors.New("results are missing")
	}
}

// TestLimitStorm: random pools whose limit changes at any time, some of which fail or are
// canceled. No job is lost or run twice, nothing hangs, and no call of f begins above a limit
// that holds.
func TestLimitStorm(t *testing.T) {
	for seed := range uint64(400) {
		synctest.Test(t, func(t *testing.T) {
			s := newResizing(t, seed)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			canceled := s.IntN(4) == 0
			if canceled {
				time.AfterFunc(time.Duration(s.IntN(5000))*time.Microsecond, cancel)
			}
			var senders, resizers sync.WaitGroup
			s.send(&senders)
			for i := range 1 + s.IntN(3) {
				r := rand.New(rand.NewPCG(seed, uint64(3+i)))
				if i == 0 || s.fromF {
					resizers.Go(func() { s.resize(r) })
				}
			}
			err := s.run(ctx)
			close(s.over)
			senders.Wait()
			resizers.Wait()
			s.account(err, canceled)
		})
	}
}

// account checks what became of each value.
func (s *resizing) account(err error, canceled bool) {
	left := int64(s.jobs.Len())
	if began, out := s.gauge.began.Load(), s.out.Load(); began+out+left != s.sent.Load() {
		s.t.Errorf("seed %d: %d sent, but %d begun, %d reported, %d left", s.seed, s.sent.Load(), began, out, left)
	}
	for v := range s.fates {
		if n := s.fates[v].Load(); n > 1 {
			s.t.Errorf("seed %d: value %d was run or reported %d times", s.seed, v, n)
		}
	}
	switch {
	case canceled:
	case s.failAt >= 0 && !errors.Is(err, errJob):
		s.t.Errorf("seed %d: a job failed, and the pool ended with %v", s.seed, err)
	case s.failAt < 0 && (err != nil || s.done.Load() != int64(len(s.fates))):
		s.t.Errorf("seed %d: %d of %d values done: %v", s.seed, s.done.Load(), len(s.fates), err)
	}
}

// TestLimitChurn: while several goroutines change the limit as fast as they can, every job runs
// once. A wake-up that was lost is a deadlock, which synctest reports.
func TestLimitChurn(t *testing.T) {
	eachPool(t, func(t *testing.T, p pool) {
		const n, count, sets = 6, 5000, 3000
		l := workers.NewLimit(1)
		jobs := sluice.NewBounded[int](16, nil)
		runs := make([]atomic.Int32, count)
		var resizers sync.WaitGroup
		for i := range 2 {
			r := rand.New(rand.NewPCG(uint64(i), 4))
			resizers.Go(func() {
				for range sets {
					l.Set(1 + r.IntN(n+1))
					runtime.Gosched()
				}
			})
		}
		go func() {
			for job := range count {
				if err := jobs.Send(context.Background(), job); err != nil {
					t.Error(err)
				}
			}
			resizers.Wait()
			jobs.Close()
		}()
		err := p.run(t.Context(), jobs, n, func(_ context.Context, job int) error {
			runs[job].Add(1)
			return nil
		}, l)
		for job := range runs {
			if got := runs[job].Load(); got != 1 {
				t.Errorf("job %d ran %d times", job, got)
			}
		}
		if err != nil {
			t.Error(err)
		}
	})
}
