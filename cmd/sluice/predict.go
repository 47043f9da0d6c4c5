package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/format"
	"github.com/sluice-go/sluice/cmd/sluice/internal/host"
	"github.com/sluice-go/sluice/cmd/sluice/internal/measure"
	"github.com/sluice-go/sluice/cmd/sluice/internal/predict"
	"github.com/sluice-go/sluice/cmd/sluice/internal/progress"
	"github.com/sluice-go/sluice/cmd/sluice/internal/report"
)

type predictCommand struct {
	File string `arg:"" optional:"" name:"file" help:"Read the curve from FILE instead of measuring: the directory of a run of the lab, its results.json, the output of go test -bench -cpu 1,2,4, or a CSV with columns such as cpus and ops/s."`

	Series  string `placeholder:"TEXT" help:"The series of FILE with TEXT in its name. Default: the only one, or one built-in channel of the lab's cpu-scaling."`
	List    bool   `help:"List the series of FILE. Predicts nothing."`
	Score   bool   `help:"Print the accuracy of predictions of published curves, or of the curves of FILE, from their smaller counts. Measures nothing."`
	Verbose bool   `short:"v" help:"Also show the law, and the published curves that looked most like this one."`
	JSON    bool   `name:"json" help:"Write JSON instead of text."`

	Procs     procs  `placeholder:"LIST" help:"Values of GOMAXPROCS to measure, such as 1,2,4. Default: 1, 2, 4 … and the number of CPUs."`
	Count     int    `default:"9" placeholder:"N" help:"Repetitions of each count. Default ${default}; fewer than 6 have no interval."`
	Capacity  int    `default:"4096" placeholder:"N" help:"Slots of the channel. Default ${default}."`
	Consumers string `default:"matched" enum:"matched,one" help:"As many consumers as producers, or one: ${enum}. Default ${default}."`

	From     string `placeholder:"FILE" help:"The same as the argument FILE."`
	FromCPUs int    `name:"from-cpus" placeholder:"N" help:"Number of CPUs of the machine of FILE, if FILE does not have it."`

	CPUs   int `name:"cpus" placeholder:"N" help:"Predict up to N CPUs. Default: the measured number."`
	LLC    int `name:"llc" placeholder:"N" help:"CPUs of the target that share a last-level cache. Default: as on this machine, if measured here."`
	Socket int `placeholder:"N" help:"CPUs of the target that share a socket. Default: as on this machine, if measured here."`

	Curves   string `placeholder:"FILE" help:"Your file of curves, for bands and comparison. Default: sluice/curves.csv in your configuration directory."`
	Add      bool   `help:"Add the curve to your file. Predicts nothing."`
	Source   string `placeholder:"TEXT" help:"The author or the publication of the curve, for -add."`
	Machine  string `placeholder:"TEXT" help:"Its machine. Default: from FILE, or this machine."`
	Version  string `placeholder:"TEXT" help:"Its language's version, such as 'Go 1.26'. Default: from FILE, or this program's."`
	Workload string `placeholder:"TEXT" help:"Its work. Default: as measured, or the name of the series."`
	Note     string `placeholder:"TEXT" help:"Other facts about the curve, for -add."`
}

// Run measures or reads a curve, and predicts from it, or adds it to a file.
func (c *predictCommand) Run(ctx context.Context, to streams) error {
	if err := c.check(); err != nil {
		return usage("%w", err)
	}
	if c.List {
		all, err := c.readCurves(to)
		if err != nil {
			return err
		}
		_, err = io.WriteString(to.stdout, format.CleanLines(predict.List(all)))
		return err
	}
	curves := c.Curves
	if dir, err := os.UserConfigDir(); err == nil && curves == "" {
		curves = filepath.Join(dir, "sluice", "curves.csv")
	}
	content, err := os.ReadFile(curves)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return unusable(err)
	}
	own, skipped, err := predict.ReadOwn(content, curves)
	warn(to, curves, skipped)
	if err == nil && c.Curves != "" && len(own) == 0 && !c.Add {
		err = fmt.Errorf("-curves %s: no curves in the file", c.Curves)
	}
	if err != nil {
		return unusable(err)
	}
	if c.Score {
		score, err := c.score(to, slices.Concat(predict.Published(), own))
		if err != nil {
			return err
		}
		return to.write(score, c.JSON, c.Verbose)
	}
	q, err := c.question(ctx, to)
	if err != nil {
		return err
	}
	if c.Add {
		return c.add(to, curves, content, q.Curve)
	}
	q.Published, q.Own = predict.Published(), own
	return to.write(predict.NewReport(q), c.JSON, c.Verbose)
}

// score scores predictions of the known curves, or of the curves of the file.
func (c *predictCommand) score(to streams, known []predict.Curve) (score predict.Score, err error) {
	if c.From == "" {
		return predict.NewScore("", nil, known)
	}
	all, err := c.readCurves(to)
	if err != nil {
		return score, err
	}
	foreign, err := predict.Named(all, c.Series)
	if err == nil {
		score, err = predict.NewScore(c.From, foreign, known)
	}
	if err != nil {
		return score, unusable(fmt.Errorf("%s: %w", c.From, err))
	}
	return score, nil
}

// check validates the flags.
func (c *predictCommand) check() error {
	for name, n := range map[string]int{"count": c.Count, "capacity": c.Capacity, "from-cpus": c.FromCPUs, "cpus": c.CPUs, "llc": c.LLC, "socket": c.Socket} {
		if n < 0 {
			return fmt.Errorf("invalid -%s %d (want 0 or more)", name, n)
		}
	}
	both := c.File != "" && c.From != ""
	c.From = cmp.Or(c.From, c.File)
	const needsFile = " requires a FILE, such as sluice-lab, the directory of a run of the lab"
	for _, mistake := range []struct {
		made bool
		says string
	}{
		{both, "FILE and -from are the same: remove one of them"},
		{c.Count < 1 || c.Count > maxCount, fmt.Sprintf("invalid -count %d (want 1 to %d)", c.Count, maxCount)},
		{max(c.CPUs, c.FromCPUs, c.LLC, c.Socket) > maxProcs, fmt.Sprintf("too many CPUs (want at most %d)", maxProcs)},
		{c.Capacity > 1<<24, fmt.Sprintf("invalid -capacity %d (want at most %d)", c.Capacity, 1<<24)},
		{c.From == "" && c.Series != "", "-series" + needsFile},
		{c.From == "" && c.FromCPUs != 0, "-from-cpus" + needsFile},
		{c.From == "" && c.List, "-list" + needsFile},
		{c.List && (c.Score || c.Add || c.JSON || c.Series != ""), "-list allows only FILE: remove the other flags"},
		{c.From != "" && c.Procs != nil, "-procs measures and a FILE is not measured: remove one of them"},
		{!c.Add && (c.From == "" || c.Score) && c.Source+c.Machine+c.Version+c.Workload+c.Note != "",
			"-source, -machine, -version, -workload and -note require a FILE or -add"},
		{c.Score && (c.Add || c.Procs != nil || max(c.CPUs, c.LLC, c.Socket) > 0),
			"-score allows only FILE, -series, -from-cpus, -curves, -json and -v: remove the other flags"},
		{c.Add && c.JSON, "-add predicts nothing: remove -json"},
	} {
		if mistake.made {
			return errors.New(mistake.says)
		}
	}
	return nil
}

// counts returns the counts to measure, and those above the CPUs.
func (c *predictCommand) counts() (measured, dropped []int) {
	cpus := host.This().Whole()
	if c.Procs == nil {
		return predict.Doublings(cpus), nil
	}
	measured = []int{1} // always included: it decides the shape
	for _, n := range c.Procs {
		switch {
		case n > cpus:
			dropped = append(dropped, n)
		case n > 1:
			measured = append(measured, n)
		}
	}
	return measured, dropped
}

// question measures this machine, or reads the file.
func (c *predictCommand) question(ctx context.Context, to streams) (q predict.Question, err error) {
	if c.From == "" {
		q, err = c.measured(ctx, to)
	} else {
		q, err = c.read(to)
	}
	if err != nil {
		return q, err
	}
	for text, to := range map[*string]*string{&c.Source: &q.Curve.Source, &c.Machine: &q.Curve.Machine, &c.Version: &q.Curve.Version, &c.Workload: &q.Curve.Workload, &c.Note: &q.Curve.Note} {
		*to = cmp.Or(*text, *to)
	}
	target := &q.Limits.Target
	target.CPUs, target.LLC, target.Socket = cmp.Or(c.CPUs, target.CPUs), cmp.Or(c.LLC, target.LLC), cmp.Or(c.Socket, target.Socket)
	target.Socket = max(target.Socket, target.LLC) // CPUs that share a cache share a socket
	// A file's machine with an unknown layout is assumed to be like the target.
	if measured := &q.Limits.Measured; c.From != "" {
		measured.LLC, measured.Socket = cmp.Or(measured.LLC, target.LLC), cmp.Or(measured.Socket, target.Socket)
	}
	return q, nil
}

func (c *predictCommand) measured(ctx context.Context, to streams) (q predict.Question, err error) {
	procs, dropped := c.counts()
	sweep := predict.Sweep{Procs: procs, Count: c.Count, Capacity: c.Capacity, OneConsumer: c.Consumers == "one"}
	points := sweep.Points()
	display := progress.New(to.stderr, measure.Steps(points), false)
	runner := measure.Runner{Observer: display, Stall: stall, Grace: grace}
	outcomes := runner.Run(ctx, points)
	display.Finish()
	if ctx.Err() != nil {
		return q, errInterrupted
	}
	swept, err := sweep.Collect(outcomes)
	if err != nil {
		return q, err
	}
	machine := host.This()
	topology := predict.Topology{CPUs: machine.Whole(), LLC: machine.LLC, Socket: machine.Socket}
	return predict.Question{
		Curve: predict.Curve{
			Source:  "measured by sluice predict, " + time.Now().UTC().Format(time.DateOnly),
			Machine: machine.CPU + " " + machine.OS + "/" + machine.Arch, Version: predict.VersionName(machine.Go), Workload: sweep.Workload(),
			Kind: predict.Shared, Design: predict.ChannelDesign, CPUs: topology.CPUs, Domain: min(topology.LLC, topology.Socket), Points: swept.Single, Above: dropped,
		},
		Swept: swept, Here: true, CPUsKnown: true, Limits: predict.Limits{Measured: topology, Target: topology},
	}, nil
}

func (c *predictCommand) read(to streams) (q predict.Question, err error) {
	all, err := c.readCurves(to)
	if err != nil {
		return q, err
	}
	curve, err := predict.Choose(all, c.Series)
	if err != nil {
		return q, unusable(fmt.Errorf("%s: %w", c.From, err))
	}
	curve.Limit(curve.CPUs)
	if len(curve.Points) == 0 {
		return q, unusable(fmt.Errorf("%s: no count of %s or fewer", c.From, format.Plural(curve.CPUs, "CPU")))
	}
	topology := predict.Topology{CPUs: curve.CPUs, LLC: curve.Domain, Socket: curve.Domain}
	return predict.Question{
		Curve: curve, Swept: predict.WithRemedies(all, curve), CPUsKnown: curve.CPUs > 0, Others: len(all) - 1,
		Limits: predict.Limits{Measured: topology, Target: topology},
	}, nil
}

// add appends the curve to the user's file.
func (c *predictCommand) add(to streams, file string, content []byte, curve predict.Curve) error {
	if file == "" {
		return usage("there is no configuration directory: set -curves")
	}
	if smallest := min(cmp.Or(c.LLC, c.Socket), cmp.Or(c.Socket, c.LLC)); smallest > 0 {
		curve.Domain = smallest
	}
	content, err := predict.Add(content, file, curve)
	if err == nil {
		err = os.MkdirAll(filepath.Dir(file), 0o777)
	}
	if err == nil {
		err = report.Replace(file, func(w io.Writer) error { _, err := w.Write(content); return err })
	}
	if err != nil {
		return unusable(err)
	}
	return predict.WriteAdded(to.stdout, screenOf(to.stdout).Width, curve, file)
}

// readCurves reads the file or the directory of a run, and warns of malformed lines.
func (c *predictCommand) readCurves(to streams) ([]predict.Curve, error) {
	path := c.From
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		path = filepath.Join(path, report.JSONFile)
	}
	content, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("%s does not exist: want the directory of a run of the lab, or a file", path)
	}
	if err != nil {
		return nil, unusable(err)
	}
	shares := 0
	if bytes.HasPrefix(bytes.TrimSpace(content), []byte("{")) {
		var text bytes.Buffer
		run, err := report.Decode(content)
		if err == nil {
			err = run.WriteBenchmarks(&text)
		}
		if err != nil {
			return nil, unusable(fmt.Errorf("%s: %w", path, err))
		}
		content, shares = text.Bytes(), domain(&run.Machine)
	}
	all, skipped, err := predict.Read(content, path)
	warn(to, path, skipped)
	if err != nil {
		return nil, unusable(err)
	}
	for i := range all {
		all[i].Domain = cmp.Or(all[i].Domain, shares)
		all[i].CPUs = cmp.Or(c.FromCPUs, all[i].CPUs)
	}
	return all, nil
}

// domain returns the number of CPUs that share a socket and a last-level cache,
// or 0 if it is unknown.
func domain(m *host.Machine) int {
	if m.Sockets == 0 || m.Caches == 0 {
		return 0
	}
	return max(1, m.CPUs/max(m.Sockets, m.Caches))
}

// warn writes a warning for each malformed line of a file.
func warn(to streams, file string, skipped []error) {
	const most = 5
	for _, why := range skipped[:min(most, len(skipped))] {
		fmt.Fprintf(to.stderr, "sluice: warning: %s\n", format.Clean(fmt.Sprintf("%s: skipped %v", file, why)))
	}
	if more := len(skipped) - most; more > 0 {
		fmt.Fprintf(to.stderr, "sluice: warning: %s: %d more lines skipped\n", format.Clean(file), more)
	}
}

// Help returns the text below the flags.
func (predictCommand) Help() string {
	return strings.TrimSpace(`
Examples:
  sluice predict                   a channel's peak, and the gain of remedies
  sluice predict -cpus 16 -llc 16  its throughput on 16 CPUs with one cache
  sluice predict sluice-lab        the same from a run of the lab
  sluice predict sluice-lab -list  the curves of the run, for -series
  sluice predict -score            the accuracy of predictions
  sluice predict -score mine.csv   their accuracy on the curves of a file
  sluice predict -add -source me   add your curve to a file, for predictions

A figure is measured, interpolated or extrapolated, and has a band: what became of published
curves that looked the same. There are no figures beyond four times the measured CPUs, nor across
a socket or a last-level cache that was not measured. A FILE needs two columns:

  cpus,ops/s
  1,31000000
  2,24500000
  4,22100000

A prediction extends a measured curve. For designs that nobody measured on many CPUs, such as
lanes of this module, see docs/adr/0007-lanes.md.
`)
}
