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
	New              string  `arg:"" name:"new" help:"The same of the run to compare with it."`
	FailOnRegression bool    `help:"Exit with status 1 if any point is worse beyond noise by more than the threshold."`
	Threshold        percent `default:"5" placeholder:"PERCENT" help:"How much worse, in per cent of OLD, a regression is at least. Default: ${default}."`
	Alpha            float64 `default:"0.05" placeholder:"LEVEL" help:"Level of significance, from 0 to 1: of each point, and of all together where they decide the exit status. Default: ${default}."`
	JSON             bool    `name:"json" help:"Write JSON instead of tables."`
}

// percent is a number of per cent, with or without its sign.
type percent float64

func (p *percent) UnmarshalText(text []byte) error {
	v, err := strconv.ParseFloat(strings.TrimSpace(strings.TrimSuffix(string(text), "%")), 64)
	if err != nil {
		return fmt.Errorf("%q is no number of per cent", text)
	}
	*p = percent(v)
	return nil
}

// Errors of a comparison that was made, and printed.
var errRegression = errors.New("NEW is worse than OLD")

// Run compares and prints.
func (c *compareCommand) Run(to streams) error {
	result, err := compare.Files(c.Old, c.New, compare.Options{Alpha: c.Alpha, Threshold: float64(c.Threshold) / 100})
	if err != nil {
		return inputError{err}
	}
	// A gate that can never close is worse than none.
	if c.FailOnRegression && result.Decision.AtOnce == 0 {
		return inputError{fmt.Errorf("-fail-on-regression can never fail at -alpha %v: no point has enough repetitions; measure with a larger -count", c.Alpha)}
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

// Help is shown below the flags.
func (compareCommand) Help() string {
	return strings.TrimSpace(`
Examples:
  sluice compare before after                      what differs between two runs, and is it noise?
  sluice compare before after -fail-on-regression  status 1 if a point is worse by more than 5%
  sluice compare before after -threshold 10 -json  with another limit, for a program

A point is judged as benchstat judges it; benchstat -table pkg,experiment shows
the same. Regressions are decided over all points together, by the procedure of
Benjamini and Hochberg: otherwise one point in twenty would be a false alarm.

OLD and NEW are two runs, and the machine differs between runs too. Run both in
turns, join the results of each (cat a1/results.txt a2/results.txt), and compare
those.
`)
}
