package queue

import (
	"context"
	"iter"
	"sync/atomic"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/examples/logagg/parse"
)

var (
	nativePolicies = []sluice.Overflow{sluice.Block, sluice.Reject, sluice.DropNewest}
	allPolicies    = append(nativePolicies[:len(nativePolicies):len(nativePolicies)], sluice.DropOldest)
)

// kinds are the channels that can be chosen, the built-in one first.
var kinds = []Kind{
	{"native", nativePolicies, newNative},
	{"bounded", allPolicies, func(o Options) Queue {
		return newOwn(o, func(options *sluice.Options[parse.Event]) channel {
			return sluice.NewBounded(o.Capacity, options)
		})
	}},
	{"elastic", allPolicies, func(o Options) Queue {
		return newOwn(o, func(options *sluice.Options[parse.Event]) channel {
			return sluice.NewElastic(o.Capacity, options)
		})
	}},
	// Senders share the lanes, for counts do not depend on the order of lines. A lane for
	// each connection, by Sharded.Lane, keeps the order; but then there are as many queues
	// as connections, each of which can fill up, and lines wait twice as long in them.
	{"sharded", allPolicies, func(o Options) Queue {
		return newOwn(o, func(options *sluice.Options[parse.Event]) channel {
			return sluice.NewSharded(o.Capacity, options)
		})
	}},
}

// A channel is what a queue needs of any kind of sluice.
type channel interface {
	sluice.BatchSender[parse.Event]
	sluice.BatchReceiver[parse.Event]
	Len() int
}

// received bounds how many events are received at once: 8 KiB of them.
const received = 256

// own is a queue over a channel of sluice.
type own struct {
	channel channel
	batch   int
	dropped atomic.Int64
}

// newOwn returns a queue over the channel that make returns.
func newOwn(o Options, make func(*sluice.Options[parse.Event]) channel) *own {
	q := &own{batch: o.Batch}
	options := &sluice.Options[parse.Event]{Name: o.Name, Overflow: o.Overflow, SingleReceiver: true}
	if o.Overflow == sluice.DropNewest || o.Overflow == sluice.DropOldest {
		options.OnDrop = func(e parse.Event) {
			if !e.Tick {
				q.dropped.Add(1)
			}
		}
	}
	q.channel = make(options)
	return q
}

func (q *own) Sender() Sender {
	if q.batch == 1 {
		return single{q.channel}
	}
	return &batched{channel: q.channel, kept: make([]parse.Event, 0, q.batch)}
}

// All takes as many events as there are, also when they were sent one by one: that waits
// for nothing, and a hand-over is paid for by all of them.
func (q *own) All() iter.Seq[[]parse.Event] {
	return func(yield func([]parse.Event) bool) {
		buf := make([]parse.Event, received)
		for {
			n, err := q.channel.RecvBatch(context.Background(), buf)
			if err != nil || !yield(buf[:n]) {
				return // closed and drained, or the loop was left
			}
		}
	}
}

func (q *own) Close()         { q.channel.Close() }
func (q *own) Dropped() int64 { return q.dropped.Load() }
func (q *own) Len() int       { return q.channel.Len() }

// single sends one event at a time.
type single struct{ channel channel }

func (s single) Send(e parse.Event) int {
	if s.channel.Send(context.Background(), e) != nil {
		return events([]parse.Event{e}) // full, and the policy is Reject
	}
	return 0
}

func (s single) Flush() int { return 0 }

// batched keeps events until there is a batch of them.
type batched struct {
	channel channel
	kept    []parse.Event
}

func (b *batched) Send(e parse.Event) int {
	b.kept = append(b.kept, e)
	if len(b.kept) < cap(b.kept) {
		return 0
	}
	return b.Flush()
}

func (b *batched) Flush() int {
	sent, _ := b.channel.SendBatch(context.Background(), b.kept) // what was not sent is counted below
	rejected := events(b.kept[sent:])
	b.kept = b.kept[:0]
	return rejected
}

// events counts those that are no ticks.
func events(es []parse.Event) (n int) {
	for i := range es {
		if !es[i].Tick {
			n++
		}
	}
	return n
}
