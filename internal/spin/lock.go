// Package spin provides locks for critical sections of a few instructions, and
// the decision whether a goroutine spins before it joins a wait queue.
//
// No code under these locks blocks, and none calls code of the user.
package spin

import (
	"runtime"
	"sync/atomic"
)

// A Lock guards a few instructions. Its zero value is unlocked.
//
// A sync.Mutex costs the same without contention. With contention it puts a
// goroutine to sleep for a section that ends before the goroutine does.
type Lock struct{ held atomic.Uint32 }

// Lock waits until the lock is free and takes it.
func (l *Lock) Lock() {
	if !l.held.CompareAndSwap(0, 1) {
		l.wait()
	}
}

// Unlock releases the lock, and publishes all writes made under it.
func (l *Lock) Unlock() { l.held.Store(0) }

func (l *Lock) wait() {
	var pace Backoff
	for l.held.Load() != 0 || !l.held.CompareAndSwap(0, 1) {
		pace.Pause()
	}
}

// A BusyLock is a Lock for heavy contention by goroutines on several Ps, because
// every operation of a channel takes it. Its zero value is unlocked.
//
// A goroutine that finds it taken retries after 50 ns and then backs off for
// microseconds, if there is a crowd: see Wait. During that time another P completes
// about a hundred critical sections with the lock and its data in its own cache. If
// the lock is taken even then, its holder is not running, and the goroutine sleeps.
// A back-off of 3 µs gains half as much, one of 25 µs no more.
type BusyLock struct {
	word     atomic.Uint64 // the bits taken and sleeping
	sleepers Sleepers
}

const (
	taken    = 1 << iota
	sleeping // a goroutine sleeps
)

const (
	// Approximate delays in nanoseconds.
	firstDelay = 50
	backOff    = 12_000
	retryDelay = 100
	// How often to back off, or to retry without a crowd, and then to yield, before
	// sleeping.
	maxBackOffs = 2
	maxRetries  = 60
	maxYields   = 4
)

// Lock waits until the lock is free and takes it.
func (l *BusyLock) Lock() {
	if !l.TryLock() {
		l.Wait(true)
	}
}

// TryLock takes the lock if it is free, and reports whether it did.
func (l *BusyLock) TryLock() bool { return l.word.CompareAndSwap(0, taken) }

// Unlock releases the lock, and publishes all writes made under it.
func (l *BusyLock) Unlock() {
	if l.word.Swap(0)&sleeping != 0 {
		l.sleepers.Wake()
	}
}

// Wait is Lock after a TryLock that has failed. crowd is whether many goroutines use what
// the lock guards: then a processor that has it does useful work for long. Otherwise the
// holder soon needs the caller, which therefore retries all the time.
func (l *BusyLock) Wait(crowd bool) {
	tries, delay := maxBackOffs, backOff
	if !crowd {
		tries, delay = maxRetries, retryDelay
	}
	if runtime.GOMAXPROCS(0) == 1 {
		tries = 0
	} else {
		_ = Delay(firstDelay)
	}
	l.sleepers.Lock(&l.word, taken, sleeping, func(n int) bool {
		switch {
		case n < tries:
			_ = Delay(delay)
		case n < tries+maxYields:
			runtime.Gosched()
		default:
			return false
		}
		return true
	})
}

// A Backoff paces a goroutine that retries until another goroutine leaves a
// critical section of a few nanoseconds. Its zero value is ready to use.
type Backoff struct{ tries int }

// maxSpins is how often to retry before yielding. A holder that is running
// releases the lock within a few instructions.
const maxSpins = 16

// Pause returns at once for the first calls, and yields the processor from then on.
func (b *Backoff) Pause() {
	if b.tries++; b.tries > maxSpins {
		runtime.Gosched()
	}
}

// Delay passes time without a memory access: n dependent multiplications, about a
// nanosecond each.
//
//go:noinline
func Delay(n int) uint64 {
	x := uint64(n)
	for range n {
		x = x*6364136223846793005 + 1
	}
	return x
}
