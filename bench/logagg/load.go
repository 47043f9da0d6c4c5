package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"time"

	"github.com/sluice-go/sluice/bench/logagg/traffic"
)

// load sends lines to a service and reports the expected counts.
func load(ctx context.Context, args []string, to streams) error {
	flags := flag.NewFlagSet("logagg load [flags]", flag.ContinueOnError)
	address := flags.String("tcp", "", "send to this `address`")
	lines := flags.Int("lines", 1_000_000, "total number of `lines`")
	connections := flags.Int("connections", 64, "number of `connections`; each represents a host")
	seed := flags.Uint64("seed", 1, "seed of the generated lines, a `number`")
	truthFile := flags.String("truth", "", "write the expected counts into this new `file`, in the format of the service")
	repeat := flags.Int("repeat", 1, "send the lines this `number` of times; they are generated once and kept in memory, so that the sender does not limit the load")
	ahead := flags.Bool("ahead", false, "generate all lines in memory, print ready, and send them after a line on the standard input: for measurements")
	if err := parseFlags(flags, args, to); err != nil {
		return err
	}
	switch {
	case flags.NArg() > 0:
		return misused("unexpected argument %q", flags.Arg(0))
	case *address == "":
		return misused("-tcp is required: the address of the service")
	case *lines < 1 || *connections < 1 || *connections > *lines:
		return misused("-lines %d, -connections %d: want at least one line per connection", *lines, *connections)
	case *repeat < 1:
		return misused("-repeat: %d is too small (want at least 1)", *repeat)
	}
	l := traffic.Load{Seed: *seed, Lines: *lines, Connections: *connections}
	send := func() (*traffic.Truth, error) { return l.Send(ctx, *address) }
	if *ahead || *repeat > 1 {
		prepared := l.Prepare()
		send = func() (*traffic.Truth, error) { return prepared.Send(ctx, *address, *repeat) }
	}
	if *ahead {
		fmt.Fprintln(to.stdout, "ready")
		if _, err := bufio.NewReader(to.stdin).ReadString('\n'); err != nil {
			return err
		}
	}
	return withTruth(*truthFile, func() (*traffic.Truth, error) {
		began := time.Now()
		truth, err := send()
		if err == nil {
			fmt.Fprintf(to.stdout, "sent %d lines, of which %d are malformed, over %d connections in %.1f s\n",
				truth.Lines, truth.Malformed, *connections, time.Since(began).Seconds())
		}
		return truth, err
	})
}

// withTruth calls send and writes the expected counts into a new file, if path
// is set. It removes a file that it cannot complete.
func withTruth(path string, send func() (*traffic.Truth, error)) (err error) {
	if path == "" {
		_, err = send()
		return err
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o666)
	if err != nil {
		return misuseError{fmt.Errorf("-truth: %w", err)}
	}
	truth, err := send()
	if err == nil {
		_, err = file.Write(truth.Table.AppendJSON(nil))
	}
	if err = errors.Join(err, file.Close()); err != nil {
		err = errors.Join(err, os.Remove(path))
	}
	return err
}
