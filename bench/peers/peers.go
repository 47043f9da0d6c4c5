// Package peers makes contenders of the Go libraries that this one is measured
// against. Only this package and what imports it compile them.
//
// A peer is used as its documentation says. Where that would lose values or
// hang, the run is arranged so that it does not, and the contender's Note says
// how: a comparison with a channel that does not do the work is worth nothing.
package peers

import (
	"context"

	"github.com/eapache/channels"
	"github.com/smallnest/chanx"
	"golang.design/x/chann"

	"github.com/sluice-go/sluice/bench/contender"
)

// All returns every peer.
func All() []contender.Contender {
	return []contender.Contender{Chanx(), Chann(), Eapache(), XsyncUMPSC(), XsyncMPMC(), XsyncSPSC()}
}

// pumpBuffer is the size of chanx's three buffers: that of the published
// elastic channel's, so that the pumps differ in nothing but themselves.
const pumpBuffer = contender.PublishedBuffer

// Chanx is github.com/smallnest/chanx, an unbounded channel with a pump.
func Chanx() contender.Contender {
	return contender.Contender{
		Name:  "chanx",
		Note:  "run under a context that is never cancelled: a cancel strands what is queued",
		Bound: contender.UnboundedOnly,
		Make: func(int) contender.Channel {
			c := chanx.NewUnboundedChan[uint64](context.Background(), pumpBuffer)
			return contender.OverEnds(c.In, c.Out)
		},
	}
}

// end is sent as the last value through a channel that cannot be closed, or
// not safely. No workload sends it.
const end = ^uint64(0)

// channEnds is golang.design/x/chann without a limit, an unbounded channel with a
// pump. Its ends are built-in channels, but its own Close spins until all is
// received (0.1.2) or drops the backlog (later). So Close sends an end mark,
// and the receiver that finds it, when nothing is queued any more, closes.
type channEnds struct{ c *chann.Chann[uint64] }

// Chann is golang.design/x/chann.
func Chann() contender.Contender {
	return contender.Contender{
		Name:  "chann",
		Note:  "closed only after it is drained, by an end mark: its Close spins, or drops the backlog",
		Bound: contender.UnboundedOnly,
		Make:  func(int) contender.Channel { return channEnds{chann.New[uint64]()} },
	}
}

func (p channEnds) SendRange(lo, hi uint64) {
	in := p.c.In()
	for v := lo; v < hi; v++ {
		in <- v
	}
}

func (p channEnds) Drain() contender.Tally {
	var t contender.Tally
	for v := range p.c.Out() {
		if v == end {
			p.c.Close()
			continue
		}
		t.Add(v)
	}
	return t
}

func (p channEnds) Send(v uint64) { p.c.In() <- v }

func (p channEnds) Recv() (uint64, bool) {
	v, ok := <-p.c.Out()
	if ok && v == end {
		p.c.Close()
		v, ok = <-p.c.Out()
	}
	return v, ok
}

func (p channEnds) Close() { p.c.In() <- end }

// eapacheEnds is github.com/eapache/channels' InfiniteChannel, an unbounded
// channel of interface values with a pump.
type eapacheEnds struct {
	in  chan<- any
	out <-chan any
}

// Eapache is github.com/eapache/channels.
func Eapache() contender.Contender {
	return contender.Contender{
		Name:  "eapache",
		Note:  "carries interface values: each value is allocated",
		Bound: contender.UnboundedOnly,
		Make: func(int) contender.Channel {
			c := channels.NewInfiniteChannel()
			return eapacheEnds{c.In(), c.Out()}
		},
	}
}

func (p eapacheEnds) SendRange(lo, hi uint64) {
	for v := lo; v < hi; v++ {
		p.in <- v
	}
}

func (p eapacheEnds) Drain() contender.Tally {
	var t contender.Tally
	for v := range p.out {
		t.Add(v.(uint64))
	}
	return t
}

func (p eapacheEnds) Send(v uint64) { p.in <- v }

func (p eapacheEnds) Recv() (uint64, bool) {
	v, ok := <-p.out
	if !ok {
		return 0, false
	}
	return v.(uint64), true
}

func (p eapacheEnds) Close() { close(p.in) }
