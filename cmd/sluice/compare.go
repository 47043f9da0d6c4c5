package main

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/sluice-go/sluice/cmd/sluice/internal/compare"
)

type compareCommand struct {
	Old              string    `arg:"" name:"old" help:"Directory of a lab run; or a file with the output of go test -bench, as a log has it; or - for standard input."`
	New              string    `arg:"" name:"new" help:"The same, for the run to compare with OLD."`
	FailOnRegression bool      `help:"Exit with status 1 if any point is worse beyond noise by more than the threshold, and with status 3 if the noise may hide it."`
	Threshold        percent   `default:"5" placeholder:"PERCENT" help:"Smallest change of a regression, in percent of OLD. Default: ${default}."`
	Alpha            float64   `default:"0.05" placeholder:"LEVEL" help:"Significance level between 0 and 1, for each point, and for all points together in the exit status. Default: ${default}."`
	Procs            *twoProcs `placeholder:"OLD:NEW" help:"Compare the points of OLD at one GOMAXPROCS with those of NEW at another, such as 1:2. OLD and NEW may be the same run."`
	Gone             pattern   `placeholder:"REGEXP" help:"Benchmarks of OLD that are meant to be missing in NEW, because they were renamed or removed. Otherwise they leave the comparison undecided."`
	Verbose          bool      `short:"v" help:"Show all points, not only those that changed."`
	JSON             bool      `name:"json" help:"Write JSON instead of text."`
}

// twoProcs are the values of GOMAXPROCS to compare.
type twoProcs [2]int

func (p *twoProcs) UnmarshalText(text []byte) error {
	before, after, ok := strings.Cut(string(text), ":")
	for i, field := range []string{before, after} {
		n, err := strconv.Atoi(field)
		if !ok || err != nil || n < 1 || n > maxProcs {
			return fmt.Errorf("invalid -procs %s (want two values of GOMAXPROCS, such as 1:2)", text)
		}
		p[i] = n
	}
	if p[0] == p[1] {
		return fmt.Errorf("invalid -procs %s: both are the same (want two values of GOMAXPROCS, such as 1:2)", text)
	}
	return nil
}

// pattern is a regular expression, or nil.
type pattern struct{ *regexp.Regexp }

func (p *pattern) UnmarshalText(text []byte) (err error) {
	p.Regexp, err = regexp.Compile(string(text))
	return err
}

// percent is a percentage, with or without a percent sign.
type percent float64

func (p *percent) UnmarshalText(text []byte) error {
	v, err := strconv.ParseFloat(strings.TrimSpace(strings.TrimSuffix(string(text), "%")), 64)
	if err != nil {
		return fmt.Errorf("invalid percentage %q", text)
	}
	*p = percent(v)
	return nil
}

// errRegression, errBroken and errUndecided end a completed comparison.
var (
	errBroken     = errors.New("failed in NEW")
	errRegression = errors.New("NEW is worse than OLD")
	errUndecided  = failure{errors.New("undecided"), statusUndecided, false}
)

// Run compares and prints.
func (c *compareCommand) Run(to streams) error {
	result, err := compare.Files(c.Old, c.New, compare.Options{
		Alpha: c.Alpha, Threshold: float64(c.Threshold) / 100, Procs: (*[2]int)(c.Procs), Gone: c.Gone.Regexp,
	})
	if err != nil {
		return unusable(err)
	}
	if err := to.write(result, c.JSON, c.Verbose); err != nil || !c.FailOnRegression {
		return err
	}
	// A check that can never fail is worse than no check, so undecided is no success.
	switch d := result.Decision; d.Outcome {
	case compare.Failed:
		if d.Reason == compare.Broken {
			return fmt.Errorf("%w: %s", errBroken, strings.Join(result.New.Failures, "; "))
		}
		return fmt.Errorf("%w in %d of %d points", errRegression, d.Regressions, d.Tested)
	case compare.Undecided:
		return fmt.Errorf("%w: %s", errUndecided, d.Reason)
	}
	return nil
}

// Help returns the text below the flags.
func (compareCommand) Help() string {
	return strings.TrimSpace(`
Examples:
  sluice compare before after                      the differences between two runs, and whether they are noise
  sluice compare before after -fail-on-regression  status 1 if a point is worse by more than 5%
  sluice compare before after -threshold 10 -json  another threshold, as JSON
  sluice compare run run -procs 1:2                one run, at GOMAXPROCS 2 against 1

A file may be the output of go test -bench or go test -json, also as CI systems
store it: with prefixes such as timestamps or [pkg], colors, CRLF, or gzip, and with
the output of the program between the name of a benchmark and its result.

Exit status, with -fail-on-regression: 0 for no regression; 1 for a regression,
or if a benchmark or package of NEW failed or panicked; 3 if the comparison is
undecided: benchmarks of OLD that are not in NEW or only in another unit (unless
-gone matches their names; µs/op is converted), too few repetitions, a point that
looks more than twice as slow but may be noise, or a machine so disturbed that a
slowdown by 3 times could hide. Without -fail-on-regression, 0 in all these cases.
2 if the command line or a file is invalid.

Each point has the medians of OLD and NEW as benchstat shows them, their ratio, and
the interval of the ratio that the repetitions leave. "worse" and "better" also
stand out from the noise between the two runs, which is estimated from all points
together: with 4 repetitions of each point or more, runs of the same code have
regressions at most one time in twenty. "noise" does not stand out, "drift" not from
all the other points, and "~" is no difference. The machine changes between runs,
too: alternate OLD and NEW, join the results of each (cat a1.txt a2.txt), and
compare the joined files; smaller regressions stand out.
`)
}
