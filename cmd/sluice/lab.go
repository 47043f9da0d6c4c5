package main

import (
	"cmp"
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
	Experiments []string `arg:"" optional:"" name:"experiment" help:"${experiments}; or list, to describe them. Default: all."`
	Quick       bool     `xor:"size" help:"The smallest sweep, in less than a minute."`
	Published   bool     `xor:"size" help:"The sweep exactly as published, with a second of work per figure. Takes minutes."`
	Procs       procs    `placeholder:"LIST" help:"Values of GOMAXPROCS to sweep, such as 1,2,8, instead of the study's."`
	Count       *int     `placeholder:"N" help:"Repetitions of each point. Default 9, or 6 with -published; fewer than 6 have no interval."`
	Out         string   `short:"o" placeholder:"DIR" help:"Directory for the report. If DIR has an earlier run, DIR-2, DIR-3 and so on: no run is overwritten. Default: sluice-lab."`
	Resume      bool     `help:"Resume the interrupted run in the directory of -o, or the newest one in sluice-lab, sluice-lab-2 and so on. Rewrites the report of a complete run."`
	Verbose     bool     `short:"v" help:"Print all tables and findings, and a line for each point, not one screen."`
}

// usualOut is the directory of a report without -o.
const usualOut = "sluice-lab"

// maxProcs and maxCount reject typos: they are far above useful values.
const (
	maxProcs = 4096
	maxCount = 1000
)

// list is the argument that lists the experiments.
const list = "list"

// Run measures and reports, or resumes an interrupted run.
func (c *labCommand) Run(ctx context.Context, to streams) error {
	if slices.Contains(c.Experiments, list) {
		if len(c.Experiments) > 1 || c.Resume || c.set() {
			return usage("lab list takes no other arguments")
		}
		return listExperiments(to.stdout)
	}
	s, release, err := c.session(to)
	if err != nil {
		return err
	}
	defer release()
	s.verbose = c.Verbose
	return s.run(ctx)
}

// set reports whether the plan is anything but the default.
func (c *labCommand) set() bool { return c.Quick || c.Published || c.Procs != nil || c.Count != nil }

// session plans a run in a directory that it holds until release is called.
func (c *labCommand) session(to streams) (s *session, release func(), err error) {
	if c.Resume {
		return c.resumed(to)
	}
	experiments, err := lab.Select(c.Experiments)
	if err != nil {
		return nil, nil, usage("%w", err)
	}
	scale, err := c.scale()
	if err != nil {
		return nil, nil, usage("%w", err)
	}
	dir, release, err := report.Fresh(cmp.Or(c.Out, usualOut))
	if err != nil {
		return nil, nil, unusable(err)
	}
	return newSession(to, experiments, scale, dir), release, nil
}

// resumed returns the interrupted run of the directory, or the newest one.
func (c *labCommand) resumed(to streams) (s *session, release func(), err error) {
	if len(c.Experiments) > 0 || c.set() {
		return nil, nil, usage("-resume takes the experiments and settings of the interrupted run: remove the others")
	}
	dir := c.Out
	if dir == "" {
		dir = report.Newest(usualOut)
	}
	s, err = resumed(to, dir)
	if err == nil {
		release, err = report.Hold(dir)
	}
	if err != nil {
		return nil, nil, unusable(err)
	}
	return s, release, nil
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
			return scale, fmt.Errorf("invalid -count %d (want 1 to %d)", *c.Count, maxCount)
		}
		scale.Count = *c.Count
	}
	if scale.Procs = c.Procs; c.Published && c.Procs != nil {
		return scale, errors.New("-published fixes GOMAXPROCS to the published values: remove -procs")
	}
	return scale, nil
}

// procs are values of GOMAXPROCS in ascending order, from a list such as "1,2,8".
type procs []int

func (p *procs) UnmarshalText(text []byte) error {
	for field := range strings.SplitSeq(string(text), ",") {
		n, err := strconv.Atoi(strings.TrimSpace(field))
		if err != nil || n < 1 || n > maxProcs {
			return fmt.Errorf("%q is not a number from 1 to %d (want, for example, -procs 1,2,%d)", field, maxProcs, max(4, runtime.NumCPU()))
		}
		*p = append(*p, n)
	}
	slices.Sort(*p)
	*p = slices.Compact(*p)
	return nil
}

// Help returns the text below the flags.
func (labCommand) Help() string {
	return strings.TrimSpace(`
Examples:
  sluice lab                           all experiments, in about three minutes
  sluice lab -quick                    the smallest sweep, in less than a minute
  sluice lab direct-send -procs 1,2,8  one experiment, with these values of GOMAXPROCS
  sluice lab not-busy                  what channels cost a service that is not busy
  sluice lab elastic -published        the sweep exactly as published
  sluice lab -count 20 -o results      more repetitions, to another directory
  sluice lab -resume                   resume an interrupted run
  sluice lab list                      the experiments and their duration

It prints one screen: what channels cost here, with a chart, the answer of each
experiment, and where the report is. The rest is in the report, or is printed
before the screen with -v. The screen is as wide as the terminal, or as COLUMNS says; it
respects NO_COLOR.

Beside other load, the run takes fewer repetitions rather than more time, at least 3 of
each point, and says so; with -count or -published it takes the time that it needs.

No run overwrites another: a second one goes to sluice-lab-2. Each point is saved
as soon as it is measured. Ctrl-C writes a report of the measured points, which
lists the missing ones.

Channels behave differently on a production host and on a notebook. A static binary
is built by CGO_ENABLED=0 go install github.com/sluice-go/sluice/cmd/sluice@latest,
or in a checkout by CGO_ENABLED=0 go build -o sluice ./cmd/sluice: copy it to the
production host and run ./sluice lab cpu-scaling there.
`)
}
