// Command ratios measures the kinds of this library against the built-in chan
// and the published elastic channel, and prints the table of floors and goals
// with the measured ratios.
//
//	go run ./bench/cmd/ratios                                        the whole table
//	go run ./bench/cmd/ratios -rows '^Bounded 128' -procs 2 -rounds 4   one row, a few seconds
//	go run ./bench/cmd/ratios -peers -o bench/RESULTS.md             with the Go peers, as Markdown
//
// The name of a row includes its workload: -rows 'Elastic 8->1$' selects a
// single row.
//
// The contender and its reference take turns in one process, and the result is
// the median of the ratios of the rounds, so a machine that is slow for a while
// slows both. Each round also measures the cache line transfer between two
// cores, the property of a virtual machine that varies most. The command is not
// a test: it exits with 0 unless it could not measure. After an interrupt it
// prints what was measured so far. In the file that -o names, sections of other
// commands are kept.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/sluice-go/sluice/bench/results"
)

// settings are the command's flags.
type settings struct {
	rows    *regexp.Regexp
	procs   []int
	rounds  int
	run     time.Duration
	timeout time.Duration
	peers   bool
	out     string
}

func parse(args []string) (settings, error) {
	var (
		s     settings
		rows  string
		procs string
	)
	flags := flag.NewFlagSet("ratios", flag.ContinueOnError)
	flags.StringVar(&rows, "rows", "", "measure only rows whose name and workload match this `regexp`")
	flags.StringVar(&procs, "procs", "1,2,8", "comma-separated `list` of values for GOMAXPROCS")
	flags.IntVar(&s.rounds, "rounds", 6, "number of `rounds`; each figure is their median")
	flags.DurationVar(&s.run, "time", 40*time.Millisecond, "`duration` of one run")
	flags.DurationVar(&s.timeout, "timeout", 20*time.Second, "`duration` after which a run counts as hung")
	flags.BoolVar(&s.peers, "peers", false, "measure the Go peers too")
	flags.StringVar(&s.out, "o", "", "also write the table as Markdown to this `file`")
	if err := flags.Parse(args); err != nil {
		return s, err
	}
	if flags.NArg() > 0 {
		return s, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	var err error
	if s.rows, err = regexp.Compile(rows); err != nil {
		return s, fmt.Errorf("-rows: %w", err)
	}
	for field := range strings.SplitSeq(procs, ",") {
		p, err := strconv.Atoi(strings.TrimSpace(field))
		if err != nil || p < 1 {
			return s, fmt.Errorf("-procs: invalid number of processors %q (want 1, 2, …)", field)
		}
		s.procs = append(s.procs, p)
	}
	if s.rounds < 1 {
		return s, fmt.Errorf("-rounds: %d is too small (want at least 1)", s.rounds)
	}
	if s.run <= 0 || s.timeout <= 0 {
		return s, fmt.Errorf("-time %v, -timeout %v: both must be positive", s.run, s.timeout)
	}
	return s, nil
}

func main() {
	s, err := parse(os.Args[1:])
	if err == flag.ErrHelp {
		return
	}
	if err == nil {
		err = report(s)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "ratios:", err)
		os.Exit(1)
	}
}

func report(s settings) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	work, cancel := context.WithCancel(context.Background())
	defer cancel()

	rows := choose(table(work), s.rows)
	if len(rows) == 0 {
		return fmt.Errorf("-rows: no row matches %q", s.rows)
	}
	host := results.Here()
	began := time.Now()
	fmt.Println(host)
	fmt.Println(heading)
	lines := measureAll(ctx, s, rows, func(l line) { fmt.Println(l) })
	if ctx.Err() != nil {
		fmt.Printf("interrupted: measured %d of %d figures\n", len(lines), len(rows)*len(s.procs))
	}
	fmt.Println(summary(lines))
	if s.out == "" {
		return nil
	}
	var body strings.Builder
	writeMarkdown(&body, document{s, host, began, len(rows) * len(s.procs), lines})
	return results.WriteBody(s.out, body.String())
}
