// Command ratios measures the kinds of this library against the built-in chan
// and the published elastic channel, and prints the table of floors and goals
// with the measured ratios.
//
//	go run ./bench/cmd/ratios                                        the whole table
//	go run ./bench/cmd/ratios -rows '^Bounded 128' -procs 2 -rounds 4   one row, a few seconds
//	go run ./bench/cmd/ratios -peers -o bench/RESULTS.md             with the Go peers, as Markdown
//	go run ./bench/cmd/ratios -rows 'Bounded [248] |Rendezvous' -section 'Few slots' -o bench/RESULTS.md
//	                                                                 some rows, as a section of their own
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
	"strings"
	"time"

	"github.com/sluice-go/sluice/bench/results"
	"github.com/sluice-go/sluice/bench/rounds"
)

// settings are the command's flags.
type settings struct {
	rounds.Flags
	run     time.Duration
	timeout time.Duration
	peers   bool
	section string
}

func parse(args []string) (settings, error) {
	var s settings
	flags := flag.NewFlagSet("ratios", flag.ContinueOnError)
	s.Define(flags, "rows", "measure only rows whose name and workload match this `regexp`", 6,
		"also write the table as Markdown to this `file`")
	flags.DurationVar(&s.run, "time", 40*time.Millisecond, "`duration` of one run")
	flags.DurationVar(&s.timeout, "timeout", 20*time.Second, "`duration` after which a run counts as hung")
	flags.BoolVar(&s.peers, "peers", false, "measure the Go peers too")
	flags.StringVar(&s.section, "section", "", "with -o: write the rows as the section of that `title`, and keep the rest of the file")
	if err := s.Parse(args); err != nil {
		return s, err
	}
	if s.section != "" && s.Out == "" {
		return s, fmt.Errorf("-section requires -o")
	}
	if s.run <= 0 || s.timeout <= 0 {
		return s, fmt.Errorf("-time %v, -timeout %v: both must be positive", s.run, s.timeout)
	}
	return s, nil
}

func main() { rounds.Main(parse, report) }

func report(ctx context.Context, s settings) error {
	work, cancel := context.WithCancel(context.Background())
	defer cancel()

	rows := choose(table(work), s.Match)
	if len(rows) == 0 {
		return fmt.Errorf("-rows: no row matches %q", s.Match)
	}
	host := results.Here()
	began := time.Now()
	fmt.Println(host)
	fmt.Println(heading)
	lines := measureAll(ctx, s, rows, func(l line) { fmt.Println(l) })
	if ctx.Err() != nil {
		fmt.Printf("interrupted: measured %d of %d figures\n", len(lines), len(rows)*len(s.Procs))
	}
	fmt.Println(summary(lines))
	if s.Out == "" {
		return nil
	}
	var body strings.Builder
	d := document{s, host, began, len(rows) * len(s.Procs), lines}
	if s.section != "" {
		writeSection(&body, d)
		return results.PutFile(s.Out, "ratios "+s.section, body.String())
	}
	writeMarkdown(&body, d)
	return results.WriteBody(s.Out, body.String())
}
