package workers_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/workers"
)

// TestRunKeyedFair: a key that has many jobs delays another key by one turn, whether its
// jobs are received already or not.
func TestRunKeyedFair(t *testing.T) {
	for _, n := range []int{1, 2, 3} {
		synctest.Test(t, func(t *testing.T) {
			c := sluice.NewElastic[int](sluice.Unlimited, nil)
			const busy = 10 // keys
			for job := range 500 {
				_ = c.TrySend(job % busy)
			}
			ctx, cancel := context.WithCancel(t.Context())
			began := time.Now()
			var other []time.Duration
			done := make(chan struct{})
			go func() {
				defer close(done)
				_ = workers.RunKeyed(ctx, c, n, func(key int) int { return key }, func(_ context.Context, key int) error {
					if key < busy {
						time.Sleep(10 * time.Millisecond) // longer than MaxDelay: a turn has one job
					} else {
						other = append(other, time.Since(began))
					}
					return nil
				}, &workers.KeyedOptions[int]{})
			}()
			time.Sleep(995 * time.Millisecond)
			for c.Stats().Len > 0 { // the channel is FIFO: what is behind busy jobs waits for them to be received
				time.Sleep(10 * time.Millisecond)
			}
			sent := time.Since(began)
			_ = c.TrySend(busy)
			// One round of turns until the job is received, another one until it is its turn.
			time.Sleep(2 * (busy + 1) * 10 * time.Millisecond)
			synctest.Wait()
			if len(other) != 1 {
				t.Errorf("n=%d: a job sent at %v has not begun after two rounds of turns", n, sent)
			}
			cancel()
			<-done
		})
	}
}

// TestRunKeyedBusyKey: while a job of a key runs, the jobs of other keys do, and those of
// its key wait without a worker. The same holds if MaxAhead jobs were received, as soon as
// one of them is done.
func TestRunKeyedBusyKey(t *testing.T) {
	for _, ahead := range []int{3, 0} {
		synctest.Test(t, func(t *testing.T) {
			c := sluice.NewElastic[int](sluice.Unlimited, nil)
			release := make(chan struct{})
			var done atomic.Int32
			ended := make(chan error)
			go func() {
				ended <- workers.RunKeyed(t.Context(), c, 2, func(job int) int { return min(job, 1) }, func(_ context.Context, job int) error {
					if job == 0 {
						<-release
					}
					done.Add(1)
					return nil
				}, &workers.KeyedOptions[int]{MaxAhead: ahead})
			}()
			_, _ = c.TrySend(0), c.TrySend(0)
			for job := range 100 {
				_ = c.TrySend(1 + job)
				if job%10 == 0 {
					synctest.Wait()
				}
			}
			synctest.Wait()
			if n := done.Load(); n != 100 {
				t.Errorf("MaxAhead %d: %d of 100 jobs of other keys are done", ahead, n)
			}
			if ahead > 0 { // now the busy key has all that may be received
				_, _ = c.TrySend(0), c.TrySend(1)
				synctest.Wait()
				if n := done.Load(); n != 100 {
					t.Errorf("MaxAhead %d: %d jobs are done", ahead, n)
				}
			}
			c.Close()
			synctest.Wait()
			close(release)
			if err := <-ended; err != nil || c.Stats().Len > 0 {
				t.Errorf("RunKeyed returned %v: %+v", err, c.Stats())
			}
		})
	}
}

// TestRunKeyedStuckKey: a key whose job does not end holds no more than MaxPerKey jobs of
// MaxAhead, and jobs that are done leave room although their turn goes on.
func TestRunKeyedStuckKey(t *testing.T) {
	for _, backlog := range []int{0, 1, 5, 50} {
		synctest.Test(t, func(t *testing.T) {
			c := sluice.NewElastic[int](sluice.Unlimited, nil)
			release := make(chan struct{})
			var others, excess atomic.Int32
			ended := make(chan error)
			go func() {
				ended <- workers.RunKeyed(t.Context(), c, 2, func(job int) int { return max(job, 0) }, func(_ context.Context, job int) error {
					switch {
					case job == 0:
						<-release
					case job > 0:
						others.Add(1)
					}
					return nil
				}, &workers.KeyedOptions[int]{MaxAhead: 4, MaxPerKey: 3, OnExcess: func(int) { excess.Add(1) }})
			}()
			for range backlog {
				_ = c.TrySend(-1) // of the same key, and done at once
				synctest.Wait()
			}
			for _, job := range []int{-1, -1, 0, 0, 0, 0, 0, 1, 2, 3} {
				_ = c.TrySend(job)
			}
			synctest.Wait()
			if others.Load() != 3 || excess.Load() < 2 {
				t.Errorf("after %d jobs: %d of 3 jobs of other keys are done, excess %d", backlog, others.Load(), excess.Load())
			}
			c.Close()
			close(release)
			if err := <-ended; err != nil {
				t.Error(err)
			}
		})
	}
}

// TestRunKeyedTurnEnds: a turn ends after MaxDelay, also if jobs were short before.
func TestRunKeyedTurnEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := sluice.NewElastic[int](sluice.Unlimited, nil)
		for job := range 900 {
			_ = c.TrySend(job)
		}
		_ = c.TrySend(-1)
		c.Close()
		slow := 0 // jobs of the busy key before the other key
		seen := false
		err := workers.RunKeyed(t.Context(), c, 1, func(job int) int { return min(job, 0) }, func(_ context.Context, job int) error {
			switch {
			case job < 0:
				seen = true
			case job > 850:
				time.Sleep(10 * time.Millisecond)
				if !seen {
					slow++
				}
			}
			return nil
		}, nil)
		if err != nil || slow > 4 { // a turn until the other job is received, and one more
			t.Errorf("%d slow jobs before the job of the other key: %v", slow, err)
		}
		if !seen {
			t.Error("the job of the other key was not run")
		}
	})
}

// TestRunKeyedJobsWait: with PerKey above 1 a job may wait for the next one of its key.
func TestRunKeyedJobsWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := sluice.NewElastic[int](sluice.Unlimited, nil)
		for job := range 100 {
			_ = c.TrySend(job)
		}
		c.Close()
		next := make(chan struct{})
		err := workers.RunKeyed(t.Context(), c, 4, func(int) int { return 0 }, func(_ context.Context, job int) error {
			switch job {
			case 40:
				<-next
			case 41:
				close(next)
			}
			return nil
		}, &workers.KeyedOptions[int]{PerKey: 2})
		if err != nil {
			t.Error(err)
		}
	})
}

// TestRunKeyedIdleWorker: an idle worker runs a job of another key if the worker that made
// room for it, or received it, does not.
func TestRunKeyedIdleWorker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := sluice.NewElastic[int](sluice.Unlimited, nil)
		key := func(job int) int { return job / 10 }
		steps := map[int]chan struct{}{1: make(chan struct{}), 2: make(chan struct{}), 31: make(chan struct{})}
		var done atomic.Int32
		ended := make(chan error)
		go func() {
			ended <- workers.RunKeyed(t.Context(), c, 2, key, func(_ context.Context, job int) error {
				switch job {
				case 1, 2, 31:
					<-steps[job]
				case 41:
					close(steps[31])
				}
				done.Add(1)
				return nil
			}, &workers.KeyedOptions[int]{MaxAhead: 3})
		}()
		_, _ = c.SendBatch(t.Context(), []int{1, 2, 3}) // as many as may be received
		synctest.Wait()
		close(steps[1]) // its worker goes on with 2, and there is room
		synctest.Wait()
		_ = c.TrySend(21)
		if synctest.Wait(); done.Load() != 2 {
			t.Errorf("%d jobs are done, want 1 and 21", done.Load())
		}
		close(steps[2])
		synctest.Wait()
		// Both are received at once, and nothing more may be.
		_, _ = c.SendBatch(t.Context(), []int{31, 41, 32})
		if synctest.Wait(); done.Load() != 7 {
			t.Errorf("%d of 7 jobs are done", done.Load())
		}
		c.Close()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}
