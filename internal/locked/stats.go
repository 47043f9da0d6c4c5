package locked

import (
	"time"

	"github.com/sluice-go/sluice/internal/callsite"
	"github.com/sluice-go/sluice/internal/engine"
	"github.com/sluice-go/sluice/internal/park"
)

// postReady stores the token of Ready if a value can be received, and closes the channel once no
// other value will become receivable. The lock is held.
func (e *Engine[T]) postReady() {
	switch {
	case e.closed() && e.store.over(e.n):
		e.ready.Close()
	case e.able() || e.limit == 0 && e.offers > 0:
		e.ready.Post()
	}
}

// Ready implements engine.Engine.
func (e *Engine[T]) Ready() <-chan struct{} {
	return e.ready.Chan(func() (hasValue, closed bool) {
		e.acquire()
		e.refresh()
		e.settle()
		e.unlock()
		return false, false // settle has posted, or closed it
	})
}

// Sites implements engine.Engine.
func (e *Engine[T]) Sites() *callsite.Sites { return e.config.Sites }

// Stats implements engine.Engine.
func (e *Engine[T]) Stats() engine.Stats {
	var in engine.Snapshot
	e.describe(&in)
	return in.Stats
}

// Snapshot implements engine.Engine. The lanes of a channel with levels are these.
func (e *Engine[T]) Snapshot(n int) engine.Snapshot {
	in := engine.NewSnapshot(n)
	in.Senders = make([]time.Duration, 0, 2*n) // see engine.SpareHalf
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
	e.config.Sites.ProbeNext()
	e.notice()
	r := &e.receivers
	in.Ready = e.ready.InUse()
	in.Receivers = r.Ages(in.Receivers, now)
	in.Stats = engine.Stats{
		Name: e.config.Name, Len: e.n, Cap: e.limit, HighWater: e.high, Closed: e.closed(),
		Sent: e.sent, Received: e.taken, Dropped: e.dropped, Rejected: e.rejected.Load(),
		RecvWaits: r.parks + r.waits.Waits(), RecvWaitTime: r.waits.Spent(),
		ReceiversWaiting: int(r.Len()), OldestReceiver: r.Oldest(now),
	}
	e.store.describe(now, e.sent, in)
	e.describeSenders(now, in)
}

// describeSenders adds what is known of the senders that wait, on all levels.
func (e *Engine[T]) describeSenders(now time.Duration, in *engine.Snapshot) {
	out := &in.Stats
	for i := range e.queues() {
		l := e.sendersAt(int64(i))
		out.SendWaits += l.parks + l.waits.Waits()
		out.SendWaitTime += l.waits.Spent()
		out.SendersWaiting += int(l.Len())
		oldest := l.Oldest(now)
		out.OldestSender = max(out.OldestSender, oldest)
		if i < len(in.Lanes) {
			lane := &in.Lanes[i]
			lane.InUse, lane.Cap, lane.Senders, lane.OldestSender = !e.isShut(int64(i)), e.limit, int(l.Len()), oldest
		}
		in.Senders = engine.Longest(in.Senders, l.Ages(engine.SpareHalf(in.Senders), now))
	}
}
