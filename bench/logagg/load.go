package main

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"time"

	"github.com/sluice-go/sluice/bench/command"
	"github.com/sluice-go/sluice/bench/logagg/traffic"
)

// load sends lines to a service.
func load(ctx context.Context, args []string, to streams) error {
	flags := flag.NewFlagSet("logagg load [flags]", flag.ContinueOnError)
	address := flags.String("tcp", "", "send to this `address`")
	lines := flags.Int("lines", 100_000, "number of `lines`, which are generated in memory")
	connections := flags.Int("connections", 64, "number of `connections`; each represents a host")
	seed := flags.Uint64("seed", 1, "seed of the generated lines, a `number`")
	repeat := flags.Int("repeat", 10, "send the lines this `number` of times")
	asked := flags.Bool("asked", false, "print ready, and begin after a line on the standard input: for measurements")
	if err := command.Parse(flags, args, to.stdout); err != nil {
		return err
	}
	switch {
	case flags.NArg() > 0:
		return command.Misused("unexpected argument %q", flags.Arg(0))
	case *address == "":
		return command.Misused("-tcp is required: the address of the service")
	case *lines < 1 || *connections < 1 || *connections > *lines:
		return command.Misused("-lines %d, -connections %d: want at least one line per connection", *lines, *connections)
	case *repeat < 1:
		return command.Misused("-repeat: %d is too small (want at least 1)", *repeat)
	}
	prepared := traffic.Load{Seed: *seed, Lines: *lines, Connections: *connections}.Prepare()
	if *asked {
		fmt.Fprintln(to.stdout, "ready")
		if _, err := bufio.NewReader(to.stdin).ReadString('\n'); err != nil {
			return err
		}
	}
	began := time.Now()
	truth, err := prepared.Send(ctx, *address, *repeat)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(to.stdout, "sent %d lines, of which %d are malformed, over %d connections in %.1f s\n",
		truth.Lines, truth.Malformed, *connections, time.Since(began).Seconds())
	return err
}
