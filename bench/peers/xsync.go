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
		Note:        "one receiver; cannot be closed: ended by an end mark",
		Bound:       contender.UnboundedOnly,
		OneReceiver: true,
		Make:        func(int) contender.Channel { return umpsc{xsync.NewUMPSCQueue[uint64]()} },
	}
}

func (p umpsc) SendRange(lo, hi uint64) {
	for v := lo; v < hi; v++ {
		p.q.Enqueue(v)
	}
}

func (p umpsc) Drain() contender.Tally {
	var t contender.Tally
	for {
		v := p.q.Dequeue()
		if v == end {
			return t
		}
		t.Add(v)
	}
}

func (p umpsc) Send(v uint64) bool {
	p.q.Enqueue(v)
	return true
}

// Recv must not be called again after it has returned false.
func (p umpsc) Recv() (uint64, bool) {
	v := p.q.Dequeue()
	return v, v != end
}

func (p umpsc) Close() { p.q.Enqueue(end) }

// A polling queue never waits: it reports full or empty. Its loops yield the
// processor between polls and keep it busy while there is nothing to do. closed
// is set after the last send, so a receiver that sees it must poll once more.

// mpmc is xsync's bounded queue for many senders and receivers.
type mpmc struct {
	q      *xsync.MPMCQueue[uint64]
	closed *atomic.Bool
}

// XsyncMPMC is xsync's MPMCQueue.
func XsyncMPMC() contender.Contender {
	return contender.Contender{
		Name:  "xsync MPMC",
		Note:  "polls: keeps a processor busy while it waits; closed by a separate flag",
		Bound: contender.Buffered,
		Make: func(capacity int) contender.Channel {
			return mpmc{xsync.NewMPMCQueue[uint64](capacity), new(atomic.Bool)}
		},
	}
}

func (p mpmc) SendRange(lo, hi uint64) {
	for v := lo; v < hi; v++ {
		for !p.q.TryEnqueue(v) {
			runtime.Gosched()
		}
	}
}

func (p mpmc) Drain() contender.Tally {
	var t contender.Tally
	for {
		v, ok := p.q.TryDequeue()
		if !ok {
			if v, ok = p.Recv(); !ok {
				return t
			}
		}
		t.Add(v)
	}
}

func (p mpmc) Send(v uint64) bool {
	p.SendRange(v, v+1)
	return true
}

func (p mpmc) Recv() (uint64, bool) {
	for {
		closed := p.closed.Load()
		v, ok := p.q.TryDequeue()
		if ok || closed {
			return v, ok
		}
		runtime.Gosched()
	}
}

func (p mpmc) Close() { p.closed.Store(true) }

// spsc is xsync's bounded queue for one sender and one receiver.
type spsc struct {
	q      *xsync.SPSCQueue[uint64]
	closed *atomic.Bool
}

// XsyncSPSC is xsync's SPSCQueue.
func XsyncSPSC() contender.Contender {
	return contender.Contender{
		Name:        "xsync SPSC",
		Note:        "one sender, one receiver; polls: keeps a processor busy while it waits; closed by a separate flag",
		Bound:       contender.Buffered,
		OneSender:   true,
		OneReceiver: true,
		Make: func(capacity int) contender.Channel {
			return spsc{xsync.NewSPSCQueue[uint64](capacity), new(atomic.Bool)}
		},
	}
}

func (p spsc) SendRange(lo, hi uint64) {
	for v := lo; v < hi; v++ {
		for !p.q.TryEnqueue(v) {
			runtime.Gosched()
		}
	}
}

func (p spsc) Drain() contender.Tally {
	var t contender.Tally
	for {
		v, ok := p.q.TryDequeue()
		if !ok {
			if v, ok = p.Recv(); !ok {
				return t
			}
		}
		t.Add(v)
	}
}

func (p spsc) Send(v uint64) bool {
	p.SendRange(v, v+1)
	return true
}

func (p spsc) Recv() (uint64, bool) {
	for {
		closed := p.closed.Load()
		v, ok := p.q.TryDequeue()
		if ok || closed {
			return v, ok
		}
		runtime.Gosched()
	}
}

func (p spsc) Close() { p.closed.Store(true) }
