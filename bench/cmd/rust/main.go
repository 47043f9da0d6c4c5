// Command rust prints channels of Rust beside the built-in channel and ours, on the one-way
// workloads of bench/cmd/ratios: nanoseconds per value, one value at a time.
//
//	go run ./bench/cmd/rust                        all rows, in about two minutes
//	go run ./bench/cmd/rust -rows '128|Elastic'    some rows
//
// It runs from the top of the repository, builds bench/rust with cargo, and downloads what
// bench/rust/Cargo.lock names. Without cargo it measures nothing, and ends without an error.
//
// kanal, crossbeam, crossfire and flume run between threads of the operating system, on all
// CPUs; "async" is the same between tasks, on as many threads of tokio as -procs says, which
// is also GOMAXPROCS. A goroutine is nearer to a task than to a thread: where each value
// wakes another thread, a thread takes microseconds. The Go side and the Rust side take turns,
// and each figure is the median of the rounds. After an interrupt the rows measured so far are
// printed already.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os/exec"
	"regexp"
	"runtime"
	"time"

	"github.com/sluice-go/sluice/bench/results"
	"github.com/sluice-go/sluice/bench/rounds"
)

// settings are the command's flags.
type settings struct {
	rows   *regexp.Regexp
	procs  int
	rounds int
	run    time.Duration
}

func parse(args []string) (settings, error) {
	var s settings
	var match string
	flags := flag.NewFlagSet("rust", flag.ContinueOnError)
	flags.StringVar(&match, "rows", "", "measure only rows whose name matches this `regexp`")
	flags.IntVar(&s.procs, "procs", 2, "`number` of processors for Go, and of threads for tokio")
	flags.IntVar(&s.rounds, "rounds", 3, "number of `rounds`; each figure is their median")
	flags.DurationVar(&s.run, "time", 40*time.Millisecond, "`duration` of one run")
	if err := flags.Parse(args); err != nil {
		return s, err
	}
	if flags.NArg() > 0 {
		return s, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	var err error
	if s.rows, err = regexp.Compile(match); err != nil {
		return s, fmt.Errorf("-rows: %w", err)
	}
	if s.procs < 1 || s.rounds < 1 || s.run < time.Millisecond {
		return s, errors.New("-procs and -rounds want at least 1, -time at least 1ms")
	}
	return s, nil
}

func main() { rounds.Main(parse, report) }

func report(ctx context.Context, s settings) error {
	cargo, err := exec.LookPath("cargo")
	if err != nil {
		fmt.Println("cargo is not installed, so there is nothing to compare with: nothing was measured")
		return nil
	}
	rows := choose(s.rows)
	if len(rows) == 0 {
		return fmt.Errorf("-rows: no row matches %q", s.rows)
	}
	program, err := build(ctx, cargo)
	if err != nil {
		return err
	}
	runtime.GOMAXPROCS(s.procs)
	fmt.Printf("%s\nnanoseconds per value, medians of %d rounds of %v, GOMAXPROCS=%d\n\n%s\n",
		results.Here(), s.rounds, s.run, s.procs, heading())
	for i, r := range rows {
		figures, err := measure(ctx, s, r, program)
		if ctx.Err() != nil {
			fmt.Printf("interrupted: measured %d of %d rows\n", i, len(rows))
			return nil
		}
		if err != nil {
			return fmt.Errorf("%s: %w", r.name, err)
		}
		fmt.Println(line(r, figures))
	}
	return nil
}
