// Package compare reports the differences between two runs, and whether they
// are noise. A run is a directory of the lab, or any log with results in Go's
// benchmark format (log.go).
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
// differs (runs.go). Runs that are measured in turns and joined have less noise
// between them.
//
// What may enter: arithmetic over benchmark files, and the two forms of the
// result, text and JSON. Nothing here measures or knows an experiment.
package compare

import (
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"

	"golang.org/x/perf/benchfmt"
)

// Options are the user's choices.
type Options struct {
	// Alpha is the significance level of each point, and of the decision over
	// all of them: above 0, below 1.
	Alpha float64 `json:"alpha"`
	// Threshold is the change, as a fraction of OLD, that a regression exceeds:
	// 0.05 is 5%.
	Threshold float64 `json:"threshold"`
	// Procs, if not nil, compares the points of OLD at one GOMAXPROCS with those of
	// NEW at another. OLD and NEW may then be the same run.
	Procs *[2]int `json:"procs,omitempty"`
	// Gone, if not nil, matches the names of benchmarks that are meant to be in OLD
	// only.
	Gone *regexp.Regexp `json:"-"`
}

// Defaults are the default options.
var Defaults = Options{Alpha: 0.05, Threshold: 0.05}

// Schema is the version of the JSON form. It changes when a reader of the old
// form would misread the new one.
const Schema = 3

// A Comparison is the result of comparing two runs. It defines the JSON form.
type Comparison struct {
	Schema int `json:"schema"`
	Options
	Old         Run          `json:"old"`
	New         Run          `json:"new"`
	Differences []Difference `json:"differences"` // settings that differ
	Units       []UnitTally  `json:"units"`
	Decision    Decision     `json:"decision"`
	Points      []*Point     `json:"points"` // by unit, in the order of the files
	OnlyOld     []Key        `json:"only_old"`
	OnlyNew     []Key        `json:"only_new"`

	keys     []Key                 // of OLD, then those of NEW alone, in the order of the files
	values   map[Key]*[2][]float64 // of each point in OLD and in NEW
	units    benchfmt.UnitMetadataMap
	packages bool          // the points are of more than one package
	in       map[Key]uint8 // the runs that have a name in any unit, as bits: 1 for OLD, 2 for NEW
}

// inBoth are the bits of a name that both runs have.
const inBoth = 1 | 2

func (c *Comparison) runs() [2]*Run { return [...]*Run{&c.Old, &c.New} }

// A Key identifies a point. Other settings that differ are differences of the
// runs.
type Key struct {
	Package    string `json:"pkg,omitempty"`
	Experiment string `json:"experiment,omitempty"`
	Name       string `json:"name"` // without its prefix "Benchmark"
	Unit       string `json:"unit"` // tidied as by benchstat: sec/op for ns/op, and for µs/op
}

// nameOnly returns the key without its unit.
func (k Key) nameOnly() Key {
	k.Unit = ""
	return k
}

// Files compares two runs. Each path names a file with results in Go's benchmark
// format, or a directory of the lab; "-" is standard input. Every error is a fault of
// the files or of the options.
func Files(oldPath, newPath string, o Options) (*Comparison, error) {
	const maxThreshold = 100 // rejects typos: it is a hundred times the time
	if !(o.Alpha > 0 && o.Alpha < 1) {
		return nil, fmt.Errorf("invalid alpha %v (want a number between 0 and 1)", o.Alpha)
	}
	if !(o.Threshold >= 0 && o.Threshold <= maxThreshold) {
		return nil, fmt.Errorf("invalid threshold %v%% (want 0%% to %v%%)", 100*o.Threshold, 100*maxThreshold)
	}
	c := newComparison(oldPath, newPath, o)
	err := c.read()
	if err == nil {
		err = c.compare()
	}
	if err != nil {
		return nil, err
	}
	return c, nil
}

func newComparison(oldPath, newPath string, o Options) *Comparison {
	return &Comparison{
		Schema: Schema, Options: o, Old: Run{Path: oldPath}, New: Run{Path: newPath},
		values: map[Key]*[2][]float64{}, units: benchfmt.UnitMetadataMap{}, in: map[Key]uint8{},
	}
}

// compare compares the values of both runs. It fails if they have no point in common.
func (c *Comparison) compare() error {
	c.Differences = contrast(&c.Old, &c.New, c.Procs != nil)
	var units []string
	for _, key := range c.keys {
		c.packages = c.packages || key.Package != c.keys[0].Package
		values := c.values[key]
		switch {
		case len(values[1]) == 0:
			c.OnlyOld = append(c.OnlyOld, key)
			if c.Gone == nil || !c.Gone.MatchString(key.Name) {
				c.Decision.Vanished++
			}
		case len(values[0]) == 0:
			c.OnlyNew = append(c.OnlyNew, key)
		default:
			c.Points = append(c.Points, newPoint(key, values, c.units, c.Alpha))
			if !slices.Contains(units, key.Unit) {
				units = append(units, key.Unit)
			}
		}
	}
	if !slices.Contains(slices.Collect(maps.Values(c.in)), inBoth) && len(c.New.Failures) == 0 {
		return c.nothingShared()
	}
	slices.SortStableFunc(c.Points, func(a, b *Point) int { return slices.Index(units, a.Unit) - slices.Index(units, b.Unit) })
	c.Decision.decide(c.Points, c.Options, c.order(), len(c.New.Failures) > 0)
	for _, unit := range units {
		c.Units = append(c.Units, tally(unit, c.Points))
	}
	return nil
}

// nothingShared returns the error of two runs without a common point.
func (c *Comparison) nothingShared() error {
	hint := ""
	for _, d := range c.Differences {
		if d.Key == procsKey && len(d.Old)*len(d.New) > 0 {
			hint = fmt.Sprintf("; GOMAXPROCS is %s in OLD and %s in NEW: to compare two values of it, use -procs, as in -procs %s:%s",
				list(d.Old), list(d.New), d.Old[0], d.New[0])
		}
	}
	return fmt.Errorf("%s and %s have no common point: they have points such as %s and %s%s",
		c.Old.Path, c.New.Path, c.OnlyOld[0].Name, c.OnlyNew[0].Name, hint)
}

// A UnitTally counts the points of one unit by verdict. Units are never
// combined: a time and a number of bytes have no mean.
type UnitTally struct {
	Unit        string          `json:"unit"`
	Points      int             `json:"points"`
	Counts      map[Verdict]int `json:"counts"`
	Regressions int             `json:"regressions"`
	// Geomean is the geometric mean of NEW relative to OLD, minus 1, over all
	// points of the unit, whatever their verdict, as in benchstat. It is null
	// if any point changed from 0 or to 0.
	Geomean Fraction `json:"geomean"`

	was, is float64 // the geometric means of both sides
}

func tally(unit string, points []*Point) UnitTally {
	u := UnitTally{Unit: unit, Counts: map[Verdict]int{}}
	var was, is, ratio float64
	for _, p := range points {
		if p.Unit != unit {
			continue
		}
		u.Points++
		u.Counts[p.Verdict]++
		if p.Regression {
			u.Regressions++
		}
		was += math.Log(p.Old.Median)
		is += math.Log(p.New.Median)
		ratio += math.Log1p(float64(p.Change))
	}
	n := float64(u.Points)
	u.was, u.is, u.Geomean = math.Exp(was/n), math.Exp(is/n), Fraction(math.Expm1(ratio/n))
	if math.IsInf(ratio, 0) {
		u.Geomean = Fraction(math.NaN())
	}
	return u
}
