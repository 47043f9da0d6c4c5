package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"log/slog"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/sluice-go/sluice/bench/command"
	"github.com/sluice-go/sluice/bench/logagg/input"
	"github.com/sluice-go/sluice/bench/logagg/pipeline"
	"github.com/sluice-go/sluice/bench/logagg/queue"
	"github.com/sluice-go/sluice/bench/logagg/sink"
)

// defaultBatch and defaultCapacity are in events.
const (
	defaultBatch    = 64
	defaultCapacity = 4096
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

// settings are the flags of the service.
type settings struct {
	role     role
	files    []string
	tcp      string
	channel  string
	queue    queue.Options
	sink     string
	interval time.Duration
	rows     int
	limits   input.Limits
	grace    time.Duration
	debug    string
}

func parseSettings(part role, args []string, to streams) (settings, error) {
	s := settings{role: part, channel: "jetstream", queue: queue.Options{
		Batch: defaultBatch, Capacity: defaultCapacity, Drain: part.reads, Log: slog.New(slog.NewTextHandler(to.stderr, nil)),
	}}
	q := &s.queue
	flags := flag.NewFlagSet(part.name, flag.ContinueOnError)
	flags.DurationVar(&s.grace, "grace", 10*time.Second, "at the end, give the sink and servers this `duration` to take the rest")
	flags.StringVar(&s.debug, "debug", "", "serve /debug/pprof, /debug/sluice and /debug/account at this `address`, for trusted clients only")
	flags.StringVar(&q.NATS, "nats", "", "comma-separated `addresses` of the NATS servers for the channel jetstream")
	flags.IntVar(&q.Replicas, "replicas", 3, "number of `servers` that store each batch: 1, 3 or 5")
	flags.DurationVar(&q.AckWait, "ack-wait", 30*time.Second, "redeliver the batches of an aggregator that died after this `duration`")
	if !part.isHalf() {
		flags.StringVar(&s.channel, "channel", "bounded", "`kind` of the hot channel: "+strings.Join(queue.Names(), ", "))
		flags.IntVar(&q.Capacity, "capacity", defaultCapacity, "capacity of the hot channel in `events`; for sharded, of each lane; for spill and durable, in memory; jetstream has its own limit")
		flags.StringVar(&q.Dir, "dir", "", "`folder` for the files of spill and durable; without it, a temporary one. The next start continues with the events of durable that were not shipped")
	}
	if part.reads {
		flags.StringVar(&s.tcp, "tcp", "", "accept syslog connections at this `address`")
		flags.IntVar(&s.limits.Connections, "connections", 1024, "maximum number of concurrent `connections`")
		flags.DurationVar(&s.limits.Drain, "drain", 250*time.Millisecond, "at the end, continue to read what clients have sent for this `duration`")
		flags.Func("batch", "number of events that readers send at once: `on, off` or a number (default on, 64)", s.setBatch)
	}
	if part.counts {
		flags.StringVar(&s.sink, "o", "", "post counts to the server at this `address`, http://…, instead of writing them to the standard output")
		flags.DurationVar(&s.interval, "every", time.Second, "ship counts at this interval, a `duration`")
		flags.IntVar(&s.rows, "rows", 10_000, "also ship counts when there are this many `rows`")
	}
	if err := command.Parse(flags, args, to.stdout); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			fmt.Fprint(to.stdout, "Other commands (use -h after one): logagg ship and logagg aggregate run the service in two halves, logagg load sends lines to a service, logagg bench compares the channels.\n")
		}
		return s, err
	}
	s.files = flags.Args()
	return s, s.check()
}

func (s *settings) setBatch(value string) (err error) {
	switch value {
	case "on":
		s.queue.Batch = defaultBatch
	case "off":
		s.queue.Batch = 1
	default:
		if s.queue.Batch, err = strconv.Atoi(value); err != nil {
			return errors.New("want on, off or a number")
		}
	}
	return nil
}

// check rejects invalid settings before anything is opened.
func (s *settings) check() error {
	reads, counts := s.role.reads, s.role.counts
	switch {
	case !reads && len(s.files) > 0:
		return command.Misused("unexpected argument %q: an aggregator reads no files", s.files[0])
	case reads && len(s.files) == 0 && s.tcp == "":
		return command.Misused("no input: name a file, - for the standard input, or use -tcp (-h has all flags)")
	}
	for _, flag := range []struct {
		name string
		ok   bool
		want string
	}{
		{"every", !counts || s.interval > 0, "above 0"},
		{"rows", !counts || s.rows > 0 && s.rows <= 1e6, "from 1 to 1000000"},
		{"connections", !reads || s.limits.Connections > 0, "above 0"},
		{"drain", s.limits.Drain >= 0, "0 or above"},
		{"grace", s.grace >= 0, "0 or above"},
		{"nats", s.queue.NATS != "" || !s.role.isHalf(), "set to the servers that connect the two halves"},
		{"nats", s.queue.NATS == "" || s.channel == "jetstream", "omitted, or the channel jetstream"},
		{"dir", s.queue.Dir == "" || s.channel == "spill" || s.channel == "durable", "omitted, or the channel spill or durable"},
	} {
		if !flag.ok {
			return command.Misused("-%s must be %s", flag.name, flag.want)
		}
	}
	if err := queue.Check(s.channel, s.queue); err != nil {
		return command.Misused("%w", err)
	}
	return nil
}

// listen listens at the address of a flag; the listener is nil for an empty one.
func listen(flag, address string) (net.Listener, error) {
	if address == "" {
		return nil, nil
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, command.Misused("-%s: %w", flag, err)
	}
	return l, nil
}

// sources opens all inputs.
func (s *settings) sources(to streams, syslog net.Listener) ([]input.Source, error) {
	if !s.role.reads {
		return []input.Source{pipeline.Until}, nil
	}
	var sources []input.Source
	for _, name := range s.files {
		source, err := input.Stream(to.stdin), error(nil)
		if name != "-" {
			source, err = input.File(name)
		}
		if err != nil {
			return nil, command.Misused("%w", err)
		}
		sources = append(sources, source)
	}
	if syslog != nil {
		sources = append(sources, input.TCP(syslog, s.limits))
	}
	return sources, nil
}

// serve runs the service or a half of it. The standard output has the counts, and
// the standard error has the account of all lines at the end.
func (part role) serve(ctx context.Context, args []string, to streams) error {
	s, err := parseSettings(part, args, to)
	if err != nil {
		return err
	}
	report := log.New(to.stderr, "logagg: ", 0)
	syslog, err := listen("tcp", s.tcp)
	if err != nil {
		return err
	}
	if syslog != nil {
		defer syslog.Close()
	}
	debug, err := listen("debug", s.debug)
	if err != nil {
		return err
	}
	if debug != nil {
		defer debug.Close()
	}
	sources, err := s.sources(to, syslog)
	if err != nil {
		return err
	}
	out, err := sink.Open(s.sink, to.stdout)
	if err != nil {
		return command.Misused("%w", err)
	}
	out.Retries = func(err error, wait time.Duration) {
		report.Printf("not shipped: %v; next try in %v", err, wait.Round(time.Millisecond))
	}
	out.Lost = func(err error, lines int64) { report.Printf("the counts of %d lines are lost: %v", lines, err) }
	// Files are created last, so that an earlier mistake leaves no folder of a queue.
	hot, err := queue.New(s.channel, s.queue)
	if err != nil {
		return command.Misused("%w", err)
	}
	config := pipeline.Config{Sources: sources, Queue: hot, Interval: s.interval, Rows: s.rows, Grace: s.grace}
	if part.counts {
		config.Sink = out
	}
	p := pipeline.New(config)
	if syslog != nil {
		report.Printf("accepting syslog at %s", syslog.Addr())
	}
	if debug != nil {
		defer serveDebug(debug, p, report)()
	}
	err = p.Run(ctx)
	fmt.Fprintf(to.stderr, "%v\n", p.Ledger())
	return errors.Join(err, p.Ledger().Balanced())
}
