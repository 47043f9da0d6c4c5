package shard

import (
	"math"

	"github.com/sluice-go/sluice/internal/engine"
	"github.com/sluice-go/sluice/internal/park"
)

// Cap implements engine.Engine: the limit of a lane times the number of lanes.
func (e *Engine[T]) Cap() int { return e.capOf(e.set.Load()) }

func (e *Engine[T]) capOf(s *set[T]) int {
	n := e.max + s.private()
	if e.config.Limit > math.MaxInt/n {
		return math.MaxInt
	}
	return e.config.Limit * n
}

// private returns the number of private lanes.
func (s *set[T]) private() (n int) {
	for _, l := range s.all {
		if l.private {
			n++
		}
	}
	return n
}

// Len implements engine.Engine.
func (e *Engine[T]) Len() int {
	// A send that drops the oldest value moves its lane's tail before the head.
	for range 8 {
		if e.config.Overflow == engine.DropOldest {
			break
		}
		s := e.set.Load()
		heads, tails := s.sums()
		heads2, tails2 := s.sums()
		if heads == heads2 && tails == tails2 && e.set.Load() == s {
			return int(tails - heads)
		}
	}
	s := e.hold()
	defer s.release()
	heads, tails := s.sums()
	return int(tails - heads)
}

// sums returns the sums of the heads and tails of all lanes.
func (s *set[T]) sums() (heads, tails uint64) {
	for _, l := range s.all {
		heads += l.Head()
		tail, _ := l.Tail()
		tails += tail
	}
	return heads, tails
}

// Stats implements engine.Engine.
func (e *Engine[T]) Stats() engine.Stats {
	var in engine.Snapshot
	now := park.Now()
	s := e.hold()
	defer s.release()
	e.held(s, now, &in)
	return in.Stats
}

// add adds the statistics of a lane to sum.
func add(sum *engine.Stats, l engine.Stats) {
	sum.Len += l.Len
	sum.Sent += l.Sent
	sum.Received += l.Received - l.Dropped // a dropped value has moved head, too
	sum.Dropped += l.Dropped
	sum.SendWaits += l.SendWaits
	sum.SendWaitTime += l.SendWaitTime
	sum.SendersWaiting += l.SendersWaiting
	sum.OldestSender = max(sum.OldestSender, l.OldestSender)
	sum.OldestValue = max(sum.OldestValue, l.OldestValue)
	sum.HighWater = max(sum.HighWater, l.HighWater)
	sum.Bytes += l.Bytes
}
