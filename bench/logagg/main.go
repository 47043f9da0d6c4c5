// Logagg is a log aggregator: it reads access logs from files, the standard
// input and syslog connections, counts requests by service, status and minute,
// and ships the counts. It is built like a production service, and it is the
// end-to-end benchmark of sluice's channels: a flag selects its hot channel.
//
//	logagg access.log other.log                       counts files, and writes the counts to the standard output
//	zcat access.log.*.gz | logagg - >counts.json      counts the standard input, into a file
//	logagg -tcp :5514 -o http://counts.example/in     receives syslog, and ships to a server
//	logagg -tcp :5514 -debug localhost:6060           serves its profiles, channels and account
//	logagg -tcp :5514 -channel sharded -batch off     another hot channel, and one event at a time
//	logagg -tcp :5514 -channel durable -dir queue     keeps every stored line even if it is killed
//	logagg ship -tcp :5514 -nats nats://a,nats://b    receives syslog, to be counted elsewhere:
//	logagg aggregate -nats nats://a,nats://b          there, in any number of processes
//	logagg load -tcp localhost:5514                   sends a million lines over 64 connections
//	logagg bench                                      compares the channels on this machine
//
// Lines are in the combined log format, or JSON objects with the members time,
// status, service and bytes. They arrive bare or in syslog messages of RFC 5424
// or RFC 3164, framed by line feeds or octet counts as in RFC 6587. Any other
// line is counted as malformed.
//
// An interrupt ends the service gracefully: it reads what clients have sent,
// counts and ships it, and prints the account of all lines. A second interrupt
// ends it at once.
//
// The channel spill keeps on disk what does not fit in memory. durable keeps
// everything on disk, and a service that was killed continues with it at its
// next start. jetstream keeps it at NATS servers, or, without -nats, at a
// server inside the process, for trying it out. Events outside the process are
// acknowledged after their counts were shipped: they are counted at least once,
// and the account reports how many may have been counted twice.
//
// The exit status is 0 if everything counted was shipped, 1 after a failure,
// and 2 if the command line or a file that it names is unusable.
//
// This package contains flags and the order in which it calls the packages
// beside it.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/sluice-go/sluice/bench/command"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, func() {
		stop() // the next signal has its default effect
		fmt.Fprintln(os.Stderr, "logagg: ending; interrupt again to end at once")
	})
	os.Exit(run(ctx, os.Args[1:], streams{os.Stdin, os.Stdout, os.Stderr}))
}

// streams are the standard streams of the process.
type streams struct {
	stdin          io.Reader
	stdout, stderr io.Writer
}

// commands are selected by the first argument.
var commands = map[string]func(ctx context.Context, args []string, to streams) error{"ship": shipper.serve, "aggregate": aggregator.serve, "load": load, "bench": bench}

// run returns the exit status.
func run(ctx context.Context, args []string, to streams) int {
	chosen := whole.serve
	if len(args) > 0 && commands[args[0]] != nil {
		chosen, args = commands[args[0]], args[1:]
	}
	return command.Status("logagg", chosen(ctx, args, to), to.stderr)
}
