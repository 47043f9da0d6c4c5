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
// microseconds, if there is a crowd: see Wait. During that time another P completes about a hundred critical
// sections with the lock and its data in its own cache. If the lock is taken even
// then, its holder is not running, and the goroutine sleeps in a Gate. ADR 0003
// compares the alternatives.
type BusyLock struct {
	state atomic.Uint32 // unlocked, locked or contended
	gate  Gate
}

const (
	unlocked uint32 = iota
	locked
	contended // locked, and a goroutine sleeps in the gate
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
func (l *BusyLock) TryLock() bool { return l.state.CompareAndSwap(unlocked, locked) }

// Unlock releases the lock, and publishes all writes made under it.
func (l *BusyLock) Unlock() {
	if l.state.Swap(unlocked) == contended {
		l.gate.Open()
	}
}

// Wait is Lock after a TryLock that has failed. crowd is whether many goroutines use what
// the lock guards: then a processor that has it does useful work for long. Otherwise the
// holder soon needs the caller, which therefore retries all the time.
func (l *BusyLock) Wait(crowd bool) {
	tries, take, delay := 0, locked, backOff
	if !crowd {
		tries, delay = maxBackOffs-maxRetries, retryDelay
	}
	if runtime.GOMAXPROCS(0) == 1 {
		tries = maxBackOffs
	} else {
		_ = Delay(firstDelay)
	}
	for ; ; tries++ {
		state := l.state.Load()
		switch {
		case state == unlocked:
			if l.state.CompareAndSwap(unlocked, take) {
				return
			}
		case tries < maxBackOffs:
			_ = Delay(delay)
		case tries < maxBackOffs+maxYields:
			runtime.Gosched()
		default:
			slept, others := l.gate.Sleep(func() bool {
				return state == contended && l.state.Load() == contended || l.state.CompareAndSwap(locked, contended)
			})
			if slept {
				tries = 0
			}
			if take = locked; others {
				take = contended
			}
		}
	}
}
