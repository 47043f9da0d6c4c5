package shard

import (
	"math"
	"slices"
	"time"

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

// Len implements engine.Engine. Unless there is only one lane, it holds the locks of all.
func (e *Engine[T]) Len() (n int) {
	s := e.set.Load()
	if l := s.only; l != nil {
		if n = l.Len(); e.set.Load() == s {
			return n
		}
	}
	s = e.hold()
	defer s.release()
	n = 0
	for _, l := range s.all {
		queued, _ := l.queued()
		n += queued
	}
	return n
}

// Stats implements engine.Engine.
func (e *Engine[T]) Stats() engine.Stats { return e.Snapshot(0).Stats }

// Snapshot implements engine.Engine. It holds the locks of all lanes, and allocates
// before it takes them.
func (e *Engine[T]) Snapshot(n int) engine.Snapshot {
	in := engine.NewSnapshot(n)
	in.Senders = make([]time.Duration, 0, 2*n) // see engine.SpareHalf
	in.Lanes = make([]engine.Lane, 0, n)
	now := park.Now()
	s := e.hold()
	defer s.release()
	e.held(s, now, &in)
	in.Ready = s.ready
	return in
}

// held describes the channel at the time now, with the locks of all lanes held. It
// sets in.Stats, and appends the ages of waiters, and the lanes, to the lists of in
// up to their capacity.
func (e *Engine[T]) held(s *set[T], now time.Duration, in *engine.Snapshot) {
	out := &in.Stats
	*out = s.gone
	for _, l := range s.all {
		one := engine.Snapshot{Senders: engine.SpareHalf(in.Senders)}
		l.queue.Held(now, &one)
		add(out, one.Stats)
		in.Senders = engine.Longest(in.Senders, one.Senders)
		if len(in.Lanes) < cap(in.Lanes) {
			in.Lanes = append(in.Lanes, s.lane(l, &one.Stats))
		}
	}
	if e.senders != nil {
		senders := e.senders.Snapshot(now, engine.SpareHalf(in.Senders))
		in.Senders = engine.Longest(in.Senders, senders.Ages)
		out.SendersWaiting += senders.Waiting
		out.SendWaits += senders.Waits
		out.SendWaitTime += senders.Spent
		out.OldestSender = max(out.OldestSender, senders.Oldest)
	}
	receivers := e.receivers.Snapshot(now, in.Receivers)
	in.Receivers = receivers.Ages
	out.ReceiversWaiting, out.RecvWaits, out.RecvWaitTime = receivers.Waiting, receivers.Waits, receivers.Spent
	out.OldestReceiver = receivers.Oldest
	out.Dropped += e.dropped.Load()
	out.Rejected += e.rejected.Load()
	out.Name = e.config.Name
	out.Cap = e.capOf(s)
	out.Lanes.Count = s.active + s.private()
	out.Closed = s.closed
	out.Lanes.Change = s.change.String()
}

// lane describes a lane with the given statistics.
func (s *set[T]) lane(l *lane[T], stats *engine.Stats) engine.Lane {
	return engine.Lane{
		Private:      l.private,
		InUse:        l.private || slices.Contains(s.shared[:s.active], l),
		Len:          stats.Len,
		Cap:          stats.Cap,
		HighWater:    stats.HighWater,
		Senders:      stats.SendersWaiting,
		OldestSender: stats.OldestSender,
	}
}

// add adds the statistics of a lane to sum.
func add(sum *engine.Stats, l engine.Stats) {
	sum.Len += l.Len
	sum.Sent += l.Sent
	sum.Received += l.Received - l.Dropped // a dropped value has moved head, too
	sum.Dropped += l.Dropped
	sum.Rejected += l.Rejected
	sum.SendWaits += l.SendWaits
	sum.SendWaitTime += l.SendWaitTime
	sum.SendersWaiting += l.SendersWaiting
	sum.OldestSender = max(sum.OldestSender, l.OldestSender)
	sum.Older(l.Oldest())
	sum.HighWater = max(sum.HighWater, l.HighWater)
	sum.Bytes += l.Bytes
}
