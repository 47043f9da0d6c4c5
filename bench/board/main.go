// Command board measures channels, broadcasts, pools and semaphores of this library beside
// others, and writes the page that shows it.
//
//	go run ./bench/board                           everything, in some ten minutes
//	go run ./bench/board -quick                    a glance, in about a minute
//	go run ./bench/board -only '^queues/.*8->1'    some cells: section/row/column/GOMAXPROCS
//	go run ./bench/board -json figures.json        keeps the figures, beside those that are there
//	go run ./bench/board -rust                     with channels of Rust, if there is a cargo
//	go run ./bench/board -page                     bench/RESULTS.md and its charts, from bench/results
//
// # Method
//
// Each figure is measured in a process of its own, so nothing is left of the contender
// before: no goroutine that polls, no heap. A contender that does not end is killed, and
// its figure is a failure. The contenders of a column take turns, each second round in the
// opposite order; a figure of the page is a median of the rounds. The checks of package
// workload apply: a contender that loses or repeats a value has no figure.
//
// The columns:
//
//   - 1->1, 8->1, 1->8: nanoseconds per value at full speed, from so many senders to so
//     many receivers, at several values of GOMAXPROCS. Our kinds get a context that can end
//     in each call.
//   - CPU: the CPU time of the process per value, in microseconds, at 10,000 values per
//     second with GOMAXPROCS=2 (1,000 per second to ten subscribers in a broadcast), less what
//     the same arrivals cost without a contender. Loads of a tenth of a second with and
//     without it take turns; the figure is the median of their differences.
//   - p99: the delay that 99% of these values do not exceed, in microseconds, with
//     GOMAXPROCS=1, from the time at which the value was due: an open loop. It is the median
//     of ten loads.
//   - idle: the CPU time of the process in percent of a core, while goroutines wait for a
//     value that does not come.
//   - lost: values whose send has succeeded and that were not received, in most of a second
//     at full speed that Close ends. A contender whose senders must end first is closed
//     after them.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"os/exec"
	"os/signal"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/sluice-go/sluice/bench/command"
	"github.com/sluice-go/sluice/bench/results"
)

func main() {
	if key := os.Getenv(childCell); key != "" {
		os.Exit(child(key))
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(command.Status("board", run(ctx, os.Args[1:]), os.Stderr))
}

// Settings are what the flags choose.
type settings struct {
	only   *regexp.Regexp
	procs  []int
	rounds int           // of a column that is not slow
	fast   time.Duration // of a run
	slow   time.Duration // of a run of a slow column
}

func run(ctx context.Context, args []string) error {
	set := flag.NewFlagSet("board", flag.ContinueOnError)
	quick := set.Bool("quick", false, "fewer and shorter rounds, at GOMAXPROCS=2 only")
	only := set.String("only", "", "measure the cells that match the `regexp`: section/row/column/GOMAXPROCS")
	procs := command.Procs(set)
	rounds := set.Int("rounds", 6, "number of rounds; each figure is their median")
	path := set.String("json", "", "`file` that keeps the figures")
	page := set.Bool("page", false, "write "+pagePath+" from the files in "+figuresFolder+"; measure nothing")
	withRust := set.Bool("rust", false, "build bench/rust, and measure channels of Rust")
	if err := command.Parse(set, args, os.Stdout); err != nil {
		return err
	}
	if *page {
		return writePage()
	}
	s := settings{rounds: *rounds, fast: 40 * time.Millisecond, slow: 700 * time.Millisecond}
	var err error
	if s.only, err = regexp.Compile(*only); err != nil {
		return command.Misused("-only: %w", err)
	}
	s.procs = *procs
	if *quick {
		s.procs, s.rounds, s.fast, s.slow = []int{2}, 2, 10*time.Millisecond, 200*time.Millisecond
	}
	if set.NArg() > 0 {
		return command.Misused("unexpected argument %q", set.Arg(0))
	}
	if s.rounds < 1 {
		return command.Misused("invalid -rounds %d (want 1 or more)", s.rounds)
	}
	if *withRust {
		if err := buildRust(ctx); err != nil {
			return err
		}
	}
	f, err := load(*path)
	if err != nil {
		return err
	}
	return s.measure(ctx, f, *path)
}

// measure measures the cells, a column at a time, and saves each column.
func (s settings) measure(ctx context.Context, f *figures, path string) error {
	fmt.Fprintln(os.Stderr, results.Here())
	matched := false
	for _, section := range sections(s.procs) {
		for _, col := range section.columns {
			rows := section.choose(col, s.only)
			if len(rows) == 0 {
				continue
			}
			matched = true
			if err := s.column(ctx, f, section, col, rows); err != nil {
				return err
			}
			if err := f.save(path); err != nil {
				return err
			}
		}
	}
	if !matched {
		return command.Misused("no cell matches -only %s (want section/row/column/GOMAXPROCS, such as queues/.*/8->1/2)", s.only)
	}
	return nil
}

// column measures a column of the rows, round by round. A column that is interrupted is not kept.
func (s settings) column(ctx context.Context, f *figures, section section, col column, rows []row) error {
	rounds, d := s.rounds, s.fast
	if col.slow {
		rounds, d = (rounds+1)/2, s.slow
	}
	values, failures := make([][]float64, len(rows)), make([]error, len(rows))
	for round := range rounds {
		for i := range rows {
			if round%2 == 1 { // so that no row always follows the same one
				i = len(rows) - 1 - i
			}
			if failures[i] != nil {
				continue
			}
			v, err := inChild(ctx, cell{section.name, rows[i].name, col.name, col.procs}, d)
			if ctx.Err() != nil {
				return errors.New("interrupted")
			}
			values[i], failures[i] = append(values[i], v), err
		}
	}
	fmt.Fprintf(os.Stderr, "\n%s, %s, GOMAXPROCS=%d\n", section.name, col.name, col.procs)
	for i, r := range rows {
		f.put(cell{section.name, r.name, col.name, col.procs}, values[i], failures[i])
		if failures[i] != nil {
			fmt.Fprintf(os.Stderr, "  %-36s %v\n", r.name, failures[i])
		} else {
			fmt.Fprintf(os.Stderr, "  %-36s %.4g\n", r.name, results.Median(values[i]))
		}
	}
	return nil
}

// A child measures one cell, in a process with these environment variables.
const (
	childCell = "BOARD_CELL"
	childTime = "BOARD_TIME"
)

// patience is how much longer a child may take than it should.
var patience = 8 * time.Second

// inChild returns the figure of a run that takes about d.
func inChild(ctx context.Context, c cell, d time.Duration) (float64, error) {
	limit := patience + 4*d
	limited, stop := context.WithTimeout(ctx, limit)
	defer stop()
	self, err := os.Executable()
	if err != nil {
		return 0, err
	}
	command := exec.CommandContext(limited, self)
	command.Env = append(os.Environ(), childCell+"="+c.String(), childTime+"="+d.String())
	var wrong strings.Builder
	command.Stderr = &wrong
	out, err := command.Output()
	switch {
	case limited.Err() != nil:
		return 0, fmt.Errorf("does not end: killed after %v", limit)
	case err != nil:
		message, _, _ := strings.Cut(strings.TrimSpace(wrong.String()), "\n")
		return 0, errors.New(message)
	}
	return strconv.ParseFloat(strings.TrimSpace(string(out)), 64)
}

// child measures a cell, prints its figure, and returns the exit status.
func child(key string) int {
	v, err := measureHere(key)
	if err != nil || math.IsNaN(v) {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Println(v)
	return 0
}

func measureHere(key string) (float64, error) {
	c, err := parseCell(key)
	if err != nil {
		return 0, err
	}
	d, err := time.ParseDuration(os.Getenv(childTime))
	if err != nil {
		return 0, err
	}
	r, col, err := find(c)
	if err != nil {
		return 0, err
	}
	runtime.GOMAXPROCS(c.procs)
	return col.measure(r, d)
}
