package main

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"time"

	"github.com/sluice-go/sluice/bench/command"
	"github.com/sluice-go/sluice/bench/logagg/speed"
	"github.com/sluice-go/sluice/bench/results"
)

// The names of this command's sections in bench/logagg/README.md.
const (
	figuresSection = "logagg"
	outsideSection = "logagg outside"
	sharesSection  = "logagg shares"
)

// bench compares the channels and prints the table.
func bench(ctx context.Context, args []string, to streams) error {
	flags := flag.NewFlagSet("logagg bench [flags]", flag.ContinueOnError)
	s := speed.Settings{}
	lines := flags.Int("lines", 300_000, "number of `lines` to generate for one run")
	repeat := flags.Int("repeat", 10, "send the lines this number of `times`: a run must be long compared with its delays")
	flags.IntVar(&s.Connections, "connections", 64, "number of `connections` to send over")
	flags.IntVar(&s.Capacity, "capacity", 4096, "capacity of the hot channel in `events`; for sharded, of each lane")
	flags.IntVar(&s.Batch, "batch", defaultBatch, "batch size in `events`, for the batched variants")
	flags.IntVar(&s.Rounds, "rounds", 6, "number of `rounds`; each figure is their median")
	procs := command.Procs(flags)
	flags.BoolVar(&s.Outside, "outside", false, "compare the channels that keep events on disk or at servers instead of those in memory")
	shares := flags.Bool("shares", false, "show where the CPU time goes instead, from a CPU profile at the first value of -procs")
	out := flags.String("o", "", "also put the table into this Markdown `file`, replacing the command's previous table")
	if err := command.Parse(flags, args, to.stdout); err != nil {
		return err
	}
	switch {
	case flags.NArg() > 0:
		return command.Misused("unexpected argument %q", flags.Arg(0))
	case *lines < 1 || s.Connections < 1 || s.Connections > *lines:
		return command.Misused("-lines %d, -connections %d: want at least one line per connection", *lines, s.Connections)
	case *repeat < 1:
		return command.Misused("-repeat: %d is too small (want at least 1)", *repeat)
	case s.Batch < 2 || s.Batch > s.Capacity:
		return command.Misused("-batch: %d is out of range (want 2 to the capacity of %d)", s.Batch, s.Capacity)
	case s.Outside && *shares:
		return command.Misused("-outside and -shares cannot be combined")
	case s.Rounds < 1:
		return command.Misused("-rounds: %d is too small (want at least 1)", s.Rounds)
	}
	s.Host, s.Began = results.Here(), time.Now()
	s.Procs, s.Lines = *procs, *lines**repeat
	s.Prepare = func(ctx context.Context, address string) (func() error, error) {
		return prepare(ctx, "-tcp", address, "-lines", strconv.Itoa(*lines), "-repeat", strconv.Itoa(*repeat), "-connections", strconv.Itoa(s.Connections))
	}
	section, measure := figuresSection, s.Figures
	if s.Outside {
		section = outsideSection
	}
	if *shares {
		section, measure = sharesSection, s.Shares
	}
	if *out != "" {
		if err := results.PutFile(*out, section, ""); err != nil { // before the measurement rather than after it
			return command.Misused("-o: %w", err)
		}
	}
	table, err := measure(ctx, func(done, all int) { fmt.Fprintf(to.stderr, "logagg: %d of %d\n", done, all) })
	if err != nil {
		return err
	}
	if *out != "" {
		if err := results.PutFile(*out, section, table); err != nil {
			return command.Misused("%w", err)
		}
	}
	_, err = io.WriteString(to.stdout, table)
	return err
}

// prepare starts this program as a child process that sends the lines.
func prepare(ctx context.Context, flags ...string) (send func() error, err error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	child := exec.CommandContext(ctx, program, append([]string{"load", "-asked"}, flags...)...)
	child.Stderr = os.Stderr
	say, err := child.StdinPipe()
	if err != nil {
		return nil, err
	}
	hear, err := child.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := child.Start(); err != nil {
		return nil, err
	}
	if line, err := bufio.NewReader(hear).ReadString('\n'); err != nil {
		return nil, fmt.Errorf("the sender process printed %q instead of ready: %w, %w", line, err, child.Wait())
	}
	return func() error {
		if _, err := fmt.Fprintln(say); err != nil {
			return err
		}
		return child.Wait()
	}, nil
}
