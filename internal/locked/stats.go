package locked

import (
	"cmp"
	"slices"
	"time"

	"github.com/sluice-go/sluice/internal/engine"
	"github.com/sluice-go/sluice/internal/park"
)

// postReady stores the token of Ready if a value can be received: there may be a token without a
// value. It closes the channel once no other value will become receivable. The lock is held.
func (e *Engine[T]) postReady() {
	switch {
	case e.ended:
	case e.closed() && e.store.over(e.n):
		e.ended = true
		close(e.ready)
	case e.able() || e.limit == 0 && e.offers > 0:
		select {
		case e.ready <- struct{}{}:
		default: // there is one already
		}
	}
}

// Ready implements engine.Engine.
func (e *Engine[T]) Ready() <-chan struct{} {
	e.lock.Lock()
	if e.ready == nil {
		e.ready = make(chan struct{}, 1)
		e.refresh()
		e.settle()
	}
	ready := e.ready
	e.unlock()
	return ready
}

// Stats implements engine.Engine.
func (e *Engine[T]) Stats() engine.Stats {
	var in engine.Snapshot
	e.describe(&in)
	return in.Stats
}

// Snapshot implements engine.Engine. The lanes of a channel with levels are these.
func (e *Engine[T]) Snapshot(n int) engine.Snapshot {
	in := engine.NewSnapshot(n)
	in.Senders = make([]time.Duration, 0, 2*n) // see describeSenders
	if e.levels != nil {
		in.Lanes = make([]engine.Lane, 0, min(n, len(e.levels.of)))
	} else {
		in.Rings = make([]engine.Ring, 0, 1)
	}
	e.describe(&in)
	return in
}

// describe completes in, whose lists have room for what is wanted.
func (e *Engine[T]) describe(in *engine.Snapshot) {
	now := park.Now()
	e.lock.Lock()
	defer e.lock.Unlock()
	e.probeNext()
	e.notice()
	r := &e.receivers
	in.Ready = e.ready != nil
	in.Receivers = r.ages(in.Receivers, now)
	in.Stats = engine.Stats{
		Name: e.config.Name, Len: e.n, Cap: e.limit, HighWater: e.high, Closed: e.closed(),
		Sent: e.sent, Received: e.taken, Dropped: e.dropped,
		RecvWaits: r.parks + r.waits.Waits(), RecvWaitTime: r.waits.Spent(),
		ReceiversWaiting: int(r.n), OldestReceiver: r.oldest(now),
	}
	e.store.describe(now, e.sent, in)
	e.describeSenders(now, in)
}

// describeSenders adds what is known of the senders that wait, on all levels: the n longest waits
// in a list with room for 2n.
func (e *Engine[T]) describeSenders(now time.Duration, in *engine.Snapshot) {
	out, n := &in.Stats, cap(in.Senders)/2
	for i := range e.queues() {
		l := e.sendersAt(int64(i))
		out.SendWaits += l.parks + l.waits.Waits()
		out.SendWaitTime += l.waits.Spent()
		out.SendersWaiting += int(l.n)
		oldest := l.oldest(now)
		out.OldestSender = max(out.OldestSender, oldest)
		if i < len(in.Lanes) {
			lane := &in.Lanes[i]
			lane.InUse, lane.Cap, lane.Senders, lane.OldestSender = !e.isShut(int64(i)), e.limit, int(l.n), oldest
		}
		if l.n > 0 && n > 0 {
			all := l.ages(in.Senders[:len(in.Senders):len(in.Senders)+n], now)
			slices.SortStableFunc(all, func(a, b time.Duration) int { return cmp.Compare(b, a) })
			in.Senders = in.Senders[:min(n, len(all))]
		}
	}
}
