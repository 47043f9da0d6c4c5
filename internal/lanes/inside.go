package lanes

import (
	"cmp"
	"slices"
	"time"

	"github.com/sluice-go/sluice/internal/engine"
	"github.com/sluice-go/sluice/internal/park"
)

// Inside implements engine.Engine. It holds the locks of all lanes, as Stats does,
// and allocates before that.
func (e *Engine[T]) Inside(most int) engine.Inside {
	// A line is added to those that are kept, then the oldest of both are.
	senders, receivers := make([]time.Duration, 0, 2*most), make([]time.Duration, 0, most)
	lanes := make([]engine.Lane, 0, most)
	now := park.Now()
	s := e.hold()
	defer s.release()
	oldest := func(line *park.Line) {
		kept := len(senders)
		n := kept + len(line.Ages(senders[kept:kept:kept+most], now))
		slices.SortFunc(senders[:n], func(a, b time.Duration) int { return cmp.Compare(b, a) })
		senders = senders[:min(n, most)]
	}
	oldest(&e.senders)
	for _, l := range s.all {
		oldest(l.Senders())
		if len(lanes) < most {
			lanes = append(lanes, s.inside(l, now))
		}
	}
	return engine.Inside{
		Stats:     e.held(s, now),
		Senders:   senders,
		Receivers: e.receivers.Ages(receivers, now),
		Ready:     s.ready != nil,
		Lanes:     lanes,
	}
}

// inside is what is known of one lane.
func (s *set[T]) inside(l *lane[T], now time.Duration) engine.Lane {
	stats := l.Held(now)
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
