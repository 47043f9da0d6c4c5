package peers

import (
	"runtime"
	"sync/atomic"

	"code.hybscloud.com/iox"
	"code.hybscloud.com/lfq"

	"github.com/sluice-go/sluice/bench/contender"
)

// pause waits for a while: by sleeping, or by yielding.
func pause(b *iox.Backoff, sleeps bool) {
	if sleeps {
		b.Wait()
	} else {
		runtime.Gosched()
	}
}

// lockFree returns a queue of code.hybscloud.com/lfq as a channel. It never waits: its
// documentation lets the caller wait with an iox.Backoff, which sleeps. Close follows the
// documentation, too: no sender is active, and Drain says so.
//
//go:noinline
func lockFree(q lfq.Queue[uint64], sleeps bool) contender.Channel {
	closed := new(atomic.Bool)
	return contender.Channel{
		Send: func(lo, hi uint64) bool {
			var b iox.Backoff
			return contender.SendEach(lo, hi, func(v uint64) bool {
				b.Reset()
				return put(func() bool { return q.Enqueue(&v) == nil }, func() { pause(&b, sleeps) })
			})
		},
		Recv: func(most uint64) contender.Tally {
			var b iox.Backoff
			return contender.RecvEach(most, func() (uint64, bool) {
				b.Reset()
				return take(func() (uint64, bool) { v, err := q.Dequeue(); return v, err == nil }, closed, func() { pause(&b, sleeps) })
			})
		},
		Close: func() {
			if d, ok := q.(lfq.Drainer); ok {
				d.Drain()
			}
			closed.Store(true)
		},
	}
}

// LfqSPSC is the queue of lfq for one sender and one receiver.
func LfqSPSC() contender.Contender {
	return contender.Contender{
		Name: "lfq SPSC", Bound: contender.Buffered, OneSender: true, OneReceiver: true,
		Note: "one sender, one receiver",
		Make: func(capacity int) contender.Channel {
			return lockFree(lfq.Build[uint64](lfq.New(max(2, capacity)).SingleProducer().SingleConsumer()), true)
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
			return lockFree(lfq.Build[uint64](lfq.New(max(2, capacity))), sleeps)
		},
	}
}
