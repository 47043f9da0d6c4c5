package shard

import (
	"fmt"
	"sync/atomic"
)

// How many lanes senders spread over follows from how often they get into each
// other's way. After each settleEvery values of a lane, a sender looks how often
// somebody has found one of the lane's locks taken since the last time. If that
// was often, the number of lanes is doubled, up to max; if it was never, the look
// was quiet, and after as many quiet looks in a row as patience says there is a
// lane less.
//
// Whether fewer lanes are enough can only be tried. If they are not, they grow
// again after one look, and patience is doubled, so a channel that needs its lanes
// tries that ever more seldom.

const (
	// crowd is how often in settleEvery values a lock must have been taken.
	crowd = settleEvery / 16
	// movesAfter is how many crowded looks make a P change its lane: two that
	// share one while another lane is free.
	movesAfter = 16
	// firstPatience and maxPatience are quiet looks, of settleEvery values each.
	firstPatience = 256
	maxPatience   = 1 << 20
)

// scale is what is known of all lanes.
type scale struct {
	patience atomic.Uint32
	_        [cacheLine]byte
}

// A note is what is known of one lane.
type note struct {
	seen  atomic.Uint32 // of Contended
	quiet atomic.Uint32 // looks in a row
	// crowds counts the looks that found it crowded with all lanes in use.
	crowds atomic.Uint32
	_      [cacheLine]byte
}

// A change says how the number of active lanes changed.
type change struct {
	from, to  int
	contended uint32 // among how many values
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

// watch looks at how crowded l is, changes the number of lanes if that is due,
// and reports whether
// the caller should better go elsewhere: time and again l was crowded, and there
// are no more lanes to be had.
func (e *Engine[T]) watch(s *set[T], l *lane[T]) (move bool) {
	contended := l.Contended()
	since := contended - l.note.seen.Swap(contended)
	switch {
	case int32(since) < 0: // another one looked later, and was faster
	case since >= crowd:
		l.note.quiet.Store(0)
		if e.config.Lanes == 0 && s.active < e.max {
			e.grow(s, since)
			return false
		}
		return l.note.crowds.Add(1)%movesAfter == 0
	case since > 0:
		l.note.quiet.Store(0)
	case e.config.Lanes == 0 && s.active > 1:
		patience := e.scale.patience.Load()
		if quiet := l.note.quiet.Add(1); quiet >= patience {
			l.note.quiet.Store(0)
			e.shrink(s, quiet)
		}
	}
	return false
}

// grow doubles the number of active lanes, unless the set has changed since.
func (e *Engine[T]) grow(s *set[T], contended uint32) {
	next := s.with(nil)
	next.active = min(2*s.active, e.max)
	next.change = change{s.active, next.active, contended, settleEvery}
	next.shared = append([]*lane[T](nil), s.shared...)
	for i := range next.active {
		if next.shared[i] == nil {
			next.shared[i] = e.newLane(s, false)
			next.all = append(next.all[:len(next.all):len(next.all)], next.shared[i])
		}
	}
	if !s.closed && e.exchange(s, next) && s.change.from > s.change.to {
		e.scale.patience.Store(min(2*e.scale.patience.Load(), maxPatience))
	}
}

// shrink makes it one less.
func (e *Engine[T]) shrink(s *set[T], looks uint32) {
	next := s.with(nil)
	next.active--
	next.change = change{s.active, next.active, 0, looks * settleEvery}
	e.exchange(s, next)
}
