package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/host"
	"github.com/sluice-go/sluice/cmd/sluice/internal/measure"
	"github.com/sluice-go/sluice/cmd/sluice/internal/predict"
	"github.com/sluice-go/sluice/cmd/sluice/internal/progress"
)

type predictCommand struct {
	Score bool `help:"Print how well published curves are predicted from their smaller counts, and measure nothing."`
	JSON  bool `name:"json" help:"Write JSON in place of text."`

	Procs     string `placeholder:"LIST" help:"Values of GOMAXPROCS to measure, such as 1,2,4. Default: 1, 2, 4 … and the number of CPUs."`
	Count     int    `default:"9" placeholder:"N" help:"Repetitions of each count. Default ${default}; fewer than 6 give no interval."`
	Capacity  int    `default:"4096" placeholder:"N" help:"Slots of the channel. Default ${default}."`
	Consumers string `default:"matched" enum:"matched,one" help:"As many consumers as producers, or one: ${enum}. Default ${default}."`

	From     string `placeholder:"FILE" help:"Take the curve from FILE instead: a CSV of curves, or results in the Go benchmark format."`
	Series   string `placeholder:"TEXT" help:"Which series of FILE: the one with TEXT in its name."`
	FromCPUs int    `name:"from-cpus" placeholder:"N" help:"How many CPUs the machine had that FILE is from, if FILE does not say so."`

	CPUs   int `name:"cpus" placeholder:"N" help:"Predict up to N CPUs. Default: those that were measured."`
	LLC    int `name:"llc" placeholder:"N" help:"How many CPUs share a last-level cache there. Default on this machine: as it says itself."`
	Socket int `placeholder:"N" help:"How many CPUs share a socket there. Default on this machine: as it says itself."`

	Curves   string `placeholder:"FILE" help:"Your own file of curves, for bands and comparison. Default: sluice/curves.csv in your configuration directory."`
	Add      bool   `help:"Add the curve to your own file, and predict nothing."`
	Source   string `placeholder:"TEXT" help:"With -add: who measured it, or where it was published."`
	Machine  string `placeholder:"TEXT" help:"With -add: the machine. Default: as FILE or this machine says."`
	Version  string `placeholder:"TEXT" help:"With -add: the language's version, such as 'Go 1.26'. Default: as FILE or this program says."`
	Workload string `placeholder:"TEXT" help:"With -add: what was measured. Default: as measured, or the name of the series."`
	Note     string `placeholder:"TEXT" help:"With -add: what else a reader must know."`
}

// cpuFolder is where Linux says how its CPUs hang together.
const cpuFolder = "/sys/devices/system/cpu"

// Run measures or reads a curve, and predicts from it, or adds it to a file.
func (c *predictCommand) Run(ctx context.Context, to streams) error {
	procs, dropped, err := c.check()
	if err != nil {
		return usageError{err, "predict"}
	}
	curves := c.Curves
	if curves == "" {
		if dir, err := os.UserConfigDir(); err == nil {
			curves = filepath.Join(dir, "sluice", "curves.csv")
		}
	}
	own, err := predict.ReadOwn(curves)
	if err != nil {
		return inputError{err}
	}
	if c.Curves != "" && len(own) == 0 && !c.Add {
		return inputError{fmt.Errorf("-curves %s: there are no curves", c.Curves)}
	}
	published := predict.Published()
	if c.Score {
		score := predict.NewScore(slices.Concat(published, own))
		if c.JSON {
			return score.WriteJSON(to.stdout)
		}
		return score.WriteText(to.stdout)
	}
	q, err := c.question(ctx, to, procs)
	if err != nil {
		return err
	}
	q.Curve.Above = append(q.Curve.Above, dropped...)
	if c.Add {
		return c.add(to, curves, q.Curve)
	}
	q.Published, q.Own = published, own
	answer := predict.NewReport(q)
	if c.JSON {
		return answer.WriteJSON(to.stdout)
	}
	return answer.WriteText(to.stdout)
}

// check refuses flags that make no sense, and returns the counts to measure and
// those that are above the CPUs.
func (c *predictCommand) check() (procs, dropped []int, err error) {
	for name, n := range map[string]int{"count": c.Count, "capacity": c.Capacity, "from-cpus": c.FromCPUs, "cpus": c.CPUs, "llc": c.LLC, "socket": c.Socket} {
		if n < 0 {
			return nil, nil, fmt.Errorf("-%s is %d: it cannot be negative", name, n)
		}
	}
	switch {
	case c.Count < 1 || c.Count > maxCount:
		return nil, nil, fmt.Errorf("-count is %d, not from 1 to %d", c.Count, maxCount)
	case max(c.CPUs, c.FromCPUs, c.LLC, c.Socket) > maxProcs:
		return nil, nil, fmt.Errorf("more than %d CPUs are a slip", maxProcs)
	case c.Capacity > 1<<24:
		return nil, nil, fmt.Errorf("-capacity is %d: more than %d slots are a slip", c.Capacity, 1<<24)
	case c.From == "" && (c.Series != "" || c.FromCPUs != 0):
		return nil, nil, errors.New("-series and -from-cpus say something of the file of -from, which is missing")
	case c.From != "" && c.Procs != "":
		return nil, nil, errors.New("-procs says what to measure, and -from to measure nothing: use one of them")
	case !c.Add && c.Source+c.Machine+c.Version+c.Workload+c.Note != "":
		return nil, nil, errors.New("-source, -machine, -version, -workload and -note describe a curve to add: say -add too")
	case c.Score && (c.Add || c.From != "" || c.Procs != ""):
		return nil, nil, errors.New("-score measures and adds nothing: use it alone, or with -curves and -json")
	case c.Add && c.JSON:
		return nil, nil, errors.New("-add predicts nothing: leave out -json")
	}
	cpus := host.This().Whole()
	if c.Procs == "" {
		return predict.Doublings(cpus), nil, nil
	}
	wanted, err := parseProcs(c.Procs)
	if err != nil {
		return nil, nil, err
	}
	procs = []int{1} // always in it: what one CPU does decides the shape
	for _, n := range wanted {
		switch {
		case n > cpus:
			dropped = append(dropped, n)
		case n > 1:
			procs = append(procs, n)
		}
	}
	return procs, dropped, nil
}

// question measures this machine, or reads the file.
func (c *predictCommand) question(ctx context.Context, to streams, procs []int) (q predict.Question, err error) {
	if c.From == "" {
		q, err = c.measured(ctx, to, procs)
	} else {
		q, err = c.read()
	}
	if err != nil {
		return q, err
	}
	target := &q.Limits.Target
	for _, flag := range []struct {
		said int
		to   *int
	}{{c.CPUs, &target.CPUs}, {c.LLC, &target.LLC}, {c.Socket, &target.Socket}} {
		if flag.said > 0 {
			*flag.to = flag.said
		}
	}
	// What shares a cache shares a socket.
	target.Socket = max(target.Socket, target.LLC)
	// What a file does not say of its machine is taken to be as where it is asked for.
	if measured := &q.Limits.Measured; c.From != "" {
		measured.LLC, measured.Socket = cmp.Or(measured.LLC, target.LLC), cmp.Or(measured.Socket, target.Socket)
	}
	return q, nil
}

func (c *predictCommand) measured(ctx context.Context, to streams, procs []int) (q predict.Question, err error) {
	sweep := predict.Sweep{Procs: procs, Count: c.Count, Capacity: c.Capacity, OneConsumer: c.Consumers == "one"}
	points := sweep.Points()
	display := progress.New(to.stderr, measure.Steps(points))
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
	topology := predict.ReadTopology(os.DirFS(cpuFolder))
	topology.CPUs = machine.Whole()
	q = predict.Question{
		Curve: predict.Curve{
			Source:  "measured by sluice predict, " + time.Now().UTC().Format(time.DateOnly),
			Machine: machine.CPU + " " + machine.OS + "/" + machine.Arch, Version: goVersion(machine.Go), Workload: sweep.Workload(),
			Kind: predict.Shared, Design: predict.ChannelDesign, CPUs: topology.CPUs, Domain: min(topology.LLC, topology.Socket),
		},
		Swept: swept, Here: true, CPUsKnown: true,
		Limits:    predict.Limits{Measured: topology, Target: topology},
		GoVersion: goVersion(machine.Go), Arch: machine.Arch,
	}
	for _, count := range swept.Single {
		q.Curve.Points = append(q.Curve.Points, predict.Point{Procs: count.Procs, X: count.X})
	}
	return q, nil
}

// goVersion writes runtime.Version as curves do.
func goVersion(version string) string { return strings.Replace(version, "go1.", "Go 1.", 1) }

func (c *predictCommand) read() (q predict.Question, err error) {
	file, err := os.Open(c.From)
	if err != nil {
		return q, inputError{err}
	}
	defer file.Close()
	all, err := predict.ReadSeries(file, c.From)
	if err != nil {
		return q, inputError{err}
	}
	series, err := predict.Choose(all, c.Series)
	if err != nil {
		return q, inputError{fmt.Errorf("%s: %w", c.From, err)}
	}
	cpus := series.Curve.CPUs
	if c.FromCPUs > 0 {
		cpus = c.FromCPUs
	}
	if cpus > 0 {
		series.Limit(cpus)
	}
	if len(series.Counts) == 0 {
		return q, inputError{fmt.Errorf("%s: nothing was measured on %d CPUs or fewer", c.From, cpus)}
	}
	series.Curve.CPUs = cpus
	q.Curve, q.Swept, q.CPUsKnown = series.Curve, predict.Swept{Single: series.Counts}, cpus > 0
	topology := predict.Topology{CPUs: cpus, LLC: series.Curve.Domain, Socket: series.Curve.Domain}
	q.Limits = predict.Limits{Measured: topology, Target: topology}
	q.GoVersion, q.Arch = series.Curve.Version, series.Curve.Architecture()
	if q.GoVersion == "" {
		q.GoVersion = goVersion(runtime.Version())
	}
	return q, nil
}

// add appends the curve to the user's file.
func (c *predictCommand) add(to streams, file string, curve predict.Curve) error {
	if file == "" {
		return usageError{errors.New("there is no configuration directory: name a file by -curves"), "predict"}
	}
	for _, said := range []struct {
		text string
		to   *string
	}{{c.Source, &curve.Source}, {c.Machine, &curve.Machine}, {c.Version, &curve.Version}, {c.Workload, &curve.Workload}, {c.Note, &curve.Note}} {
		if said.text != "" {
			*said.to = said.text
		}
	}
	if c.LLC > 0 || c.Socket > 0 {
		curve.Domain = c.LLC
		if c.LLC == 0 || c.Socket > 0 && c.Socket < c.LLC {
			curve.Domain = c.Socket
		}
	}
	if err := predict.Add(file, curve); err != nil {
		return inputError{err}
	}
	return predict.WriteCurve(to.stdout, curve, file)
}

// Help is shown below the flags.
func (predictCommand) Help() string {
	return strings.TrimSpace(`
Examples:
  sluice predict                       where one channel peaks, and what would help it
  sluice predict -cpus 16 -llc 16      what it would do on 16 CPUs behind one cache
  sluice predict -from results.txt -series native    from a run of the lab
  sluice predict -score                how good such predictions are
  sluice predict -add -source me       adds a curve of yours to a file that predictions use
  sluice predict -add -source me -from results.txt -curves mine.csv  the same from and to files

A figure is measured, interpolated or extrapolated, and has a band. There is none beyond four
times the CPUs that were measured, nor across a socket or a last-level cache that was not.
`)
}
