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

// load sends lines to a service, and says what it must have counted.
func load(ctx context.Context, args []string, to streams) error {
	flags := flag.NewFlagSet("logagg load [flags]", flag.ContinueOnError)
	address := flags.String("tcp", "", "send to this `address`")
	lines := flags.Int("lines", 1_000_000, "how many `lines` in all")
	connections := flags.Int("connections", 64, "over how many `connections`, each of which is a host")
	seed := flags.Uint64("seed", 1, "which lines: a `number`")
	truthFile := flags.String("truth", "", "write the counts that they lead to into this new `file`, in the form of the service's")
	repeat := flags.Int("repeat", 1, "send the lines this `number` of times: the first time they are made and kept in memory, so that the sender is not what bounds the load")
	ahead := flags.Bool("ahead", false, "make all lines in memory, say ready, and send them once a line comes from the standard input: for measurements")
	if err := parseFlags(flags, args, to); err != nil {
		return err
	}
	switch {
	case flags.NArg() > 0:
		return misused("%q is too much", flags.Arg(0))
	case *address == "":
		return misused("-tcp is missing: where should the lines go?")
	case *lines < 1 || *connections < 1 || *connections > *lines:
		return misused("-lines is %d and -connections %d: both must be above 0, and no connection without a line", *lines, *connections)
	case *repeat < 1:
		return misused("-repeat is %d, below 1", *repeat)
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

// withTruth has lines sent, and writes their truth into a new file, if there is to be
// one. A file that it cannot complete it removes.
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
