package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/experiment"
	"github.com/sluice-go/sluice/cmd/sluice/measure"
	"github.com/sluice-go/sluice/cmd/sluice/progress"
	"github.com/sluice-go/sluice/cmd/sluice/report"
)

type labCommand struct {
	Experiments []string `arg:"" optional:"" name:"experiment" help:"${experiments}. Default: all."`
	Quick       bool     `xor:"size" help:"The smallest sweep, in a few seconds: to see that all works."`
	Published   bool     `xor:"size" help:"The sweep exactly as published, each figure from a second of work: minutes."`
	Procs       string   `placeholder:"LIST" help:"Values of GOMAXPROCS to sweep, such as 1,2,8, in place of the study's."`
	Count       int      `placeholder:"N" help:"Repetitions of each point. Default 9, or 6 with -quick and -published; fewer than 6 give no interval."`
	Out         string   `short:"o" default:"sluice-lab" placeholder:"DIR" help:"Directory for the report. Default: ${default}."`
}

// maxProcs and maxCount are far above what makes sense: they catch a slip.
const (
	maxProcs = 4096
	maxCount = 1000
)

// Limits of one pass; see measure.Runner. The longest honest pass is 12 s of work in
// sleeps of 100 µs, as lock-cost was published, where each lasts a millisecond: 40 s.
const (
	stall = 2 * time.Minute
	grace = 2 * time.Second
)

// Run measures and reports.
func (c *labCommand) Run(ctx context.Context, to streams) error {
	experiments, err := experiment.Select(c.Experiments)
	if err != nil {
		return usageError{err, "lab"}
	}
	scale, err := c.scale()
	if err != nil {
		return usageError{err, "lab"}
	}
	return measureAndReport(ctx, to, experiments, scale, c.Out)
}

// measureAndReport runs the experiments and writes the report to dir. It fails
// before measuring if nothing can be written there.
func measureAndReport(ctx context.Context, to streams, experiments []experiment.Experiment, scale experiment.Scale, dir string) error {
	if err := report.Prepare(dir); err != nil {
		return err
	}
	machine, started := report.ThisMachine(), time.Now()
	runs, points := plan(experiments, scale)
	fmt.Fprintf(to.stdout, "sluice lab on %s, %d CPUs, %s, %s/%s\n",
		machine.CPU, machine.CPUs, machine.Go, machine.OS, machine.Arch)
	display := progress.New(to.stderr, measure.Steps(points))
	runner := measure.Runner{Observer: display, Stall: stall, Grace: grace}
	outcomes := runner.Run(ctx, points)
	display.Finish()

	for i := range runs {
		for _, section := range runs[i].Sections {
			n := len(section.Points)
			runs[i].Outcomes = append(runs[i].Outcomes, outcomes[:n]...)
			outcomes = outcomes[n:]
		}
	}
	r := report.New(machine, started, scale.Size, ctx.Err() != nil, runs)
	r.Took = report.Duration(time.Since(started))
	if err := errors.Join(r.WriteText(to.stdout), r.WriteFiles(dir)); err != nil {
		return err
	}
	fmt.Fprintf(to.stdout, "Measured in %v. The report is %s\n",
		time.Duration(r.Took).Round(time.Second), filepath.Join(dir, report.PageFile))
	switch {
	case r.Interrupted && len(r.Missing) > 0:
		return errInterrupted
	case len(r.Failures) > 0:
		return errIncomplete
	}
	return nil
}

// plan lays out the sections of all experiments, and their points in one list.
func plan(experiments []experiment.Experiment, scale experiment.Scale) (runs []report.Run, points []*measure.Point) {
	for _, e := range experiments {
		run := report.Run{Experiment: e, Sections: e.Sections(scale)}
		for _, section := range run.Sections {
			for _, point := range section.Points {
				points = append(points, &point.Point)
			}
		}
		runs = append(runs, run)
	}
	return runs, points
}

func (c *labCommand) scale() (experiment.Scale, error) {
	scale := experiment.Scale{Count: c.Count}
	switch {
	case c.Quick:
		scale.Size = experiment.Quick
	case c.Published:
		scale.Size = experiment.AsPublished
	}
	if c.Count < 0 || c.Count > maxCount {
		return scale, fmt.Errorf("-count is %d, not from 1 to %d", c.Count, maxCount)
	}
	if c.Procs == "" {
		return scale, nil
	}
	if c.Published {
		return scale, errors.New("-published fixes GOMAXPROCS to the published values: leave out -procs")
	}
	procs, err := parseProcs(c.Procs)
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
  sluice lab                           all experiments, in about a minute
  sluice lab -quick                    the smallest sweep, in a few seconds
  sluice lab direct-send -procs 1,2,8  one experiment, with these GOMAXPROCS
  sluice lab elastic -published        the published sweep as it was published
  sluice lab -count 20 -o results      more repetitions, to another directory

Ctrl-C writes what was measured so far and says what is missing.

Channels behave otherwise on the machine that serves than on a notebook. In a
checkout, CGO_ENABLED=0 go build -o sluice ./cmd/sluice makes one static file:
copy it to the production host and run ./sluice lab cpu-scaling there.
`)
}
