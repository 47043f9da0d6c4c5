package workers_test

import (
	"context"
	"runtime"
	"sync"
	"syscall"
	"testing"

	"github.com/sluice-go/sluice/workers"
)

// TestRunLockOSThread: each worker keeps a thread of its own, however often it is
// descheduled.
func TestRunLockOSThread(t *testing.T) {
	const jobs, n = 300, 3
	var mu sync.Mutex
	threads := map[int]int{}
	var meet sync.WaitGroup // of the first three jobs: every worker has one
	meet.Add(n)
	err := workers.Run(t.Context(), backlog(jobs), n, func(_ context.Context, job int) error {
		if job < n {
			meet.Done()
			meet.Wait()
		}
		thread := syscall.Gettid()
		for range 3 {
			runtime.Gosched()
			if now := syscall.Gettid(); now != thread {
				t.Errorf("a job moved from thread %d to %d", thread, now)
			}
		}
		mu.Lock()
		threads[thread]++
		mu.Unlock()
		return nil
	}, &workers.RunOptions[int]{LockOSThread: true})
	if err != nil || len(threads) != n {
		t.Errorf("error %v, %d threads for %d workers: %v", err, len(threads), n, threads)
	}
}
