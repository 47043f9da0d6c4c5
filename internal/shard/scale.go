package shard

import (
	"fmt"
	"sync/atomic"
)

// The number of lanes in use follows the contention. After each checkEvery values
// of a lane, a sender samples how often the lane's locks were found taken since the
// last sample. If that was often, the number of lanes is doubled, up to max. If it
// was never, the sample is quiet, and after quietNeeded quiet samples in a row
// there is one lane fewer.
//
// Whether fewer lanes suffice can only be tried. If they do not, the number grows
// again after one sample, and quietNeeded is doubled: a channel that needs its
// lanes tries this ever more rarely. A channel with one lane in use, at last, removes the
// lanes that were opened for keys or for room, once they are drained.

const (
	// crowded is how often in checkEvery values a lock must have been taken for the
	// number of lanes to grow.
	crowded = checkEvery / 16
	// movesAfter is the number of crowded samples after which a P changes its lane:
	// two Ps may share one while another lane is free.
	movesAfter = 16
	// firstQuiet and maxQuiet bound quietNeeded.
	firstQuiet = 256
	maxQuiet   = 1 << 20
)

// A note is the state for one lane.
type note struct {
	at    atomic.Uint64 // the tail at the last sample
	seen  atomic.Uint32 // of Contended
	quiet atomic.Uint32 // samples in a row
	// crowds counts the crowded samples while all lanes are in use.
	crowds atomic.Uint32
	_      [cacheLine]byte
}

// A change describes a change of the number of active lanes.
type change struct {
	from, to  int
	contended uint32 // locks found taken, in among values
	among     uint32
}

func (c change) String() string {
	switch {
	case c.from == c.to:
		return ""
	case c.from < c.to:
		return fmt.Sprintf("from %d to %d lanes: a lock was taken %d times in %d values", c.from, c.to, c.contended, c.among)
	default:
		return fmt.Sprintf("from %d to %d lanes: no lock was taken in %d values of a lane", c.from, c.to, c.among)
	}
}

// due reports whether a sample is due. tail is the lane's: it does not move while values are
// handed off.
func (l *lane[T]) due(tail uint64) bool {
	if tail%checkEvery != 0 || tail == l.note.at.Load() {
		return false
	}
	l.note.at.Store(tail)
	return true
}

// adapt samples the contention of l and changes the number of lanes if necessary.
// It reports whether the caller should move to another lane, because l was crowded
// many times and there are no more lanes.
func (e *Engine[T]) adapt(s *set[T], l *lane[T]) (move bool) {
	contended := l.queue.Contended()
	since := contended - l.note.seen.Swap(contended)
	switch {
	case int32(since) < 0: // a later sample was faster
	case since >= crowded:
		l.note.quiet.Store(0)
		if e.config.Lanes == 0 && s.active < e.max {
			e.grow(s, since)
			return false
		}
		return l.note.crowds.Add(1)%movesAfter == 0
	case since > 0:
		l.note.quiet.Store(0)
	case e.config.Lanes == 0 && len(s.all) > 1:
		if quiet := l.note.quiet.Add(1); quiet >= e.quietNeeded.Load() {
			l.note.quiet.Store(0)
			e.shrink(s, quiet)
		}
	}
	return false
}

// grow doubles the number of active lanes, unless the set has changed.
func (e *Engine[T]) grow(s *set[T], contended uint32) {
	var numbers []int
	for number := range min(2*s.active, e.max) {
		numbers = append(numbers, number)
	}
	next := e.opened(s, numbers...)
	next.active = len(numbers)
	next.change = change{s.active, next.active, contended, checkEvery}
	if !s.closed && e.exchange(s, next) && s.change.from > s.change.to {
		e.quietNeeded.Store(min(2*e.quietNeeded.Load(), maxQuiet))
	}
}

// shrink decrements the number of active lanes. If that is one, it removes the other
// shared lanes, if these are drained.
func (e *Engine[T]) shrink(s *set[T], looks uint32) {
	if s.active > 1 {
		next := s.with()
		next.active--
		next.change = change{s.active, next.active, 0, looks * checkEvery}
		e.exchange(s, next)
		return
	}
	var unused []*lane[T]
	for _, l := range s.all[1:] {
		if !l.private {
			unused = append(unused, l)
		}
	}
	if len(unused) > 0 && !s.closed {
		e.removeFrom(s, unused...)
	}
}
