package peers

import (
	"runtime"
	"sync/atomic"

	"github.com/puzpuzpuz/xsync/v4"

	"github.com/sluice-go/sluice/bench/contender"
)

// end is the last value sent through a queue that cannot be closed. No workload sends it.
const end = ^uint64(0)

// umpsc is xsync's unbounded queue for one receiver. It parks through the
// scheduler and has no close: an end mark is sent instead.
type umpsc struct{ q *xsync.UMPSCQueue[uint64] }

// XsyncUMPSC is xsync's UMPSCQueue.
func XsyncUMPSC() contender.Contender {
	return contender.Contender{
		Name:        "xsync UMPSC",
		Note:        "one receiver; ended by an end mark",
		Bound:       contender.UnboundedOnly,
		OneReceiver: true,
		Make:        func(int) contender.Channel { return umpsc{xsync.NewUMPSCQueue[uint64]()} },
	}
}

func (p umpsc) Send(lo, hi uint64) bool {
	return contender.SendEach(lo, hi, func(v uint64) bool { p.q.Enqueue(v); return true })
}

// Recv must not be called again after the end.
func (p umpsc) Recv(most uint64) contender.Tally {
	return contender.RecvEach(most, func() (uint64, bool) { v := p.q.Dequeue(); return v, v != end })
}

func (p umpsc) Close() { p.q.Enqueue(end) }

// polled is one of xsync's bounded queues. They never wait: they report full or
// empty. The loops have the concrete types of the queues, as a user's have.
type polled struct {
	many   *xsync.MPMCQueue[uint64]
	single *xsync.SPSCQueue[uint64]
	closed *atomic.Bool
}

func (p polled) Send(lo, hi uint64) bool {
	if q := p.single; q != nil {
		return contender.SendEach(lo, hi, func(v uint64) bool { return put(func() bool { return q.TryEnqueue(v) }, runtime.Gosched) })
	}
	return contender.SendEach(lo, hi, func(v uint64) bool { return put(func() bool { return p.many.TryEnqueue(v) }, runtime.Gosched) })
}

func (p polled) Recv(most uint64) contender.Tally {
	if q := p.single; q != nil {
		return contender.RecvEach(most, func() (uint64, bool) { return take(q.TryDequeue, p.closed, runtime.Gosched) })
	}
	return contender.RecvEach(most, func() (uint64, bool) { return take(p.many.TryDequeue, p.closed, runtime.Gosched) })
}

func (p polled) Close() { p.closed.Store(true) }

// XsyncMPMC is xsync's MPMCQueue, for many senders and receivers.
func XsyncMPMC() contender.Contender {
	return contender.Contender{
		Name:  "xsync MPMC",
		Bound: contender.Buffered,
		Make: func(capacity int) contender.Channel {
			return polled{many: xsync.NewMPMCQueue[uint64](capacity), closed: new(atomic.Bool)}
		},
	}
}

// XsyncSPSC is xsync's SPSCQueue, for one sender and one receiver.
func XsyncSPSC() contender.Contender {
	return contender.Contender{
		Name:      "xsync SPSC",
		Note:      "one sender, one receiver",
		Bound:     contender.Buffered,
		OneSender: true, OneReceiver: true,
		Make: func(capacity int) contender.Channel {
			return polled{single: xsync.NewSPSCQueue[uint64](capacity), closed: new(atomic.Bool)}
		},
	}
}
