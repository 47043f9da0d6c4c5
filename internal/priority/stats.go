package priority

import (
	"cmp"
	"slices"
	"time"

	"github.com/sluice-go/sluice/internal/age"
	"github.com/sluice-go/sluice/internal/engine"
	"github.com/sluice-go/sluice/internal/park"
)

// postReady stores the token of Ready. It is called after each value that is queued, and
// after each receive that leaves one: there may be a token without a value.
func (e *Engine[T]) postReady() {
	if e.ready == nil || e.ended {
		return
	}
	select {
	case e.ready <- struct{}{}:
	default: // there is one already
	}
}

// Ready implements engine.Engine.
func (e *Engine[T]) Ready() <-chan struct{} {
	e.lock.Lock()
	defer e.lock.Unlock()
	if e.ready == nil {
		e.ready = make(chan struct{}, 1)
		e.refresh()
		switch {
		case e.over():
			e.endReady()
		case e.able():
			e.postReady()
		default:
			e.rearm()
		}
	}
	return e.ready
}

// Len implements engine.Engine.
func (e *Engine[T]) Len() int {
	e.lock.Lock()
	defer e.lock.Unlock()
	return e.n
}

// Cap implements engine.Engine.
func (e *Engine[T]) Cap() int { return e.limit }

// Stats implements engine.Engine.
func (e *Engine[T]) Stats() engine.Stats {
	var in engine.Snapshot
	now := park.Now()
	e.lock.Lock()
	defer e.lock.Unlock()
	e.held(now, &in)
	return in.Stats
}

// Snapshot implements engine.Engine. Its lanes are the levels.
func (e *Engine[T]) Snapshot(n int) engine.Snapshot {
	in := engine.NewSnapshot(n)
	in.Senders = make([]time.Duration, 0, 2*n)
	if !e.timed {
		in.Lanes = make([]engine.Lane, 0, min(n, len(e.levels)))
	}
	now := park.Now()
	e.lock.Lock()
	defer e.lock.Unlock()
	e.held(now, &in)
	in.Ready = e.ready != nil
	return in
}

// held describes the channel at the time now. It appends the ages of waiters, and the
// levels, to the lists of in up to their capacity. The lock is held.
func (e *Engine[T]) held(now time.Duration, in *engine.Snapshot) {
	e.probeNext()
	out := &in.Stats
	*out = engine.Stats{
		Name: e.config.Name, Len: e.n, Cap: e.limit, HighWater: e.high, Closed: e.closed(),
		Sent: e.turns.count + uint64(e.n), Received: e.turns.count, Dropped: e.dropped,
	}
	if e.config.Overflow == engine.DropLeastUrgent || e.config.Overflow == engine.DropOldest { // dropped values were accepted
		out.Sent += e.dropped
	}
	slot := int64(engine.SizeOf[T]())
	kept := cap(in.Senders) / 2
	for i := range e.levels {
		l := &e.levels[i]
		spare := in.Senders[len(in.Senders) : len(in.Senders) : len(in.Senders)+kept]
		s := l.senders.Snapshot(now, spare)
		in.Senders = longest(in.Senders, s.Ages, kept)
		out.SendersWaiting += s.Waiting
		out.SendWaits += s.Waits
		out.SendWaitTime += s.Spent
		out.OldestSender = max(out.OldestSender, s.Oldest)
		out.OldestValue = max(out.OldestValue, l.oldestValue(now))
		out.Bytes += int64(l.values.Size()) * slot
		if len(in.Lanes) < cap(in.Lanes) {
			in.Lanes = append(in.Lanes, engine.Lane{
				InUse: !e.isShut(i), Len: l.values.Len(), Cap: e.limit, HighWater: l.high, Senders: s.Waiting, OldestSender: s.Oldest,
			})
		}
	}
	if s := e.schedule; s != nil {
		out.Bytes = s.bytes()
		if s.isDue() {
			out.OldestValue = max(0, now-s.heap[0].at)
		}
	}
	if b := e.backlog; b != nil {
		b.describe(now, out)
	}
	r := e.receivers.Snapshot(now, in.Receivers)
	in.Receivers = r.Ages
	out.ReceiversWaiting, out.RecvWaits, out.RecvWaitTime, out.OldestReceiver = r.Waiting, r.Waits, r.Spent, r.Oldest
}

// longest keeps the n longest of waits and more, which follows waits in memory.
func longest(waits, more []time.Duration, n int) []time.Duration {
	if len(more) == 0 {
		return waits
	}
	all := waits[:len(waits)+len(more)]
	slices.SortFunc(all, func(a, b time.Duration) int { return cmp.Compare(b, a) })
	return all[:min(len(all), n)]
}

// The age of the oldest value of a level follows from observations in an age.Log: each call
// of Stats adds one, and so does a send to a long queue.

const (
	// minObserved is the length from which on a level is observed by its senders.
	minObserved = 64
)

// observe records that all values of l so far have been sent by now. The lock is held.
func (e *Engine[T]) observe(l *level[T]) {
	if l.ages == nil {
		l.ages = new(age.Log)
	}
	if l.ages.Lacks(l.sent, 1) {
		now := park.Now()
		l.ages.Record(now, l.sent-uint64(l.values.Len()), l.sent)
		if e.config.Sites != nil {
			e.config.Sites.Send.Sample(now)
		}
	}
}

// oldestValue returns the least age of the oldest value of l, and adds an observation. The
// lock is held.
func (l *level[T]) oldestValue(now time.Duration) time.Duration {
	if l.ages == nil {
		if l.values.Len() == 0 {
			return 0
		}
		l.ages = new(age.Log)
	}
	head := l.sent - uint64(l.values.Len())
	oldest := l.ages.Oldest(now, head, l.sent)
	l.ages.Record(park.Now(), head, l.sent) // now may be from before the last value was sent
	return oldest
}
