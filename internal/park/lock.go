package park

import "sync/atomic"

// A Lock guards a few instructions: no call that may wait, and no code of a
// user, runs under it. Its zero value is unlocked.
//
// Tried: sync.Mutex. It costs the same alone; contended, it puts goroutines to
// sleep for a section that is over before they are.
type Lock struct{ held atomic.Bool }

// Lock waits until the lock is free and takes it.
func (l *Lock) Lock() {
	if !l.held.CompareAndSwap(false, true) {
		l.wait()
	}
}

// Unlock releases the lock, and publishes what was written under it.
func (l *Lock) Unlock() { l.held.Store(false) }

func (l *Lock) wait() {
	var pace Backoff
	for l.held.Load() || !l.held.CompareAndSwap(false, true) {
		pace.Pause()
	}
}
