package measure

import (
	"runtime"
	"runtime/metrics"
	"time"
)

// LockWait is the unit of the time spent waiting for locks, in percent of the
// time of all Ps. It may exceed 100: many goroutines can wait for a sync.Mutex,
// and need no P meanwhile.
const LockWait = "%-lockwait"

// mutexWait is the runtime's metric: the total time that goroutines waited for
// a sync.Mutex, a sync.RWMutex or a runtime-internal lock, such as the lock of
// a built-in channel. It is an estimate: the runtime times one wait in eight.
const mutexWait = "/sync/mutex/wait/total:seconds"

// WithLockWait adds LockWait to the figures of each pass. The runtime counts
// for the whole process, so other goroutines should be idle.
func WithLockWait(pass func() (Reading, error)) func() (Reading, error) {
	return func() (Reading, error) {
		before := lockWait()
		reading, err := pass()
		if err == nil && reading.Elapsed > 0 {
			reading.Figures = append(reading.Figures,
				Figure{LockWait, lockWaitShare(lockWait()-before, reading.Elapsed, runtime.GOMAXPROCS(0))})
		}
		return reading, err
	}
}

// lockWait returns the seconds waited since the process started.
func lockWait() float64 {
	sample := []metrics.Sample{{Name: mutexWait}}
	metrics.Read(sample)
	return sample[0].Value.Float64()
}

// lockWaitShare returns the waited seconds in percent of the elapsed time of
// procs Ps.
func lockWaitShare(waited float64, elapsed time.Duration, procs int) float64 {
	return 100 * waited / (elapsed.Seconds() * float64(procs))
}
