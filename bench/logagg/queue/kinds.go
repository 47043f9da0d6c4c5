package queue

import (
	"context"
	"errors"
	"iter"
	"log/slog"
	"sync/atomic"

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

// own is a queue on a channel of sluice.
type own struct {
	inProcess
	channel channel
	batch   int
	failed  atomic.Pointer[error] // the first failure
	log     *slog.Logger          // logs it, for kinds that can fail
}

// inMemory returns a queue on the channel that open returns.
func inMemory(open func(Options) channel) func(Options) (Queue, error) {
	return func(o Options) (Queue, error) { return &own{channel: open(o), batch: o.Batch, log: o.logger()}, nil }
}

func (q *own) Sender() Sender {
	if q.batch == 1 {
		return single{q}
	}
	return newBatcher(q.batch, func(batch []parse.Event) int {
		sent, err := q.channel.SendBatch(context.Background(), batch)
		q.note(err)
		return events(batch[sent:])
	})
}

// All receives all available events at once, even if they were sent one by one:
// this does not wait, and they share the cost of one receive.
func (q *own) All() iter.Seq[[]parse.Event] {
	return func(yield func([]parse.Event) bool) {
		buf := make([]parse.Event, received)
		for {
			n, err := q.channel.RecvBatch(context.Background(), buf)
			if err != nil || !yield(buf[:n]) {
				q.note(err)
				return // closed and drained, failed, or the body left the loop
			}
		}
	}
}

func (q *own) Close() { q.channel.Close() }

// note records a failure. A channel in memory has none.
func (q *own) note(err error) {
	if err != nil && !errors.Is(err, sluice.ErrClosed) {
		if q.failed.CompareAndSwap(nil, &err) {
			q.log.Error("channel failed", "error", err)
		}
	}
}

func (q *own) End() error {
	if err := q.failed.Load(); err != nil {
		return *err
	}
	return nil
}

// single sends one event at a time.
type single struct{ q *own }

func (s single) Send(e parse.Event) int {
	if err := s.q.channel.Send(context.Background(), e); err != nil {
		s.q.note(err)
		return events([]parse.Event{e}) // a disk failure
	}
	return 0
}

func (s single) Flush() int { return 0 }

// events counts the events that are not ticks.
func events(es []parse.Event) (n int) {
	for i := range es {
		if !es[i].Tick {
			n++
		}
	}
	return n
}
