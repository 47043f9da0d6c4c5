package contender

import (
	"context"

	"github.com/sluice-go/sluice"
)

// The loops over our kinds are written out for each kind, in rendezvous.go,
// bounded.go, elastic.go and
// sharded.go. Behind a type parameter each call would go through
// a dictionary, behind an interface through a table, and neither is what a user
// of the concrete type pays.

// own completes a contender of ours: its name lists the options that differ
// from the defaults, so that two variants cannot be taken for each other.
func own(name string, b Bound, ctx context.Context, o *sluice.Options[uint64], build func(int) Channel) Contender {
	c := Contender{Name: name, Bound: b, Make: build}
	if o != nil {
		c.OneSender, c.OneReceiver = o.SingleSender, o.SingleReceiver
		switch {
		case o.SingleSender && o.SingleReceiver:
			c.Name += ", one to one"
		case o.SingleSender:
			c.Name += ", single sender"
		case o.SingleReceiver:
			c.Name += ", single receiver"
		}
		if o.Shrink != sluice.ShrinkHalf {
			c.Name += ", " + o.Shrink.String()
		}
		if o.NoHandOff {
			c.Name += ", no hand-off"
		}
	}
	if ctx.Done() != nil {
		c.Name += ", ctx"
	}
	return c
}

// Standard returns one contender of each kind, without the Go peers: the
// built-in chan, the published elastic channel with either pump, and ours.
func Standard() []Contender {
	background := context.Background()
	oneToOne := &sluice.Options[uint64]{SingleSender: true, SingleReceiver: true}
	return []Contender{
		Native(),
		NativeSlices(),
		Published{Pump: Simple, SendBuffer: PublishedBuffer, RecvBuffer: PublishedBuffer}.Contender(),
		Published{Pump: Flushing, SendBuffer: PublishedBuffer, RecvBuffer: PublishedBuffer}.Contender(),
		Rendezvous(background, nil),
		Bounded(background, nil),
		Bounded(background, oneToOne),
		Elastic(background, nil),
		Sharded(background, nil),
		ShardedLanes(background, nil),
		Ends(nil),
	}
}
