// Package compare reports the differences between two runs, and whether they
// are noise. A run is a directory of the lab, or any file in Go's benchmark
// format.
//
// Each point is tested as by benchstat: medians with 95% intervals, and the
// Mann-Whitney U test, both from golang.org/x/perf/benchmath, so that
// "benchstat -table pkg,experiment OLD NEW" shows the same figures and the same
// "~". At alpha 0.05, one point in twenty is a false alarm, and two runs differ by
// more than the repetitions within them show, so whether a comparison fails is
// decided over all points together (regression.go), and against the noise between
// the two runs (noise.go).
//
// OLD and NEW are usually two runs. The comparison names every setting that
// differs (runs.go), and uses the runs' readings of their machine (readings.go).
// Runs that are measured in turns and joined have less noise between them.
//
// What may enter: arithmetic over benchmark files, and the two forms of the
// result, text.go with words.go, and json.go. Nothing here measures or knows an
// experiment.
package compare

import (
	"fmt"
	"slices"
	"strings"

	"golang.org/x/perf/benchfmt"
)

// Options are the user's numbers.
type Options struct {
	// Alpha is the significance level of each point, and of the decision over
	// all of them: above 0, below 1.
	Alpha float64
	// Threshold is the change, as a fraction of OLD, that a regression exceeds:
	// 0.05 is 5%.
	Threshold float64
	// Procs, if not nil, compares the points of OLD at one GOMAXPROCS with those of
	// NEW at another. OLD and NEW may then be the same run.
	Procs *[2]int
}

// Defaults are the default options.
var Defaults = Options{Alpha: 0.05, Threshold: 0.05}

// Schema is the version of the JSON form. It changes when a reader of the old
// form would misread the new one.
const Schema = 2

// A Comparison is the result of comparing two runs. It defines the JSON form.
type Comparison struct {
	Schema      int          `json:"schema"`
	Alpha       float64      `json:"alpha"`
	Threshold   float64      `json:"threshold"`       // a fraction of OLD
	Procs       *[2]int      `json:"procs,omitempty"` // GOMAXPROCS of OLD and of NEW, if asked for
	Old         Run          `json:"old"`
	New         Run          `json:"new"`
	Differences []Difference `json:"differences"` // settings that differ
	Readings    []Reading    `json:"readings"`    // both runs' readings of their machine
	Units       []UnitTally  `json:"units"`
	Decision    Decision     `json:"decision"`
	Points      []Point      `json:"points"` // by experiment, sweep and unit, in the order of the files
	OnlyOld     []Key        `json:"only_old"`
	OnlyNew     []Key        `json:"only_new"`
}

// A Key identifies a point. Other settings that differ are differences of the
// runs.
type Key struct {
	Package    string `json:"pkg,omitempty"`
	Experiment string `json:"experiment,omitempty"`
	Name       string `json:"name"` // without its prefix "Benchmark"
	Unit       string `json:"unit"` // tidied as by benchstat: sec/op for ns/op
}

// Files compares two runs. Each path names a results.txt of the lab, or its
// directory, or a file in Go's benchmark format. Every error is a fault of the
// files or of the options.
func Files(oldPath, newPath string, o Options) (*Comparison, error) {
	if !(o.Alpha > 0 && o.Alpha < 1) {
		return nil, fmt.Errorf("invalid alpha %v (want a number between 0 and 1)", o.Alpha)
	}
	if !(o.Threshold >= 0 && o.Threshold <= maxThreshold) {
		return nil, fmt.Errorf("invalid threshold %v%% (want 0%% to %v%%)", 100*o.Threshold, 100*maxThreshold)
	}
	if p := o.Procs; p != nil && (p[0] < 1 || p[1] < 1 || p[0] == p[1]) {
		return nil, fmt.Errorf("invalid GOMAXPROCS %d:%d (want two different positive numbers)", p[0], p[1])
	}
	both, err := read([2]string{oldPath, newPath}, o.Procs)
	if err != nil {
		return nil, err
	}
	return newComparison(both, o)
}

// maxThreshold rejects typos: it is a regression to a hundred times the time.
const maxThreshold = 100

func newComparison(both *results, o Options) (*Comparison, error) {
	c := &Comparison{
		Schema:    Schema,
		Alpha:     o.Alpha,
		Threshold: o.Threshold,
		Procs:     o.Procs,
		Old:       both.runs[0],
		New:       both.runs[1],
	}
	c.Differences, c.Readings = contrast(&c.Old, &c.New, o.Procs != nil)
	for _, key := range both.keys {
		switch values := both.values[key]; {
		case len(values[1]) == 0:
			c.OnlyOld = append(c.OnlyOld, key)
		case len(values[0]) == 0:
			c.OnlyNew = append(c.OnlyNew, key)
		default:
			c.Points = append(c.Points, newPoint(key, values, both.units, o))
		}
	}
	if len(c.Points) == 0 {
		return nil, nothingShared(c)
	}
	c.Points = grouped(c.Points)
	c.explain()
	c.Decision = decide(c.Points, o, c.order())
	switch d := &c.Decision; {
	case d.Outcome == Failed:
	case len(c.New.Failures) > 0:
		d.Outcome, d.Reason = Failed, Broken
	case d.Outcome == Passed && len(c.OnlyOld) > 0:
		d.Outcome, d.Reason = Undecided, Vanished
	}
	c.Units = tally(c.Points)
	return c, nil
}

// nothingShared returns the error of two runs without a common point.
func nothingShared(c *Comparison) error {
	hint := ""
	for _, d := range c.Differences {
		if d.Key == procsKey {
			hint = fmt.Sprintf("; GOMAXPROCS is %s in OLD and %s in NEW: to compare two values of it, use -procs, as in -procs %s:%s",
				list(d.Old), list(d.New), d.Old[0], d.New[0])
		}
	}
	return fmt.Errorf("%s and %s have no common point: they have points such as %s and %s%s",
		c.Old.Path, c.New.Path, c.OnlyOld[0].Name, c.OnlyNew[0].Name, hint)
}

// grouped sorts points by experiment, sweep and unit, each in the order of its
// first occurrence, and keeps the order within these.
func grouped(points []Point) []Point {
	type group struct{ pkg, experiment, sweep, unit string }
	of := func(p Point) group { return group{p.Package, p.Experiment, p.split().sweep, p.Unit} }
	// The lines of a file alternate between the units of a sweep, so rank the
	// sweep before the unit.
	rank := map[group]int{}
	for _, p := range points {
		sweep, whole := of(p), of(p)
		sweep.unit = ""
		for _, g := range []group{sweep, whole} {
			if _, ok := rank[g]; !ok {
				rank[g] = len(rank)
			}
		}
	}
	sorted := slices.Clone(points)
	slices.SortStableFunc(sorted, func(a, b Point) int {
		sweepA, sweepB := of(a), of(b)
		sweepA.unit, sweepB.unit = "", ""
		if d := rank[sweepA] - rank[sweepB]; d != 0 {
			return d
		}
		return rank[of(a)] - rank[of(b)]
	})
	return sorted
}

// A name is a benchmark's name in parts.
type name struct {
	sweep   string // of the lab's names: the value of sweep=
	setting string // common to the rows below it
	label   string // the row
	procs   string // GOMAXPROCS, or "" if the name lacks it
}

// split splits the name into its parts. The last part is the row, because
// sub-benchmarks vary it first, and in the lab's names it is the contender.
func (k Key) split() name {
	base, parts := benchfmt.Name(k.Name).Parts()
	var n name
	fields := []string{string(base)}
	for _, part := range parts {
		switch text := string(part); {
		case text[0] == '-':
			n.procs = text[1:]
		default:
			fields = append(fields, text[1:])
		}
	}
	last := len(fields) - 1
	n.label, fields = fields[last], fields[:last]
	if k.Experiment == "" {
		n.setting = strings.Join(fields, "/")
		return n
	}
	if n.procs == "" {
		n.procs = "1" // package testing and the lab leave it out
	}
	n.label = strings.TrimPrefix(n.label, "contender=")
	if len(fields) > 0 {
		fields = fields[1:] // the experiment's name again
	}
	if len(fields) > 0 {
		if sweep, ok := strings.CutPrefix(fields[0], "sweep="); ok {
			n.sweep, fields = sweep, fields[1:]
		}
	}
	n.setting = strings.Join(fields, " ")
	return n
}
