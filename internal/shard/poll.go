package shard

import "slices"

// stuck reports whether the channel was open, and full or empty, at one moment: see the
// package comment. It returns the sum of all heads, or tails, at that moment.
func (e *Engine[T]) stuck(s *set[T], side int) (sum uint64, stuck bool) {
	lanes, again := s.lanes(side), uint64(0)
	for _, l := range lanes {
		if l == nil {
			return sum, false // it could be opened
		}
		if sum += l.moved(side); l.able(side) {
			return sum, false
		}
	}
	for _, l := range lanes {
		again += l.moved(side)
	}
	return sum, sum == again && e.set.Load() == s
}

// anyAble reports whether any lane had room when it was polled, or could be opened; or had a
// value.
func (e *Engine[T]) anyAble(side int) bool {
	return slices.ContainsFunc(e.set.Load().lanes(side), func(l *lane[T]) bool { return l == nil || l.able(side) })
}

// lanes returns the lanes in which a call may proceed.
func (s *set[T]) lanes(side int) []*lane[T] {
	if side == sends {
		return s.shared
	}
	return s.all
}

// able reports whether there was room, or a value, at a moment of the call.
func (l *lane[T]) able(side int) bool {
	if side == sends {
		return l.hasRoom(1)
	}
	queued, _ := l.queued()
	return queued != 0
}

// moved returns the number of values that the other side has moved so far.
func (l *lane[T]) moved(side int) uint64 {
	if side == sends {
		return l.queue.Head()
	}
	tail, _ := l.queue.Tail()
	return tail
}

// queued returns a number of values that is 0 if the lane was empty at a moment of the
// call. If shut is true as well, it stays empty.
func (l *lane[T]) queued() (n int, shut bool) {
	forgotten := l.forgotten != nil && l.forgotten.Load() // nothing is sent after that
	head := l.queue.Head()
	tail, shut := l.queue.Tail()
	return int(tail - head), shut || forgotten
}

// hasRoom reports whether there was room for the given number of values at a moment
// of the call.
func (l *lane[T]) hasRoom(values int) bool {
	tail, _ := l.queue.Tail()
	return tail-l.queue.Head()+uint64(values) <= uint64(l.queue.Cap())
}
