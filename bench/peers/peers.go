// Package peers makes contenders of the Go libraries that this one is compared
// with. Only this package and its importers compile them.
//
// Each peer is used as its documentation recommends. Where that would lose
// values or hang, the run is arranged to avoid it, and the contender's Note
// explains how: a comparison with a channel that does not do the work is
// worthless.
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

// pumpBuffer is the size of chanx's three buffers: the size of the published
// elastic channel's buffers, so that only the pumps differ.
const pumpBuffer = contender.PublishedBuffer

// Chanx is github.com/smallnest/chanx, an unbounded channel with a pump.
func Chanx() contender.Contender {
	return contender.Contender{
		Name:  "chanx",
		Note:  "runs with a context that is never canceled: a cancellation strands the queued values",
		Bound: contender.UnboundedOnly,
		Make: func(int) contender.Channel {
			c := chanx.NewUnboundedChan[uint64](context.Background(), pumpBuffer)
			return contender.OverEnds(c.In, c.Out)
		},
	}
}

// end is the last value sent through a channel that cannot be closed, or not
// safely. No workload sends it.
const end = ^uint64(0)

// channEnds is golang.design/x/chann without a limit, an unbounded channel with
// a pump. Its ends are built-in channels, but its own Close spins until all
// values are received (0.1.2) or drops the backlog (later). Therefore Close
// sends an end mark, and the receiver that gets it, when nothing is queued
// anymore, closes the channel.
type channEnds struct{ c *chann.Chann[uint64] }

// Chann is golang.design/x/chann.
func Chann() contender.Contender {
	return contender.Contender{
		Name:  "chann",
		Note:  "closed only after it is drained, by an end mark: its own Close spins, or drops the backlog",
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

// eapacheEnds is the InfiniteChannel of github.com/eapache/channels, an
// unbounded channel of interface values with a pump.
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
