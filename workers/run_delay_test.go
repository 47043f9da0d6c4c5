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

// TestRunStuckHolder: what one worker holds is done by the others while it is
// stuck, also after the channel was closed.
func TestRunStuckHolder(t *testing.T) {
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
				t.Errorf("%d of %d jobs begun while one is stuck", done, jobs)
			}
			close(free)
			c.Close()
		})
	}
}

// TestRunRescue: jobs behind one that is unexpectedly slow are done by workers
// that are busy, too, once they were held for longer than MaxDelay.
func TestRunRescue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const hold = 10 * time.Millisecond
		c := sluice.NewElastic[int](sluice.Unlimited, nil)
		var slow, fast atomic.Int64
		var begun sync.Map // of jobs 1 … 99, how long after the start
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

// TestRunHoldTime: with steady jobs and all workers busy none waits in a hand
// for longer than MaxDelay; and hands are used, where jobs are short.
func TestRunHoldTime(t *testing.T) {
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
					t.Errorf("job %d of %v was held for %v", job, each, held)
				}
				time.Sleep(each)
				return nil
			}, &workers.RunOptions[int]{MaxDelay: hold, MaxOverhead: 0.001})
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

// A job that is slow shrinks batches at once.
func TestRunShrinkAtOnce(t *testing.T) {
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
