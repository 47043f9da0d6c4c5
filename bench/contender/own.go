package contender

import (
	"context"

	"github.com/sluice-go/sluice"
)

// The loops over our kinds are written out for each kind, in rendezvous.go,
// bounded.go, elastic.go and sharded.go. A type parameter would make each call
// go through a dictionary, an interface through a method table; a user of the
// concrete type pays for neither.

// Options are the settings in which contenders of one kind differ. Each kind
// uses the fields that it has an option for.
type Options struct {
	SingleSender   bool
	SingleReceiver bool
	Shrink         sluice.ShrinkMode
}

func (o *Options) bounded() *sluice.BoundedOptions[uint64] {
	if o == nil {
		return nil
	}
	return &sluice.BoundedOptions[uint64]{SingleSender: o.SingleSender, SingleReceiver: o.SingleReceiver}
}

func (o *Options) elastic() *sluice.ElasticOptions[uint64] {
	if o == nil {
		return nil
	}
	return &sluice.ElasticOptions[uint64]{SingleSender: o.SingleSender, SingleReceiver: o.SingleReceiver, Shrink: o.Shrink}
}

func (o *Options) sharded() *sluice.ShardedOptions[uint64] {
	if o == nil {
		return nil
	}
	return &sluice.ShardedOptions[uint64]{SingleReceiver: o.SingleReceiver, Shrink: o.Shrink}
}

// own completes a contender of this library: its name lists the options that
// differ from the defaults, so that no two variants share a name.
func own(name string, b Bound, ctx context.Context, o *Options, build func(int) Channel) Contender {
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
	}
	if ctx.Done() != nil {
		c.Name += ", ctx"
	}
	return c
}

// Standard returns one contender of each kind, without the Go peers: the
// built-in chan, the published elastic channel with either pump, and the kinds
// of this library.
func Standard() []Contender {
	background := context.Background()
	oneToOne := &Options{SingleSender: true, SingleReceiver: true}
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
		Priority(background),
		Pipe(nil),
	}
}
