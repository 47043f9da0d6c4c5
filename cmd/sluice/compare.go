package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/sluice-go/sluice/cmd/sluice/internal/compare"
)

type compareCommand struct {
	Old              string  `arg:"" name:"old" help:"Directory of a lab run, or a file in Go's benchmark format."`
	New              string  `arg:"" name:"new" help:"The same, for the run to compare with OLD."`
	FailOnRegression bool    `help:"Exit with status 1 if any point is worse beyond noise by more than the threshold."`
	Threshold        percent `default:"5" placeholder:"PERCENT" help:"Smallest change of a regression, in percent of OLD. Default: ${default}."`
	Alpha            float64 `default:"0.05" placeholder:"LEVEL" help:"Significance level between 0 and 1, for each point, and for all points together in the exit status. Default: ${default}."`
	JSON             bool    `name:"json" help:"Write JSON instead of tables."`
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

// errRegression ends a completed comparison.
var errRegression = errors.New("NEW is worse than OLD")

// Run compares and prints.
func (c *compareCommand) Run(to streams) error {
	result, err := compare.Files(c.Old, c.New, compare.Options{Alpha: c.Alpha, Threshold: float64(c.Threshold) / 100})
	if err != nil {
		return inputError{err}
	}
	// A check that can never fail is worse than no check.
	if c.FailOnRegression && result.Decision.AtOnce == 0 {
		return inputError{fmt.Errorf("-fail-on-regression can never fail with -alpha %v: no point has enough repetitions (measure with a larger -count)", c.Alpha)}
	}
	write := result.WriteText
	if c.JSON {
		write = result.WriteJSON
	}
	if err := write(to.stdout); err != nil {
		return err
	}
	if n := result.Decision.Regressions; c.FailOnRegression && n > 0 {
		return fmt.Errorf("%w in %d of %d points", errRegression, n, len(result.Points))
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

Points are tested as by benchstat; benchstat -table pkg,experiment shows the same.
Regressions are decided over all points together, by the procedure of Benjamini
and Hochberg: otherwise one point in twenty would be a false alarm.

OLD and NEW are two runs, and the machine changes between runs, too. Run both in
turns, join the results of each (cat a1/results.txt a2/results.txt), and compare
the joined files.
`)
}
