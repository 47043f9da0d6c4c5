package main

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/sluice-go/sluice/cmd/sluice/internal/lab"
	"github.com/sluice-go/sluice/cmd/sluice/internal/report"
)

type labCommand struct {
	Experiments []string `arg:"" optional:"" name:"experiment" help:"${experiments}; or list, to print what each of them is. Default: all."`
	Quick       bool     `xor:"size" help:"The smallest sweep, in a few seconds: to see that all works."`
	Published   bool     `xor:"size" help:"The sweep exactly as published, each figure from a second of work: minutes."`
	Procs       *string  `placeholder:"LIST" help:"Values of GOMAXPROCS to sweep, such as 1,2,8, in place of the study's."`
	Count       *int     `placeholder:"N" help:"Repetitions of each point. Default 9, or 6 with -quick and -published; fewer than 6 give no interval."`
	Out         string   `short:"o" default:"sluice-lab" placeholder:"DIR" help:"Directory for the report. Default: ${default}."`
	Resume      bool     `help:"Go on with the interrupted run that the directory holds; write its report anew if nothing is left to do."`
}

// maxProcs and maxCount are far above what makes sense: they catch a slip.
const (
	maxProcs = 4096
	maxCount = 1000
)

// list is the word that stands for no experiment.
const list = "list"

// Run measures and reports, or goes on with that.
func (c *labCommand) Run(ctx context.Context, to streams) error {
	if slices.Contains(c.Experiments, list) {
		if len(c.Experiments) > 1 || c.Resume || c.set() {
			return usageError{errors.New("lab list stands alone"), "lab"}
		}
		return listExperiments(to.stdout)
	}
	s, err := c.session(to)
	if err != nil {
		return err
	}
	release, err := report.Hold(c.Out)
	if err != nil {
		return inputError{err}
	}
	defer release()
	return s.run(ctx)
}

// set reports whether the plan is anything but the default.
func (c *labCommand) set() bool { return c.Quick || c.Published || c.Procs != nil || c.Count != nil }

func (c *labCommand) session(to streams) (*session, error) {
	if c.Resume {
		if len(c.Experiments) > 0 || c.set() {
			return nil, usageError{errors.New("-resume goes on with the experiments and settings of the interrupted run: give no others"), "lab"}
		}
		s, err := resumed(to, c.Out)
		if err != nil {
			return nil, inputError{err}
		}
		return s, nil
	}
	experiments, err := lab.Select(c.Experiments)
	if err != nil {
		return nil, usageError{err, "lab"}
	}
	scale, err := c.scale()
	if err != nil {
		return nil, usageError{err, "lab"}
	}
	if err := report.Prepare(c.Out); err != nil {
		return nil, inputError{err}
	}
	return newSession(to, experiments, scale, c.Out), nil
}

func (c *labCommand) scale() (lab.Scale, error) {
	var scale lab.Scale
	switch {
	case c.Quick:
		scale.Size = lab.Quick
	case c.Published:
		scale.Size = lab.AsPublished
	}
	if c.Count != nil {
		if *c.Count < 1 || *c.Count > maxCount {
			return scale, fmt.Errorf("-count is %d, not from 1 to %d", *c.Count, maxCount)
		}
		scale.Count = *c.Count
	}
	if c.Procs == nil {
		return scale, nil
	}
	if c.Published {
		return scale, errors.New("-published fixes GOMAXPROCS to the published values: leave out -procs")
	}
	procs, err := parseProcs(*c.Procs)
	scale.Procs = procs
	return scale, err
}

// parseProcs reads a list such as "1,2,8". It returns it in ascending order.
func parseProcs(list string) ([]int, error) {
	var procs []int
	for field := range strings.SplitSeq(list, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(field))
		if err != nil || n < 1 || n > maxProcs {
			return nil, fmt.Errorf("-procs %s: %q is no number of processors from 1 to %d; write for example -procs 1,2,%d",
				list, field, maxProcs, max(4, runtime.NumCPU()))
		}
		if !slices.Contains(procs, n) {
			procs = append(procs, n)
		}
	}
	slices.Sort(procs)
	return procs, nil
}

// Help is shown below the flags.
func (labCommand) Help() string {
	return strings.TrimSpace(`
Examples:
  sluice lab                           all experiments, in under three minutes
  sluice lab -quick                    the smallest sweep, in a few seconds
  sluice lab direct-send -procs 1,2,8  one experiment, with these GOMAXPROCS
  sluice lab elastic -published        the published sweep as it was published
  sluice lab -count 20 -o results      more repetitions, to another directory
  sluice lab -resume                   go on with an interrupted run
  sluice lab list                      the experiments, and how long they take

Each point is on disk as soon as it is measured, whatever ends the run. Ctrl-C
writes the report of what there is and says what is missing.


Channels behave otherwise on the machine that serves than on a notebook. In a
checkout, CGO_ENABLED=0 go build -o sluice ./cmd/sluice makes one static file:
copy it to the production host and run ./sluice lab cpu-scaling there.
`)
}
