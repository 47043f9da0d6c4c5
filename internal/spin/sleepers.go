package spin

import (
	"sync"
	"sync/atomic"
)

// Sleepers are the goroutines that sleep because they have found a lock taken for too long. A
// lock is held for a few instructions, so in that case its holder is not running, and will not
// run while the waiting goroutines keep the processors busy. The lock is a bit of a word, and
// another bit of the word means that goroutines sleep. Invariants:
//
//   - A goroutine increments asleep, then sets the sleepers bit while the lock is taken, then
//     sleeps. The unlock clears both bits, and calls Wake if there were sleepers.
//   - One Wake admits one goroutine: a sleeping one, or the next to arrive. Several calls may
//     merge into one if no goroutine was admitted in between.
//   - An admitted goroutine sets the bit together with the lock if asleep > 0 at the time it
//     was admitted. So asleep > 0 implies that the bit is set or that an admitted goroutine is
//     on its way to the lock.
//
// They sleep in a sync.Mutex, which is locked while none may pass. It cannot be a channel: a
// channel belongs to the testing/synctest bubble in which it was made, but a sluice channel made
// outside of a bubble may be tried inside. The zero value admits the first goroutine at once.
type Sleepers struct {
	asleep atomic.Int32 // goroutines that sleep or are about to
	shut   atomic.Bool  // implies that pass is locked
	pass   sync.Mutex
}

// Lock sets the bit locked of word when it is free, and returns the word without it. try says
// whether to try again, with the number of attempts since the goroutine came or slept last, after
// a pause that it makes itself, or to sleep. sleepers is the other bit.
func (s *Sleepers) Lock(word *atomic.Uint64, locked, sleepers uint64, try func(n int) bool) uint64 {
	var others uint64 // sleepers, if the goroutine must set that
	for n := 0; ; n++ {
		old := word.Load()
		switch {
		case old&locked == 0:
			if word.CompareAndSwap(old, old|locked|others) {
				return old
			}
		case !try(n):
			if s.sleep(word, old, sleepers) {
				n = 0
			}
			if others = 0; s.Any() {
				others = sleepers
			}
		}
	}
}

// sleep waits for a Wake, unless the word, with the lock taken, was changed since it was read.
//
// A Wake between the Lock and the Store below is lost. That is harmless: the caller is on
// its way to the lock.
func (s *Sleepers) sleep(word *atomic.Uint64, old, sleepers uint64) (slept bool) {
	s.asleep.Add(1)
	defer s.asleep.Add(-1)
	marked := old&sleepers != 0 && word.Load() == old || word.CompareAndSwap(old, old|sleepers)
	if !marked {
		return false
	}
	s.pass.Lock()
	s.shut.Store(true)
	return true
}

// Any reports whether a goroutine sleeps or is about to.
func (s *Sleepers) Any() bool { return s.asleep.Load() > 0 }

// Wake admits one goroutine.
func (s *Sleepers) Wake() {
	if s.shut.CompareAndSwap(true, false) {
		s.pass.Unlock()
	}
}
