package main

import (
	"context"
	"flag"
	"log/slog"
	"strings"
	"time"

	"github.com/sluice-go/sluice/bench/logagg/queue"
)

// A role is the part of the service that a process runs.
type role struct {
	name          string // and its arguments
	reads, counts bool
}

var (
	whole      = role{"logagg [flags] [file, or - for the standard input]...", true, true}
	shipper    = role{"logagg ship -nats address [flags] [file, or - for the standard input]...", true, false}
	aggregator = role{"logagg aggregate -nats address [flags]", false, true}
)

// isHalf reports whether the other part runs in another process.
func (r role) isHalf() bool { return !r.reads || !r.counts }

// queue returns the default options of the hot channel.
func (r role) queue(to streams) queue.Options {
	return queue.Options{
		Batch: defaultBatch, Capacity: defaultCapacity, Name: "lines", Drain: r.reads,
		Log: slog.New(slog.NewTextHandler(to.stderr, nil)),
	}
}

// ship runs the half that reads, aggregate the half that counts.
func ship(ctx context.Context, args []string, to streams) error {
	return servePart(ctx, shipper, args, to)
}

func aggregate(ctx context.Context, args []string, to streams) error {
	return servePart(ctx, aggregator, args, to)
}

// queueFlags defines the flags of the hot channel. A half cannot choose the
// kind.
func (s *settings) queueFlags(flags *flag.FlagSet) {
	q := &s.queue
	flags.StringVar(&q.NATS, "nats", "", "comma-separated `addresses` of the NATS servers for the channel jetstream")
	flags.StringVar(&q.Stream, "stream", queue.DefaultStream, "`name` of the channel at the servers; processes with the same name share it")
	flags.IntVar(&q.Replicas, "replicas", 3, "number of `servers` that store each batch: 1, 3 or 5")
	flags.DurationVar(&q.AckWait, "ack-wait", 30*time.Second, "redeliver the batches of an aggregator that died after this `duration`")
	if s.role.isHalf() {
		s.channel = "jetstream"
		return
	}
	flags.StringVar(&s.channel, "channel", "bounded", "`kind` of the hot channel: "+strings.Join(queue.Names(), ", "))
	flags.IntVar(&q.Capacity, "capacity", defaultCapacity, "capacity of the hot channel in `events`; for sharded, of each lane; for spill and durable, in memory; jetstream has its own limit")
	flags.StringVar(&q.Dir, "dir", "", "`folder` for the files of spill and durable; without it, a temporary one. The next start continues with the events of durable that were not shipped")
	flags.Int64Var(&q.DiskBytes, "disk-bytes", 1<<30, "maximum number of `bytes` that they queue on disk")
}
