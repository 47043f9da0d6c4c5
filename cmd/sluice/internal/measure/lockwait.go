package measure

import (
	"runtime"
	"runtime/metrics"
	"time"
)

// LockWait is the unit of the time spent waiting for locks, in per cent of the
// time of all Ps. It may exceed 100: those who wait for a sync.Mutex need no P
// meanwhile, and may be many.
const LockWait = "%-lockwait"

// mutexWait is what the runtime counts: the seconds in which somebody waited
// for a sync.Mutex, a sync.RWMutex or a lock of the runtime's own, of which each
// built-in channel has one. It is an estimate: the runtime times one wait in eight.
const mutexWait = "/sync/mutex/wait/total:seconds"

// WithLockWait adds the LockWait of each pass to what it yields. Other goroutines of
// the process should rest meanwhile: the runtime counts for all.
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

// lockWait returns the seconds waited since the process began.
func lockWait() float64 {
	sample := []metrics.Sample{{Name: mutexWait}}
	metrics.Read(sample)
	return sample[0].Value.Float64()
}

// lockWaitShare returns the per cent that waited seconds are of the elapsed time of
// that many Ps.
func lockWaitShare(waited float64, elapsed time.Duration, procs int) float64 {
	return 100 * waited / (elapsed.Seconds() * float64(procs))
}
