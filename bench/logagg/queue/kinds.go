package queue

import (
	"context"
	"errors"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/bench/logagg/parse"
)

// kinds are the available channels, the built-in one first.
var kinds = []Kind{
	{"native", newNative, false},
	{"bounded", inMemory(func(o Options) channel {
		return sluice.NewBounded(o.Capacity, &sluice.BoundedOptions[parse.Event]{Name: channelName, SingleReceiver: true})
	}), false},
	{"elastic", inMemory(func(o Options) channel {
		return sluice.NewElastic(o.Capacity, &sluice.ElasticOptions[parse.Event]{Name: channelName, SingleReceiver: true})
	}), false},
	// Senders share the lanes, because the counts do not depend on the order of
	// lines. A lane per connection (Sharded.Lane) would keep the order, but
	// create as many queues as connections, each of which can fill up, and
	// lines would wait twice as long.
	{"sharded", inMemory(func(o Options) channel {
		return sluice.NewSharded(o.Capacity, &sluice.ShardedOptions[parse.Event]{Name: channelName, SingleReceiver: true})
	}), false},
	// These keep events on disk or at servers. A batch is one record or message,
	// except in spill, which takes events one by one as long as they fit in
	// memory.
	{"spill", newSpill, true},
	{"durable", newDurable, true},
	{"jetstream", newJetStream, true},
}

// A channel contains the methods that a queue needs of any kind of sluice.
type channel interface {
	sluice.BatchSender[parse.Event]
	sluice.BatchReceiver[parse.Event]
}

// received limits how many events are received at once: 8 KiB of them.
const received = 256

// newOwn returns a queue on a channel of sluice. Only spill can fail; remove is the end of its
// files.
func newOwn(o Options, c channel, remove func() error) Queue {
	failed := &failure{log: o.Log}
	send := func(batch []parse.Event) (rejected int) {
		sent, err := 0, error(nil)
		if len(batch) == 1 {
			err = c.Send(context.Background(), batch[0])
		} else {
			sent, err = c.SendBatch(context.Background(), batch)
		}
		if err != nil {
			failed.note(err)
			return len(batch) - sent
		}
		return 0
	}
	// It receives all available events at once, even if they were sent one by one: this does
	// not wait, and they share the cost of one receive.
	all := func(yield func([]parse.Event) bool) {
		buf := make([]parse.Event, received)
		for {
			n, err := c.RecvBatch(context.Background(), buf)
			if err != nil && !errors.Is(err, sluice.ErrClosed) {
				failed.note(err)
			}
			if err != nil || !yield(buf[:n]) {
				return // closed and drained, failed, or the body left the loop
			}
		}
	}
	return inProcess{sending{o.Batch, send}, all, c.Close, func() error { return errors.Join(failed.failed(), remove()) }}
}

// inMemory returns a queue on the channel that open returns.
func inMemory(open func(Options) channel) func(Options) (Queue, error) {
	return func(o Options) (Queue, error) { return newOwn(o, open(o), nothing), nil }
}
