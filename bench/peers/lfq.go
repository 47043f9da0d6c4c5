package peers

import (
	"runtime"
	"sync/atomic"

	"code.hybscloud.com/iox"
	"code.hybscloud.com/lfq"

	"github.com/sluice-go/sluice/bench/contender"
)

// lockFree is a queue of code.hybscloud.com/lfq. It never waits: its documentation
// lets the caller wait with an iox.Backoff, which sleeps.
type lockFree struct {
	q      lfq.Queue[uint64]
	sleeps bool // or else it yields
	closed *atomic.Bool
}

// pause waits for a while.
func (p lockFree) pause(b *iox.Backoff) {
	if p.sleeps {
		b.Wait()
	} else {
		runtime.Gosched()
	}
}

func (p lockFree) Send(lo, hi uint64) bool {
	var b iox.Backoff
	return contender.SendEach(lo, hi, func(v uint64) bool {
		b.Reset()
		return put(func() bool { return p.q.Enqueue(&v) == nil }, func() { p.pause(&b) })
	})
}

func (p lockFree) Recv(most uint64) contender.Tally {
	var b iox.Backoff
	return contender.RecvEach(most, func() (uint64, bool) {
		b.Reset()
		return take(func() (uint64, bool) { v, err := p.q.Dequeue(); return v, err == nil }, p.closed, func() { p.pause(&b) })
	})
}

// Close follows the documentation: no sender is active, and Drain says so.
func (p lockFree) Close() {
	if d, ok := p.q.(lfq.Drainer); ok {
		d.Drain()
	}
	p.closed.Store(true)
}

// LfqSPSC is the queue of lfq for one sender and one receiver.
func LfqSPSC() contender.Contender {
	return contender.Contender{
		Name: "lfq SPSC", Bound: contender.Buffered, OneSender: true, OneReceiver: true,
		Note: "one sender, one receiver",
		Make: func(capacity int) contender.Channel {
			q := lfq.Build[uint64](lfq.New(max(2, capacity)).SingleProducer().SingleConsumer())
			return lockFree{q, true, new(atomic.Bool)}
		},
	}
}

// LfqMPMC is the queue of lfq for all numbers of senders and receivers.
func LfqMPMC() contender.Contender { return lfqMPMC("lfq MPMC", true) }

// LfqMPMCYielding is the same for users who poll instead of sleeping.
func LfqMPMCYielding() contender.Contender {
	return lfqMPMC("lfq MPMC, polling", false)
}

func lfqMPMC(name string, sleeps bool) contender.Contender {
	return contender.Contender{
		Name: name, Bound: contender.Buffered, AnyOrder: true,
		Note: "its README asks for a Go compiler of its own, and this is the standard one",
		Make: func(capacity int) contender.Channel {
			return lockFree{lfq.Build[uint64](lfq.New(max(2, capacity))), sleeps, new(atomic.Bool)}
		},
	}
}
