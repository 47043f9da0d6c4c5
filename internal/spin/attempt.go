package spin

import "runtime"

// The constants of every wait: a call polls, spins and yields before it joins a wait
// queue.
const (
	// RunDelay is how long a spin takes, in nanoseconds, nearly: long enough for the
	// other side to fill or empty some fifty slots. 200 and 2000 gain half as much.
	RunDelay = 1000
	// GoodRun is how many values, or free slots, a spin must yield to have paid. A
	// request and its response move one value, and are better parked.
	GoodRun = 4

	maxCallSpins = 8
)

// An Attempt counts the steps of one call before it joins a wait queue. The caller
// polls again after each step. Its zero value is ready to use.
type Attempt struct {
	spins   int
	yielded bool
	// Tries makes the call spin and yield although that has not paid lately.
	Tries bool
}

// MaySpin reports whether the call may spin: not with one P, where nothing else runs
// meanwhile, nor more than a few times.
func (a *Attempt) MaySpin() bool { return a.spins < maxCallSpins && runtime.GOMAXPROCS(0) > 1 }

// Spun records one spin.
func (a *Attempt) Spun() { a.spins++ }

// Spins returns the number of spins.
func (a *Attempt) Spins() int { return a.spins }

// Yielded reports whether Yield was called.
func (a *Attempt) Yielded() bool { return a.yielded }

// Yield yields the processor, once per call, and reports whether it did.
func (a *Attempt) Yield() bool {
	if a.yielded {
		return false
	}
	a.yielded = true
	runtime.Gosched()
	return true
}
