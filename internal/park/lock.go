package park

import (
	"runtime"
	"sync/atomic"
)

// A Lock guards a few instructions: no call that may wait, and no code of a
// user, runs under it. Its zero value is unlocked.
//
// Tried: sync.Mutex. It costs the same alone; contended, it puts goroutines to
// sleep for a section that is over before they are.
type Lock struct{ held atomic.Uint32 }

// Lock waits until the lock is free and takes it.
func (l *Lock) Lock() {
	if !l.held.CompareAndSwap(0, 1) {
		l.wait()
	}
}

// Unlock releases the lock, and publishes what was written under it.
func (l *Lock) Unlock() { l.held.Store(0) }

func (l *Lock) wait() {
	var pace Backoff
	for l.held.Load() != 0 || !l.held.CompareAndSwap(0, 1) {
		pace.Pause()
	}
}

// A BusyLock is a Lock that goroutines on several Ps fight over, because all that
// a channel does goes through it. One that finds it taken looks again after a
// moment, and then goes out of the way for microseconds: meanwhile the other P
// gets a hundred sections done, with the lock and what it guards in its own
// cache. If it is taken even then, its holder does not run, and the goroutine
// sleeps behind a Gate. Its zero value is unlocked.
//
// With a Lock in its place, and looks in quick succession, the built-in channel
// divided by a Rendezvous, from 8 to 1, 1 to 10 and 8 to 8, is 0.55 to 0.8
// instead of 0.9 to 1.0 at GOMAXPROCS=8; at GOMAXPROCS=2, 8 to 8, 0.9 instead of
// 1.2, and 0.5 instead of 2.1 (capacity 1) when cache lines cross slowly. Going
// away for 3 microseconds gains half of that, for 25 no more; in steps of 50, 400
// and 3000 ns it gains little. Without the gate, with yields in its place, 8 to 1
// and 8 to 8 are 0.54 and 0.6 instead of 0.7 and 0.82 (capacity 1, GOMAXPROCS=8);
// to sleep without going away first loses all that again (2026-11-21, AMD EPYC
// Zen 5 VM with 2 cores, Go 1.26.8).
type BusyLock struct {
	held atomic.Uint32 // free, taken or wished
	gate Gate
}

// What a BusyLock is.
const (
	free uint32 = iota
	taken
	wished // taken, and somebody sleeps behind the gate
)

const (
	// For how long, in nanoseconds, nearly.
	moment = 50
	away   = 12_000
	// How often to go away, and then to yield, before sleeping.
	aways       = 2
	yieldsAfter = 4
)

// Lock waits until the lock is free and takes it.
func (l *BusyLock) Lock() {
	if !l.held.CompareAndSwap(free, taken) {
		l.wait()
	}
}

// Unlock releases the lock, and publishes what was written under it.
func (l *BusyLock) Unlock() {
	if l.held.Swap(free) == wished {
		l.gate.Open()
	}
}

func (l *BusyLock) wait() {
	tries, take := 0, taken
	if runtime.GOMAXPROCS(0) == 1 {
		tries = aways
	} else {
		_ = Delay(moment)
	}
	for ; ; tries++ {
		held := l.held.Load()
		switch {
		case held == free:
			if l.held.CompareAndSwap(free, take) {
				return
			}
		case tries < aways:
			_ = Delay(away)
		case tries < aways+yieldsAfter:
			runtime.Gosched()
		default:
			slept, others := l.gate.Sleep(func() bool {
				return held == wished && l.held.Load() == wished || l.held.CompareAndSwap(taken, wished)
			})
			if slept {
				tries = 0
			}
			if take = taken; others {
				take = wished
			}
		}
	}
}
