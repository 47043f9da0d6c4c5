package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/format"
	"github.com/sluice-go/sluice/cmd/sluice/internal/host"
	"github.com/sluice-go/sluice/cmd/sluice/internal/lab"
	"github.com/sluice-go/sluice/cmd/sluice/internal/measure"
	"github.com/sluice-go/sluice/cmd/sluice/internal/progress"
	"github.com/sluice-go/sluice/cmd/sluice/internal/report"
	"github.com/sluice-go/sluice/cmd/sluice/internal/stat"
)

// Limits of one pass; see measure.Runner. The longest regular pass takes 40 s:
// 12 s of work in sleeps of 100 µs, as lock-cost was published, each of which
// lasts about a millisecond.
const (
	stall = 2 * time.Minute
	grace = 2 * time.Second
)

// Limits of running points longer; see measure.Pace. With them, the default
// run of all experiments takes less than four minutes on the noisiest machine.
const (
	longerTimes = 3
	longerShare = 0.25
)

// leastRounds is the number of repetitions of each point, however long the run takes: see
// measure.Pace. There is no limit if the user chose the repetitions, or those of a study.
const leastRounds = 3

// A session is a run of the lab, from the plan to the report.
type session struct {
	to       streams
	verbose  bool // print everything, not one screen
	dir      string
	scale    lab.Scale
	machine  report.Machine
	load     string    // of this sitting; machine has the first sitting's
	started  time.Time // of the first sitting
	sittings []report.Sitting
	outcomes []measure.Outcome // of all points
	runs     []report.Run      // each has a part of outcomes
}

// newSession plans the points of all experiments.
func newSession(to streams, experiments []lab.Experiment, scale lab.Scale, dir string) *session {
	s := &session{to: to, dir: dir, scale: scale, machine: host.This(), started: time.Now()}
	s.load = s.machine.Load
	if s.scale.CPUs == 0 {
		s.scale.CPUs = s.machine.Whole()
	}
	var points []*measure.Point
	for _, e := range experiments {
		run := report.Run{Experiment: e, Sections: e.Sections(s.scale)}
		points = append(points, pointsOf(run.Sections)...)
		s.runs = append(s.runs, run)
	}
	s.outcomes = measure.NewOutcomes(points)
	rest := s.outcomes
	for i := range s.runs {
		n := len(pointsOf(s.runs[i].Sections))
		s.runs[i].Outcomes, rest = rest[:n], rest[n:]
	}
	return s
}

func pointsOf(sections []lab.Section) []*measure.Point {
	var points []*measure.Point
	for _, section := range sections {
		for _, point := range section.Points {
			points = append(points, &point.Point)
		}
	}
	return points
}

// resumed returns the interrupted session of dir. It returns an error if the
// machine, Go or the binary changed, because the figures would not be
// comparable.
func resumed(to streams, dir string) (*session, error) {
	r, err := report.Read(dir)
	if err == nil {
		err = report.Prepare(dir)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("-resume: %s has no run to resume", dir)
	}
	if err != nil {
		return nil, err
	}
	size, ok := lab.SizeNamed(r.Size)
	if !ok {
		return nil, fmt.Errorf("-resume: the run in %s has the unknown size %q", dir, r.Size)
	}
	var names []string
	for _, e := range r.Experiments {
		names = append(names, e.Name)
	}
	experiments, err := lab.Select(names)
	if err != nil {
		return nil, fmt.Errorf("-resume: %w", err)
	}
	s := newSession(to, experiments, lab.Scale{Size: size, Procs: r.Procs, Count: r.Count}, dir)
	if differs := s.machine.Differs(r.Machine); differs != "" {
		return nil, fmt.Errorf("-resume: the run in %s has another %s; measure again, to another directory with -o", dir, differs)
	}
	if err := r.Restore(s.runs); err != nil {
		return nil, fmt.Errorf("-resume: the run in %s differs from this program's plan: %w", dir, err)
	}
	s.started, s.sittings, s.machine.Load = r.Started, r.Sittings, r.Machine.Load
	return s, nil
}

// run measures the remaining points, and reports.
func (s *session) run(ctx context.Context) error {
	if left := s.left(); len(left) > 0 {
		if err := s.measure(ctx, left); err != nil {
			return err
		}
	} else if err := s.report().WriteHead(s.to.stdout, screenOf(s.to.stdout)); err != nil {
		return err
	}
	r := s.report()
	if !r.Measured() {
		return s.nothing()
	}
	if err := errors.Join(r.WriteFiles(s.dir), write(s.to.stdout, r, s.verbose, filepath.Join(s.dir, report.PageFile))); err != nil {
		return err
	}
	switch {
	case r.Interrupted:
		fmt.Fprintf(s.to.stdout, "To resume: sluice lab -resume -o %s\n", s.dir)
		return errInterrupted
	case len(r.Failures) > 0:
		return errIncomplete
	}
	return nil
}

// nothing ends a run that was interrupted before its first figure. Its directory
// is removed unless it has a report, or other files.
func (s *session) nothing() error {
	if _, err := report.Read(s.dir); err == nil {
		fmt.Fprintf(s.to.stdout, "Nothing was measured; the report in %s is unchanged.\n", s.dir)
		return errInterrupted
	}
	fmt.Fprintln(s.to.stdout, "Nothing was measured, and no report was written.")
	_ = os.Remove(s.dir) // fails, as it should, if it is not empty
	return errInterrupted
}

// write writes a report, without its head, for a person: one screen, and before it
// everything else if wanted.
func write(w io.Writer, r *report.Report, everything bool, page string) error {
	if everything {
		if err := r.WriteText(w, screenOf(w)); err != nil {
			return err
		}
	}
	return r.WriteScreen(w, screenOf(w), page)
}

// left returns the unfinished points.
func (s *session) left() []*measure.Point {
	var left []*measure.Point
	for i := range s.outcomes {
		if !s.outcomes[i].Finished {
			left = append(left, s.outcomes[i].Point)
		}
	}
	return left
}

// measure is one sitting. It measures the machine's noise first and last, and
// saves each point as soon as it is finished.
func (s *session) measure(ctx context.Context, left []*measure.Point) (err error) {
	began := time.Now()
	s.sittings = append(s.sittings, report.Sitting{Started: began, Load: s.load, Before: s.noise()})
	sitting := &s.sittings[len(s.sittings)-1]
	if err := s.report().WriteHead(s.to.stdout, screenOf(s.to.stdout)); err != nil {
		return err
	}
	pace := &measure.Pace{Wide: wide, Times: longerTimes, Share: longerShare, Whole: measure.Estimate(left), Least: leastRounds}
	limit, beside := time.Duration((1+longerShare)*float64(pace.Whole)), ", with fewer repetitions on a busy machine"
	if s.scale.Count > 0 || s.scale.Size == lab.AsPublished {
		pace.Least, beside = 0, " on an idle machine and longer on a busy one"
	}
	fmt.Fprint(s.to.stdout, format.Wrap(fmt.Sprintf("%d measurements, in about %s to %s%s.",
		len(left), format.Estimate(pace.Whole), format.Estimate(limit), beside), screenOf(s.to.stdout).Width, 0, "  "))
	for i := range s.outcomes {
		if !s.outcomes[i].Finished {
			s.outcomes[i].Sitting = len(s.sittings) - 1
		}
	}
	// The first point replaces all three files: if the run is killed, the page
	// and results.txt of an earlier run must not remain beside the results of
	// this one.
	save := (*report.Report).WriteFiles
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	display := progress.New(s.to.stderr, measure.Steps(left), !s.verbose)
	runner := measure.Runner{
		Observer: display, Stall: stall, Grace: grace,
		Usage: host.NewWatch().Read, Pace: pace,
		Finished: func(*measure.Outcome) {
			sitting.Took = report.Duration(time.Since(began))
			if err := save(s.report(), s.dir); err != nil {
				stop(notSaved{err})
			}
			save = (*report.Report).Save
		},
	}
	runner.Continue(ctx, s.outcomes)
	display.Finish()
	if failed, ok := errors.AsType[notSaved](context.Cause(ctx)); ok {
		return failed.error
	}
	if ctx.Err() == nil {
		sitting.After = s.noise()
	}
	sitting.Took = report.Duration(time.Since(began))
	return nil
}

// notSaved ends a run whose figures cannot be saved.
type notSaved struct{ error }

// wide reports whether a point needs more rounds, because the interval of some
// time is too wide.
func wide(o *measure.Outcome) bool {
	return slices.ContainsFunc(o.Results, func(r measure.Result) bool {
		return r.Err == nil && stat.Summarize(r.Samples(measure.NsPerOp)).Wide()
	})
}

// noiseTime is how long the noise of the machine is measured, before and after a sitting;
// in a quick run it is a quarter of that. Tests do not read the noise, and shorten it.
var noiseTime = 400 * time.Millisecond

// noise measures the noise of the machine.
func (s *session) noise() *host.Noise {
	d := noiseTime
	if s.scale.Size == lab.Quick {
		d /= 4
	}
	noise := host.MeasureNoise(d)
	return &noise
}

// report returns the report of the measured points.
func (s *session) report() *report.Report {
	r := report.New(s.machine, s.started, s.scale.Size, len(s.left()) > 0, s.runs)
	r.Procs, r.Count, r.Sittings = s.scale.Procs, s.scale.Count, s.sittings
	for _, sitting := range s.sittings {
		r.Took += sitting.Took
	}
	return r
}

type reportCommand struct {
	Dir     string `arg:"" optional:"" help:"Directory of a report. Default: the newest of sluice-lab, sluice-lab-2 and so on."`
	Verbose bool   `short:"v" help:"Print all tables and findings, not one screen."`
}

// Run writes the text, the page and results.txt again, from results.json alone.
func (c *reportCommand) Run(to streams) error {
	dir := c.Dir
	if dir == "" {
		dir = report.Newest(usualOut)
	}
	if filepath.Base(dir) == report.JSONFile {
		dir = filepath.Dir(dir)
	}
	if info, err := os.Stat(dir); err == nil && !info.IsDir() {
		return unusable(fmt.Errorf("%s is a file (want the directory of a run)", dir))
	}
	r, err := report.Read(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return unusable(fmt.Errorf("%s has no report: %s does not exist", dir, report.JSONFile))
	}
	if err == nil {
		err = report.Prepare(dir)
	}
	if err != nil {
		return unusable(err)
	}
	return errors.Join(r.WriteFiles(dir), r.WriteHead(to.stdout, screenOf(to.stdout)), write(to.stdout, r, c.Verbose, filepath.Join(dir, report.PageFile)))
}

// Help returns the text below the flags.
func (reportCommand) Help() string {
	return "Writes one screen to the terminal, or with -v all tables, and report.html and results.txt, from the results.json in the directory, " +
		"for example after a run was killed. The findings and figures are the run's; nothing is measured.\n\n" +
		"Example:\n  sluice report sluice-lab\n"
}
