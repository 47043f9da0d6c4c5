package peers

import (
	"runtime"
	"sync/atomic"

	"github.com/puzpuzpuz/xsync/v4"

	"github.com/sluice-go/sluice/bench/contender"
)

// end is the last value sent through a queue that cannot be closed. No workload sends it.
const end = ^uint64(0)

// XsyncUMPSC is xsync's UMPSCQueue, an unbounded queue for one receiver. It parks through
// the scheduler and has no close: an end mark is sent instead, after which Recv must not be
// called again.
//
//go:noinline
func XsyncUMPSC() contender.Contender {
	return contender.Contender{
		Name:        "xsync UMPSC",
		Note:        "one receiver; ended by an end mark",
		Bound:       contender.UnboundedOnly,
		OneReceiver: true,
		Make: func(int) contender.Channel {
			q := xsync.NewUMPSCQueue[uint64]()
			return contender.Channel{
				Send: func(lo, hi uint64) bool {
					return contender.SendEach(lo, hi, func(v uint64) bool { q.Enqueue(v); return true })
				},
				Recv: func(most uint64) contender.Tally {
					return contender.RecvEach(most, func() (uint64, bool) { v := q.Dequeue(); return v, v != end })
				},
				Close: func() { q.Enqueue(end) },
			}
		},
	}
}

// The bounded queues of xsync never wait: they report full or empty. Each has its own loops,
// over the concrete type of the queue, as a user's are.

// XsyncMPMC is xsync's MPMCQueue, for many senders and receivers.
//
//go:noinline
func XsyncMPMC() contender.Contender {
	return contender.Contender{
		Name:  "xsync MPMC",
		Bound: contender.Buffered,
		Make: func(capacity int) contender.Channel {
			q, closed := xsync.NewMPMCQueue[uint64](capacity), new(atomic.Bool)
			return contender.Channel{
				Send: func(lo, hi uint64) bool {
					return contender.SendEach(lo, hi, func(v uint64) bool { return put(func() bool { return q.TryEnqueue(v) }, runtime.Gosched) })
				},
				Recv: func(most uint64) contender.Tally {
					return contender.RecvEach(most, func() (uint64, bool) { return take(q.TryDequeue, closed, runtime.Gosched) })
				},
				Close: func() { closed.Store(true) },
			}
		},
	}
}

// XsyncSPSC is xsync's SPSCQueue, for one sender and one receiver.
//
//go:noinline
func XsyncSPSC() contender.Contender {
	return contender.Contender{
		Name:      "xsync SPSC",
		Note:      "one sender, one receiver",
		Bound:     contender.Buffered,
		OneSender: true, OneReceiver: true,
		Make: func(capacity int) contender.Channel {
			q, closed := xsync.NewSPSCQueue[uint64](capacity), new(atomic.Bool)
			return contender.Channel{
				Send: func(lo, hi uint64) bool {
					return contender.SendEach(lo, hi, func(v uint64) bool { return put(func() bool { return q.TryEnqueue(v) }, runtime.Gosched) })
				},
				Recv: func(most uint64) contender.Tally {
					return contender.RecvEach(most, func() (uint64, bool) { return take(q.TryDequeue, closed, runtime.Gosched) })
				},
				Close: func() { closed.Store(true) },
			}
		},
	}
}
