package broadcast

import (
	"time"

	"github.com/sluice-go/sluice/internal/engine"
	"github.com/sluice-go/sluice/internal/park"
)

// Stats returns the account of a subscription.
func (s *Subscription[T]) Stats() engine.Stats {
	h := s.hub
	at := park.Now()
	s.sites.ProbeNext()
	senders, receivers := h.senders.Snapshot(at, nil), s.receivers.Snapshot(at, nil)
	h.acquire()
	defer h.lock.Unlock()
	next := s.acquire()
	defer s.release()
	tail := h.tail.Load()
	out := engine.Stats{
		Name: s.name, Cap: int(s.capacity), Closed: s.err != nil || h.closed.Load(),
		SendWaits: s.waits.Load(),
		RecvWaits: receivers.Waits, RecvWaitTime: receivers.Spent,
		ReceiversWaiting: receivers.Waiting, OldestReceiver: receivers.Oldest,
	}
	if h.blocker.Load() == s && s.bound() <= tail {
		out.SendersWaiting, out.OldestSender = senders.Waiting, senders.Oldest
	}
	end := tail
	if s.err != nil {
		end = s.ended
	}
	lag := end - next
	s.observe(lag)
	lost := lag - min(lag, s.capacity)
	out.Len = int(lag - lost)
	out.Sent = end - s.start - s.skipped
	out.Dropped = s.dropped + lost
	out.Received = next - s.start - s.dropped - s.skipped
	oldest := next + lost
	if s.owns {
		if out.Len > 0 {
			oldest = s.own.First().index
		}
		out.Bytes = int64(s.own.Size() * engine.SizeOf[numbered[T]]())
	}
	out.HighWater = int(s.high)
	out.Older(h.ages.Oldest(at, oldest, end, 1))
	h.observe(tail)
	return out
}

// observe records that all values so far have been published by now. The lock is held.
func (h *Hub[T]) observe(tail uint64) {
	h.ages.Observe(tail-min(tail, uint64(h.capacity)), tail)
}

// Stats are the counters of a Hub.
type Stats struct {
	Subscriptions  int
	Sent           uint64
	Rejected       uint64
	Evicted        uint64
	Kept           int
	Bytes          int64
	Behind         int
	SendWaits      uint64
	SendWaitTime   time.Duration
	SendersWaiting int
	OldestSender   time.Duration
	Closed         bool
}

// Stats returns the counters. It looks at each subscription.
func (h *Hub[T]) Stats() Stats {
	senders := h.senders.Snapshot(park.Now(), nil)
	h.acquire()
	defer h.lock.Unlock()
	tail := h.tail.Load()
	out := Stats{
		Subscriptions: len(h.roles[member]), Sent: tail, Rejected: h.rejected.Load(), Evicted: h.evicted, Closed: h.closed.Load(),
		Kept:      int(tail - h.log.first*h.log.size),
		Bytes:     int64(h.log.slots()) * int64(engine.SizeOf[T]()),
		SendWaits: senders.Waits, SendWaitTime: senders.Spent, SendersWaiting: senders.Waiting, OldestSender: senders.Oldest,
	}
	for _, s := range h.roles[member] {
		out.Behind = max(out.Behind, int(min(tail-s.word.Load()>>1, s.capacity)))
	}
	return out
}
