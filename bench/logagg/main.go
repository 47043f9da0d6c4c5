// Logagg is a log aggregator: it reads access logs from files, the standard input and
// syslog connections, counts requests by service, status and minute, and ships the
// counts. It is a service as it would be run, and the place where sluice's channels are
// compared at one: its hot channel is chosen by a flag.
//
//	logagg                                        counts an embedded sample
//	logagg access.log other.log                   counts files, and writes the counts to the standard output
//	zcat access.log.*.gz | logagg -o counts.json -    counts the standard input, into a file
//	logagg -tcp :5514 -o http://counts.example/in     takes syslog, and ships to a server
//	logagg -tcp :5514 -debug localhost:6060           shows its profiles, its channels and its metrics
//	logagg -tcp :5514 -channel sharded -batch off     another hot channel, and one event at a time
//	logagg -tcp :5514 -channel durable -dir queue     loses nothing that it has stored, also when it is killed
//	logagg ship -tcp :5514 -nats nats://a,nats://b    takes syslog, and has it counted elsewhere:
//	logagg aggregate -nats nats://a,nats://b          there, in as many processes as are needed
//	logagg load -tcp localhost:5514                   sends it a million lines over 64 connections
//	logagg bench                                      compares the channels on this machine
//
// Lines are in the combined log format or JSON objects with the members time, status,
// service and bytes, either as they are or in syslog messages of RFC 5424 or RFC 3164,
// framed by line feeds or octet counts as in RFC 6587. A line that is none of these is
// counted as malformed, and kept by -aside.
//
// An interrupt ends the service gracefully: what clients have sent is read, counted and
// shipped, and the account of all lines is printed. A second one ends it on the spot.
//
// With the channel spill, what does not fit into memory is on disk; with durable all is,
// and a service that was killed goes on with it at its next start; with jetstream it is at
// NATS servers, or, without -nats, at one inside of the process, to try it out. What has
// left the process is acknowledged once its counts were shipped. So it is counted at least
// once, and the account says how much may have been counted twice.
//
// The exit status is 0 if all that was counted was shipped, 1 if something failed, and 2
// if the command line, or a file that it names, cannot be used.
//
// What may enter this package: flags, and the order in which the packages beside it are
// called.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, func() {
		stop() // the next signal does what it does by default
		fmt.Fprintln(os.Stderr, "logagg: ending; once more ends it on the spot")
	})
	os.Exit(run(ctx, os.Args[1:], streams{os.Stdin, os.Stdout, os.Stderr}))
}

// streams are those of the process.
type streams struct {
	stdin          io.Reader
	stdout, stderr io.Writer
}

// A command is what a first argument chooses.
type command func(ctx context.Context, args []string, to streams) error

var commands = map[string]command{"ship": ship, "aggregate": aggregate, "load": load, "bench": bench}

// run returns the exit status.
func run(ctx context.Context, args []string, to streams) int {
	chosen := command(serve)
	if len(args) > 0 && commands[args[0]] != nil {
		chosen, args = commands[args[0]], args[1:]
	}
	err := chosen(ctx, args, to)
	var misuse misuseError
	switch {
	case err == nil, errors.Is(err, flag.ErrHelp):
		return 0
	case errors.As(err, &misuse):
		fmt.Fprintln(to.stderr, "logagg:", firstLine(err))
		return 2
	}
	fmt.Fprintln(to.stderr, "logagg:", err)
	return 1
}

// A misuseError is an error of whoever wrote the command line.
type misuseError struct{ error }

func (e misuseError) Unwrap() error { return e.error }

func misused(format string, args ...any) error { return misuseError{fmt.Errorf(format, args...)} }

func firstLine(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return line
}

// parseFlags parses args. The usage is printed if it is asked for, and only then.
func parseFlags(flags *flag.FlagSet, args []string, to streams) error {
	flags.SetOutput(io.Discard)
	err := flags.Parse(args)
	if errors.Is(err, flag.ErrHelp) {
		flags.SetOutput(to.stdout)
		fmt.Fprintf(to.stdout, "Usage of %s:\n", flags.Name())
		flags.PrintDefaults()
		return err
	}
	if err != nil {
		return misuseError{err}
	}
	return nil
}
