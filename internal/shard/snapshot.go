package shard

import (
	"cmp"
	"slices"
	"time"

	"github.com/sluice-go/sluice/internal/engine"
	"github.com/sluice-go/sluice/internal/park"
)

// Snapshot implements engine.Engine. It holds the locks of all lanes, and allocates
// before it takes them.
func (e *Engine[T]) Snapshot(n int) engine.Snapshot {
	in := engine.NewSnapshot(n)
	in.Senders = make([]time.Duration, 0, 2*n) // see oldest
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
		one := engine.Snapshot{Senders: spareHalf(in.Senders)}
		l.Held(now, &one)
		add(out, one.Stats)
		in.Senders = oldest(in.Senders, one.Senders)
		if len(in.Lanes) < cap(in.Lanes) {
			in.Lanes = append(in.Lanes, s.lane(l, &one.Stats))
		}
	}
	senders, receivers := e.senders.Snapshot(now, spareHalf(in.Senders)), e.receivers.Snapshot(now, in.Receivers)
	in.Senders, in.Receivers = oldest(in.Senders, senders.Ages), receivers.Ages
	out.SendersWaiting += senders.Waiting
	out.SendWaits += senders.Waits
	out.SendWaitTime += senders.Spent
	out.OldestSender = max(out.OldestSender, senders.Oldest)
	out.ReceiversWaiting, out.RecvWaits, out.RecvWaitTime = receivers.Waiting, receivers.Waits, receivers.Spent
	out.OldestReceiver = receivers.Oldest
	out.Dropped += e.dropped.Load()
	out.Name = e.config.Name
	out.Cap = e.capOf(s)
	out.Lanes.Count = s.active + s.private()
	out.Closed = s.closed
	out.Lanes.Change = s.change.String()
}

// Senders wait in several queues. To keep the longest waits among all of them, a
// slice has room for twice the result: the ages of one more queue go into its spare
// half, and then the older half of all is kept.

// spareHalf returns the spare half, for the ages of another queue.
func spareHalf(kept []time.Duration) []time.Duration {
	return kept[len(kept) : len(kept) : len(kept)+cap(kept)/2]
}

// oldest keeps the older half of kept and more, which is in the spare half.
func oldest(kept, more []time.Duration) []time.Duration {
	if len(more) == 0 {
		return kept
	}
	all := kept[:len(kept)+len(more)]
	slices.SortFunc(all, func(a, b time.Duration) int { return cmp.Compare(b, a) })
	return all[:min(len(all), cap(all)/2)]
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
