// Command paced measures what a channel costs a service that is not busy: CPU time per
// value, delays and context switches at a given rate of arrivals. Package bench/paced
// describes the method.
//
//	go run ./bench/cmd/paced -rate 8k -senders 8 -kinds 'Bounded 128$' -rounds 6
//	go run ./bench/cmd/paced -rate 10k -senders 8 -group 64          in bursts of 64
//	go run ./bench/cmd/paced -rate 10k -senders 8 -job 1us
//	go run ./bench/cmd/paced -table rates -o bench/RESULTS.md        a section of the results
//	go run ./bench/cmd/paced -table grid -rounds 2 -time 50ms        all rates, ends, bursts and jobs, two at a time
//	go run ./bench/cmd/paced -table whole-grid -rounds 2 -time 50ms  each with each, in three times as long
//	go run ./bench/cmd/paced -table ping-pong                        one value at a time, without a rate
//
// All kinds take turns in one process and get the same arrivals. Each figure is the
// median of the rounds. The row "no channel" is the load without a channel: what
// arrivals, clock readings and jobs cost; "added" is what a row takes beyond it. The
// columns "due" are delays from the intended time, the other delays are from the call of
// Send; "switch" and "preempt" are voluntary and involuntary context switches per value. On
// the right are ratios to the built-in channel of the same capacity; for rows with ctx, to a
// select with ctx.Done. After an interrupt, a table keeps the loads that were measured in all
// rounds, and counts those that are missing.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/sluice-go/sluice/bench/paced"
	"github.com/sluice-go/sluice/bench/results"
	"github.com/sluice-go/sluice/bench/rounds"
)

// settings are the command's flags.
type settings struct {
	rounds.Flags
	rates   []float64
	load    paced.Load // without rate and values
	run     time.Duration
	timeout time.Duration
	table   string
}

func parse(args []string) (settings, error) {
	var (
		s     settings
		rates string
	)
	flags := flag.NewFlagSet("paced", flag.ContinueOnError)
	s.Define(flags, "kinds", "measure only kinds whose name matches this `regexp`, and their references", 6,
		"also write the section of -table to this `file`")
	flags.StringVar(&rates, "rate", "10k", "comma-separated `list` of values per second, such as 1k,1M")
	flags.IntVar(&s.load.Senders, "senders", 1, "`number` of sending goroutines")
	flags.IntVar(&s.load.Receivers, "receivers", 1, "`number` of receiving goroutines")
	flags.IntVar(&s.load.Group, "group", 0, "`number` of values that arrive at once; 0 means the smallest with at most 20,000 arrivals per second")
	flags.DurationVar(&s.load.Job, "job", 0, "CPU `time` that a receiver spends on each value")
	flags.BoolVar(&s.load.Sleep, "sleep", false, "senders sleep until the next arrival, instead of waiting in the network poller")
	flags.DurationVar(&s.run, "time", 150*time.Millisecond, "`duration` of one run; it is longer if that is less than 500 values")
	flags.DurationVar(&s.timeout, "timeout", 20*time.Second, "`duration` after which a run counts as hung")
	flags.StringVar(&s.table, "table", "", "measure a section of bench/RESULTS.md: `name` is rates, ends, jobs, grid, whole-grid or ping-pong; the flags of a load are ignored")
	if err := s.Parse(args); err != nil {
		return s, err
	}
	for field := range strings.SplitSeq(rates, ",") {
		rate, err := parseRate(strings.TrimSpace(field))
		if err != nil {
			return s, err
		}
		s.rates = append(s.rates, rate)
	}
	if s.run <= 0 || s.timeout <= 0 {
		return s, fmt.Errorf("-time %v, -timeout %v: both must be positive", s.run, s.timeout)
	}
	if s.Out != "" && s.table == "" {
		return s, fmt.Errorf("-o requires -table")
	}
	return s, nil
}

// parseRate reads "500", "8k" or "1.5M".
func parseRate(text string) (float64, error) {
	number, unit := text, 1.0
	if n, found := strings.CutSuffix(text, "k"); found {
		number, unit = n, 1e3
	} else if n, found := strings.CutSuffix(text, "M"); found {
		number, unit = n, 1e6
	}
	rate, err := strconv.ParseFloat(number, 64)
	if rate *= unit; err != nil || !(rate > 0 && rate <= 1e9) {
		return 0, fmt.Errorf("-rate: invalid rate %q (want values per second, such as 500, 8k or 1M)", text)
	}
	return rate, nil
}

// The least numbers of values of a run, on its own and as a part of a table.
const (
	leastValues  = 500
	leastOfTable = 200
)

// named reports whether -kinds matches the name of a kind.
func (s settings) named(k kind) bool { return s.Match.MatchString(k.Name) }

// at returns the load of the flags at the given rate.
func (s settings) at(rate float64) (paced.Load, error) {
	l := s.load
	l.Rate = rate
	return s.lasting(l, leastValues)
}

// lasting returns a load with as many values as arrive in a run, and at least so many, and a
// burst for each sender.
func (s settings) lasting(l paced.Load, least int) (paced.Load, error) {
	l.Values = max(least, int(l.Rate*s.run.Seconds()), l.Senders*l.Group)
	return l.Settled()
}

func main() { rounds.Main(parse, report) }

func report(ctx context.Context, s settings) error {
	work, cancel := context.WithCancel(context.Background())
	defer cancel()
	host := results.Here()
	fmt.Println(host)
	switch s.table {
	case "":
		return reportRates(ctx, s, work)
	case pingPongTable:
		return reportPingPong(ctx, s, work, host)
	}
	return reportTable(ctx, s, work, host)
}

// errInterrupted ends a measurement that is not complete.
var errInterrupted = errors.New("interrupted")

// reportRates measures the load of the flags.
func reportRates(ctx context.Context, s settings, work context.Context) error {
	chosen := choose(kinds(work), s.named)
	if len(chosen) == 0 {
		return fmt.Errorf("-kinds: no kind matches %q", s.Match)
	}
	for _, rate := range s.rates {
		l, err := s.at(rate)
		if err != nil {
			return err
		}
		for _, procs := range s.Procs {
			c := measure(ctx, s, l, procs, chosen)
			c.show(os.Stdout)
			if ctx.Err() != nil {
				return errInterrupted
			}
		}
	}
	return nil
}

// reportTable measures a section of bench/RESULTS.md.
func reportTable(ctx context.Context, s settings, work context.Context, host results.Host) error {
	t, err := tableNamed(s.table)
	if err != nil {
		return err
	}
	began := time.Now()
	var cells []cell
	progress := eta{began: began, whole: len(s.Procs) * len(t.loads)}
	for _, procs := range s.Procs {
		for _, l := range t.loads {
			load, err := s.lasting(l.load, leastOfTable)
			if err != nil {
				return err
			}
			c := measure(ctx, s, load, procs, choose(kinds(work), l.kinds))
			c.show(os.Stdout)
			cells = append(cells, c)
			if ctx.Err() != nil {
				return s.keep(t, host, began, cells, progress.whole)
			}
			progress.done++
			fmt.Fprintln(os.Stderr, &progress)
		}
	}
	return s.keep(t, host, began, cells, progress.whole)
}

// keep writes the section of a table with its complete cells. The whole table has the given
// number of cells.
func (s settings) keep(t table, host results.Host, began time.Time, cells []cell, whole int) error {
	cells = complete(cells, s.Rounds)
	if len(cells) == 0 {
		return errInterrupted
	}
	t.missing = whole - len(cells)
	text := t.markdown
	if t.grid {
		text = t.gridMarkdown
	}
	if err := s.write(t.name, text(s, host, began, cells)); err != nil {
		return err
	}
	if t.missing > 0 {
		return fmt.Errorf("%w: %d of %d loads were measured", errInterrupted, len(cells), whole)
	}
	return nil
}

// reportPingPong measures the section of one value at a time.
func reportPingPong(ctx context.Context, s settings, work context.Context, host results.Host) error {
	began := time.Now()
	var scores []score
	for _, procs := range s.Procs {
		for _, d := range duels(work) {
			if !s.Match.MatchString(d.name) {
				continue
			}
			r := d.play(ctx, s, procs)
			if ctx.Err() != nil {
				return errInterrupted
			}
			r.show(os.Stdout)
			scores = append(scores, r)
		}
	}
	if len(scores) == 0 {
		return fmt.Errorf("-kinds: no row matches %q", s.Match)
	}
	return s.write(pingPongTable, pingPongMarkdown(s, host, began, scores))
}

// write puts the section of a table into the file of -o, if there is one.
func (s settings) write(table, text string) error {
	if s.Out == "" {
		return nil
	}
	return results.PutFile(s.Out, sectionOf(table), text)
}
