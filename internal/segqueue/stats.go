package segqueue

import (
	"time"

	"github.com/sluice-go/sluice/internal/engine"
	"github.com/sluice-go/sluice/internal/park"
)

// Hold takes the locks of both sides, first the send lock, like a send that drops the
// oldest value. No index moves until Release.
func (e *Engine[T]) Hold() {
	e.send.lock()
	e.recv.lock()
}

// Release ends a Hold.
func (e *Engine[T]) Release() {
	e.recv.unlock(e.recv.word.Load() &^ (locked | sleepers))
	e.send.unlock(e.send.word.Load() &^ (locked | sleepers))
}

// Stats implements engine.Engine. It holds both locks.
func (e *Engine[T]) Stats() engine.Stats {
	var in engine.Snapshot
	now := park.Now()
	e.Hold()
	defer e.Release()
	e.Held(now, &in)
	return in.Stats
}

// Held describes the channel at the time now, under Hold. It sets in.Stats, and
// appends the ages of waiters to the lists of in up to their capacity.
func (e *Engine[T]) Held(now time.Duration, in *engine.Snapshot) {
	s, r := e.send.word.Load(), e.recv.word.Load()
	tail, head := s&^flags, r&^flags
	dropped := e.dropped.Load()
	length := e.queued(tail, head)
	e.send.high = max(e.send.high, e.recv.high, uint64(length))
	in.Stats = engine.Stats{
		Len:       length,
		Cap:       int(e.limit),
		Sent:      tail >> shift,
		Received:  head >> shift,
		Dropped:   dropped,
		Rejected:  e.rejected.Load(),
		HighWater: int(e.send.high),
		Closed:    s&closed != 0,
	}
	out := &in.Stats
	if e.name != nil {
		out.Name = *e.name
	}
	if e.overflow == engine.DropOldest {
		out.Received -= dropped // a dropped value has moved head, too
	}
	if e.elastic != nil {
		out.Bytes = e.elastic.held()
	} else {
		out.Bytes = int64(len(e.send.buf))*int64(engine.SizeOf[T]()) + e.send.seg.lent.Load().held()
	}
	if e.meter != nil {
		out.Bytes = engine.Bytes(out.Bytes, e.meter.held(head, tail), e.meter.overhead())
	}
	out.Older(e.ages.Inspect(now, head, tail, one))
	e.probeNext()
	senders := e.senders.Snapshot(now, in.Senders)
	out.SendersWaiting, out.SendWaits, out.SendWaitTime = senders.Waiting, senders.Waits, senders.Spent
	out.OldestSender, in.Senders = senders.Oldest, senders.Ages
	if e.receivers != &e.recv.queue {
		return // receivers, and hand-offs, count in the first lane
	}
	receivers := e.receivers.Snapshot(now, in.Receivers)
	out.Sent += receivers.Handed // without a lock: a hand-off moves no index
	out.Received += receivers.Handed
	out.ReceiversWaiting, out.RecvWaits, out.RecvWaitTime = receivers.Waiting, receivers.Waits, receivers.Spent
	out.OldestReceiver, in.Receivers = receivers.Oldest, receivers.Ages
}

// Snapshot implements engine.Engine. It holds both locks, and allocates before it
// takes them.
func (e *Engine[T]) Snapshot(n int) engine.Snapshot {
	in := engine.NewSnapshot(n)
	in.Rings = make([]engine.Ring, 0, n)
	now := park.Now()
	e.Hold()
	defer e.Release()
	e.Held(now, &in)
	in.Ready = e.ready.InUse()
	in.Rings = e.rings(in.Rings)
	return in
}

// rings appends a description of each segment, beginning with the receivers'
// segment, until out is full. The caller holds both locks: a segment is linked
// under the send lock and released under the receive lock.
func (e *Engine[T]) rings(out []engine.Ring) []engine.Ring {
	tail, receive := e.send.word.Load()&^flags, e.recv.word.Load()&^flags
	for seg := e.recv.seg; seg != nil && len(out) < cap(out); seg = seg.next.Load() {
		send := tail
		if seg.next.Load() != nil {
			send = seg.end
		}
		slot := func(index uint64) int { return int(index >> shift & uint64(len(seg.buf)-1)) }
		out = append(out, engine.Ring{
			Slots:   len(seg.buf),
			Len:     int((send - receive) >> shift),
			Send:    slot(send),
			Receive: slot(receive),
		})
		receive = send
	}
	return out
}
