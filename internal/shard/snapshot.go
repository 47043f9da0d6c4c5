package shard

import (
	"cmp"
	"slices"
	"time"

	"github.com/sluice-go/sluice/internal/engine"
	"github.com/sluice-go/sluice/internal/park"
)

// Inside implements engine.Engine. It holds the locks of all lanes, as Stats does,
// and allocates before that.
func (e *Engine[T]) Snapshot(most int) engine.Snapshot {
	in := engine.NewSnapshot(most)
	in.Senders = make([]time.Duration, 0, 2*most) // see oldest
	in.Lanes = make([]engine.Lane, 0, most)
	now := park.Now()
	s := e.hold()
	defer s.release()
	e.held(s, now, &in)
	in.Ready = s.ready != nil
	return in
}

// held looks at the channel with the locks of all lanes, at the time now: it fills in
// the Stats, and appends who waits, and the lanes, as far as there is room.
func (e *Engine[T]) held(s *set[T], now time.Duration, in *engine.Snapshot) {
	out := &in.Stats
	*out = s.gone
	for _, l := range s.all {
		one := engine.Snapshot{Senders: behind(in.Senders)}
		l.Held(now, &one)
		add(out, one.Stats)
		in.Senders = oldest(in.Senders, one.Senders)
		if len(in.Lanes) < cap(in.Lanes) {
			in.Lanes = append(in.Lanes, s.lane(l, &one.Stats))
		}
	}
	senders, receivers := e.senders.Snapshot(now, behind(in.Senders)), e.receivers.Snapshot(now, in.Receivers)
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
	out.Lanes = s.active + s.private()
	out.Closed = s.closed
	out.LaneChange = s.change.String()
}

// Senders wait in several lines. Of all of them the oldest are kept, in a slice with
// room for twice as many: those of one more line are put behind those that are kept,
// and then the younger half of all leaves.

// behind is the room for another line.
func behind(kept []time.Duration) []time.Duration {
	return kept[len(kept) : len(kept) : len(kept)+cap(kept)/2]
}

// oldest keeps the oldest of those kept, and of those that were put behind them.
func oldest(kept, more []time.Duration) []time.Duration {
	if len(more) == 0 {
		return kept
	}
	all := kept[:len(kept)+len(more)]
	slices.SortFunc(all, func(a, b time.Duration) int { return cmp.Compare(b, a) })
	return all[:min(len(all), cap(all)/2)]
}

// lane is what stats, and the set, tell of one lane.
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
