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
	for v := lo; v < hi; v++ {
		p.q.Enqueue(v)
	}
	return true
}

// Recv must not be called again after the end.
func (p umpsc) Recv(most uint64) (t contender.Tally) {
	for t.Count < most {
		v := p.q.Dequeue()
		if v == end {
			break
		}
		t.Add(v)
	}
	return t
}

func (p umpsc) Close() { p.q.Enqueue(end) }

// polled is one of xsync's bounded queues. They never wait: they report full or
// empty. The loops yield the processor between polls and keep it busy while there is
// nothing to do. closed is set after the last send, so a receiver that sees it must
// poll once more. The loops have the concrete types of the queues, as a user's have.
type polled struct {
	many   *xsync.MPMCQueue[uint64]
	single *xsync.SPSCQueue[uint64]
	closed *atomic.Bool
}

func (p polled) Send(lo, hi uint64) bool {
	if q := p.single; q != nil {
		for v := lo; v < hi; v++ {
			for !q.TryEnqueue(v) {
				runtime.Gosched()
			}
		}
		return true
	}
	for v := lo; v < hi; v++ {
		for !p.many.TryEnqueue(v) {
			runtime.Gosched()
		}
	}
	return true
}

func (p polled) Recv(most uint64) (t contender.Tally) {
	for closed := false; t.Count < most; closed = p.closed.Load() {
		before := t.Count
		if q := p.single; q != nil {
			for v, ok := q.TryDequeue(); ok; v, ok = q.TryDequeue() {
				if t.Add(v); t.Count == most {
					return t
				}
			}
		} else {
			for v, ok := p.many.TryDequeue(); ok; v, ok = p.many.TryDequeue() {
				if t.Add(v); t.Count == most {
					return t
				}
			}
		}
		if closed {
			break
		}
		if t.Count == before {
			runtime.Gosched()
		}
	}
	return t
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
