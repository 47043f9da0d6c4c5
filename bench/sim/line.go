package sim

import "math/bits"

// cores is a set of cores.
type cores [4]uint64

// maxCores bounds the size of a machine.
const maxCores = 256

func (s *cores) has(core int) bool { return s[core>>6]&(1<<(core&63)) != 0 }
func (s *cores) add(core int)      { s[core>>6] |= 1 << (core & 63) }
func (s *cores) empty() bool       { return *s == cores{} }

// each calls f with each core of the set.
func (s *cores) each(f func(core int)) {
	for i, word := range s {
		for ; word != 0; word &= word - 1 {
			f(i<<6 + bits.TrailingZeros64(word))
		}
	}
}

// A Line is a cache line, with the word in it that matters. Its zero value is in no
// cache.
//
//   - owner is the core that may write, and then copies is empty; or owner is 0 and
//     copies are the cores that may read.
//   - free is when the last transfer that was requested ends.
type Line struct {
	word     uint64
	owner    int // number of the core, from 1
	copies   cores
	free     float64
	watchers []*Core
	writes   int // of data beside the word
}

// Load returns the word of a line, and moves a copy of the line here if needed.
func (c *Core) Load(l *Line) uint64 {
	c.turn()
	switch {
	case l.owner == c.id+1, l.copies.has(c.id):
		c.now += loadHit
	case l.owner != 0: // the owner keeps a copy
		from := l.owner - 1
		l.owner = 0
		l.copies.add(from)
		c.transfer(l, c.sim.machine.distance(c.id, from))
	case l.copies.empty():
		c.now += loadHit
	default: // copies of copies do not delay each other
		nearest := c.sim.machine.Far
		l.copies.each(func(core int) { nearest = min(nearest, c.sim.machine.distance(c.id, core)) })
		c.now = max(c.now, l.free) + nearest
	}
	if l.owner == 0 {
		l.copies.add(c.id)
	}
	return l.word
}

// own makes the core the line's owner.
func (c *Core) own(l *Line) {
	c.turn()
	if l.owner == c.id+1 {
		return
	}
	farthest := 0.0
	if l.owner != 0 {
		farthest = c.sim.machine.distance(c.id, l.owner-1)
	}
	l.copies.each(func(core int) {
		if core != c.id {
			farthest = max(farthest, c.sim.machine.distance(c.id, core))
		}
	})
	l.owner, l.copies = c.id+1, cores{}
	c.transfer(l, farthest)
}

// transfer waits until the line is here.
func (c *Core) transfer(l *Line, distance float64) {
	c.now = max(c.now+(1-queuedPart)*distance, l.free) + queuedPart*distance
	l.free = c.now
}

// set is a locked instruction on an owned line.
func (c *Core) set(l *Line, word uint64) {
	c.now += atomicHit
	l.free = max(l.free, c.now)
	if l.word == word {
		return
	}
	l.word = word
	for _, w := range l.watchers {
		w.rise(c.now)
	}
	l.watchers = l.watchers[:0]
}

// Swap stores a word and returns the old one. Go's Store of an atomic is the same.
func (c *Core) Swap(l *Line, word uint64) uint64 {
	c.own(l)
	old := l.word
	c.set(l, word)
	return old
}

// Add adds to the word and returns the new one.
func (c *Core) Add(l *Line, delta uint64) uint64 {
	c.own(l)
	c.set(l, l.word+delta)
	return l.word
}

// CAS replaces the word if it is old, and reports whether it was.
func (c *Core) CAS(l *Line, old, word uint64) bool {
	c.own(l)
	if l.word != old {
		c.set(l, l.word)
		return false
	}
	c.set(l, word)
	return true
}

// Write changes data in a line that the core may write by the program's rules: the
// holder of a lock, or of a slot. The store buffer hides nothing here, because the
// locked instruction that follows waits for it.
func (c *Core) Write(l *Line) {
	c.own(l)
	c.now += loadHit
	l.writes++
}

// Await returns the word once it differs from old. The core spins on its copy.
func (c *Core) Await(l *Line, old uint64) uint64 {
	for {
		if word := c.Load(l); word != old {
			return word
		}
		l.watchers = append(l.watchers, c)
		c.pause()
	}
}
