package workers_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/workers"
)

// TestRunStuckWorker: while a worker is stuck in a job, the others run the jobs in its
// queue, even after the channel was closed.
func TestRunStuckWorker(t *testing.T) {
	for _, closed := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			const jobs, n = 500, 4
			c := sluice.NewElastic[int](sluice.Unlimited, nil)
			l := newTimesheet(t, jobs)
			free := make(chan struct{})
			go workers.Run(t.Context(), c, n, func(_ context.Context, job int) error {
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
				t.Errorf("%d of %d jobs started while one is stuck", done, jobs)
			}
			close(free)
			c.Close()
		})
	}
}

// TestRunStealsOverdue: jobs behind one that is unexpectedly slow are run by other
// workers, even busy ones, when they have waited for MaxDelay.
func TestRunStealsOverdue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const hold = 10 * time.Millisecond
		c := sluice.NewElastic[int](sluice.Unlimited, nil)
		var slow, fast atomic.Int64
		var begun sync.Map // when each of the jobs 1 … 99 started, since the beginning
		start := time.Now()
		go workers.Run(t.Context(), c, 2, func(_ context.Context, job int) error {
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
		}, &workers.RunOptions[int]{MaxDelay: hold})
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
				t.Fatalf("job %d still waits behind a slow one", job)
			}
			// The thief was running a batch of its own, of jobs that used to be
			// short.
			if after := after.(time.Duration); after > 64*hold {
				t.Fatalf("job %d waited for %v", job, after)
			}
		}
		if slow.Load() != 1 || fast.Load() != 9900 {
			t.Errorf("%d slow and %d fast jobs", slow.Load(), fast.Load())
		}
		c.Close()
		time.Sleep(time.Hour)
	})
}

// TestRunMaxDelay: with steady jobs and all workers busy, no job waits in a local queue
// for longer than MaxDelay, and short jobs are received in batches.
func TestRunMaxDelay(t *testing.T) {
	for _, each := range []time.Duration{time.Microsecond, 30 * time.Microsecond, 3 * time.Millisecond} {
		synctest.Test(t, func(t *testing.T) {
			const jobs, n, hold = 20_000, 3, 2 * time.Millisecond
			spy := &spy{Channel: sluice.NewElastic[int](sluice.Unlimited, nil), received: make([]time.Time, jobs)}
			run := make([]int, jobs)
			for i := range run {
				run[i] = i
			}
			spy.SendBatch(t.Context(), run)
			spy.Close()
			err := workers.Run(t.Context(), spy, n, func(_ context.Context, job int) error {
				spy.mu.Lock()
				received := spy.received[job]
				spy.mu.Unlock()
				if held := time.Since(received); held > hold {
					t.Errorf("job %d of %v waited for %v", job, each, held)
				}
				time.Sleep(each)
				return nil
			}, &workers.RunOptions[int]{MaxDelay: hold, MaxOverhead: 0.001})
			if err != nil {
				t.Error(err)
			}
			want := max(1, min(int(50*time.Nanosecond*1000/each), int(hold/each)))
			if most := spy.largest(); most < want || most > want+2 {
				t.Errorf("jobs of %v: the largest batch was %d, want %d", each, most, want)
			}
		})
	}
}

// A spy is a channel that records when each value was received.
type spy struct {
	sluice.Channel[int]
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
	n, err := s.Channel.RecvBatch(ctx, buf)
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

// TestRunShrinksAtOnce: one slow job reduces the batch size to 1.
func TestRunShrinksAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		spy := &spy{Channel: sluice.NewElastic[int](sluice.Unlimited, nil)}
		go workers.Run(t.Context(), spy, 1, func(_ context.Context, job int) error {
			if job != quick {
				time.Sleep(time.Second)
			}
			return nil
		}, nil)
		warm(t, spy.Channel)
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
