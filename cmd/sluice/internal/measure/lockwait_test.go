package measure

import (
	"errors"
	"runtime"
	"sync"
	"testing"
	"time"
)

func TestLockWaitShare(t *testing.T) {
	for _, tt := range []struct {
		waited  float64
		elapsed time.Duration
		procs   int
		want    float64
	}{
		{0, time.Second, 1, 0},
		{1, time.Second, 1, 100},
		{1, 2 * time.Second, 4, 12.5},
		{3, time.Second, 2, 150}, // three waiters on two Ps
	} {
		if got := lockWaitShare(tt.waited, tt.elapsed, tt.procs); got != tt.want {
			t.Errorf("%v s of %v on %d Ps are %v%%, want %v", tt.waited, tt.elapsed, tt.procs, got, tt.want)
		}
	}
}

// The figure accompanies the time, and grows when a goroutine waits for a mutex.
func TestWithLockWait(t *testing.T) {
	// With one P no goroutine spins: each one that finds the mutex locked
	// waits. Some of these many waits are sampled.
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	const waits = 1000
	contended := WithLockWait(func() (Reading, error) {
		var mu sync.Mutex
		entered := 0
		for range waits {
			mu.Lock()
			var waiter sync.WaitGroup
			waiter.Go(func() {
				mu.Lock()
				entered++
				mu.Unlock()
			})
			runtime.Gosched() // to the waiter
			mu.Unlock()
			waiter.Wait()
		}
		return Reading{Ops: entered, Elapsed: time.Nanosecond}, nil
	})
	reading, err := contended()
	if err != nil || reading.Ops != waits || reading.Elapsed != time.Nanosecond {
		t.Fatalf("the time is gone: %+v, %v", reading, err)
	}
	if len(reading.Figures) != 1 || reading.Figures[0].Unit != LockWait || reading.Figures[0].Value <= 0 {
		t.Errorf("a thousand waits for a mutex: %+v", reading.Figures)
	}
	wrong := errors.New("wrong tally")
	if reading, err := WithLockWait(func() (Reading, error) { return Reading{}, wrong })(); !errors.Is(err, wrong) || reading.Figures != nil {
		t.Errorf("of a failed pass: %+v, %v", reading, err)
	}
}
