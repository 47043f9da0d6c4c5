package main

import (
	"context"
	"flag"
	"log/slog"
	"strings"
	"time"

	"github.com/sluice-go/sluice/bench/logagg/queue"
)

// A role is which part of the service a process is.
type role struct {
	name          string // and arguments
	reads, counts bool
}

var (
	whole      = role{"logagg [flags] [file, or - for the standard input]...", true, true}
	shipper    = role{"logagg ship -nats address [flags] [file, or - for the standard input]...", true, false}
	aggregator = role{"logagg aggregate -nats address [flags]", false, true}
)

// isHalf says whether the other part is in another process.
func (r role) isHalf() bool { return !r.reads || !r.counts }

// queue returns what is said of the hot channel if nothing else is.
func (r role) queue(to streams) queue.Options {
	return queue.Options{
		Batch: defaultBatch, Capacity: defaultCapacity, Name: "lines", Drain: r.reads,
		Log: slog.New(slog.NewTextHandler(to.stderr, nil)),
	}
}

// ship is the half that reads, and aggregate the one that counts.
func ship(ctx context.Context, args []string, to streams) error {
	return servePart(ctx, shipper, args, to)
}

func aggregate(ctx context.Context, args []string, to streams) error {
	return servePart(ctx, aggregator, args, to)
}

// queueFlags are those of the hot channel. A half has no choice of the kind.
func (s *settings) queueFlags(flags *flag.FlagSet) {
	q := &s.queue
	flags.StringVar(&q.NATS, "nats", "", "the channel jetstream is in the NATS servers at these `addresses`, with commas between")
	flags.StringVar(&q.Stream, "stream", queue.DefaultStream, "`name` of the channel at the servers: who says the same shares it")
	flags.IntVar(&q.Replicas, "replicas", 3, "how many of the `servers` store each batch: 1, 3 or 5")
	flags.DurationVar(&q.AckWait, "ack-wait", 30*time.Second, "give what an aggregator that died had to another one after this `duration`")
	if s.role.isHalf() {
		s.channel, s.overflow = "jetstream", "block"
		return
	}
	flags.StringVar(&s.channel, "channel", "bounded", "the hot channel's `kind`: "+strings.Join(queue.Names(), ", "))
	flags.IntVar(&q.Capacity, "capacity", defaultCapacity, "`events` that the hot channel can queue; of a sharded one each lane; of spill and durable in memory; jetstream has a limit of its own")
	flags.StringVar(&s.overflow, "overflow", "block", "what a full channel does: block, reject, drop-newest or drop-oldest, as a `policy`")
	flags.StringVar(&q.Dir, "dir", "", "the `folder` of the channels spill and durable, instead of one that is removed at the end; what durable has not shipped is there at the next start")
	flags.Int64Var(&q.DiskBytes, "disk-bytes", 1<<30, "the most `bytes` that they have waiting on disk")
}
