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

var (
	nativePolicies = []sluice.Overflow{sluice.Block, sluice.Reject, sluice.DropNewest}
	allPolicies    = append(nativePolicies[:len(nativePolicies):len(nativePolicies)], sluice.DropOldest)
)

// kinds are the channels that can be chosen, the built-in one first.
var kinds = []Kind{
	{"native", nativePolicies, newNative, false},
	{"bounded", allPolicies, func(o Options) (Queue, error) {
		return newOwn(o, func(options settings) channel {
			return sluice.NewBounded(o.Capacity, &sluice.BoundedOptions[parse.Event]{
				Name: options.name, Overflow: options.overflow, OnDrop: options.onDrop, SingleReceiver: true})
		}), nil
	}, false},
	{"elastic", allPolicies, func(o Options) (Queue, error) {
		return newOwn(o, func(options settings) channel {
			return sluice.NewElastic(o.Capacity, &sluice.ElasticOptions[parse.Event]{
				Name: options.name, Overflow: options.overflow, OnDrop: options.onDrop, SingleReceiver: true})
		}), nil
	}, false},
	// Senders share the lanes, for counts do not depend on the order of lines. A lane for
	// each connection, by Sharded.Lane, keeps the order; but then there are as many queues
	// as connections, each of which can fill up, and lines wait twice as long in them.
	{"sharded", allPolicies, func(o Options) (Queue, error) {
		return newOwn(o, func(options settings) channel {
			return sluice.NewSharded(o.Capacity, &sluice.ShardedOptions[parse.Event]{
				Name: options.name, Overflow: options.overflow, OnDrop: options.onDrop, SingleReceiver: true})
		}), nil
	}, false},
	// These keep events on disk or at servers. Who takes them does not want to lose any,
	// so a full one is waited for. A batch is one record, or message, but for spill,
	// which takes events one by one as long as they fit into memory.
	{"spill", nativePolicies[:1], newSpill, true},
	{"durable", nativePolicies[:1], newDurable, true},
	{"jetstream", nativePolicies[:1], newJetStream, true},
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
	inProcess
	channel channel
	batch   int
	dropped atomic.Int64
	failed  atomic.Pointer[error] // the first failure that is none for want of room
	log     *slog.Logger          // is told of it, in a kind that can fail
}

// settings are the options that the kinds share; each has a single receiver.
type settings struct {
	name     string
	overflow sluice.Overflow
	onDrop   func(parse.Event)
}

// newOwn returns a queue over the channel that make returns.
func newOwn(o Options, make func(settings) channel) *own {
	q := &own{batch: o.Batch}
	options := settings{name: o.Name, overflow: o.Overflow}
	if o.Overflow == sluice.DropNewest || o.Overflow == sluice.DropOldest {
		options.onDrop = func(e parse.Event) {
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
		return single{q}
	}
	return &batched{q: q, kept: make([]parse.Event, 0, q.batch)}
}

// All takes as many events as there are, also when they were sent one by one: that waits
// for nothing, and a hand-over is paid for by all of them.
func (q *own) All() iter.Seq[[]parse.Event] {
	return func(yield func([]parse.Event) bool) {
		buf := make([]parse.Event, received)
		for {
			n, err := q.channel.RecvBatch(context.Background(), buf)
			if err != nil || !yield(buf[:n]) {
				q.note(err)
				return // closed and drained, failed, or the loop was left
			}
		}
	}
}

func (q *own) Close()         { q.channel.Close() }
func (q *own) Dropped() int64 { return q.dropped.Load() }
func (q *own) Len() int       { return q.channel.Len() }

// note keeps a failure. A channel in memory has none.
func (q *own) note(err error) {
	if err != nil && !errors.Is(err, sluice.ErrFull) && !errors.Is(err, sluice.ErrClosed) {
		if q.failed.CompareAndSwap(nil, &err) {
			q.log.Error("the channel fails", "error", err)
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
		return events([]parse.Event{e}) // full, and the policy is Reject; or a disk fails
	}
	return 0
}

func (s single) Flush() int { return 0 }

// batched keeps events until there is a batch of them.
type batched struct {
	q    *own
	kept []parse.Event
}

func (b *batched) Send(e parse.Event) int {
	b.kept = append(b.kept, e)
	if len(b.kept) < cap(b.kept) {
		return 0
	}
	return b.Flush()
}

func (b *batched) Flush() int {
	sent, err := b.q.channel.SendBatch(context.Background(), b.kept)
	b.q.note(err)
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
