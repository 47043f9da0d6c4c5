package compare

import (
	"math"
	"slices"
	"strings"
	"sync"

	"golang.org/x/perf/benchfmt"
	"golang.org/x/perf/benchmath"
)

// confidence is the level of every interval, as in benchstat.
const confidence = 0.95

// A Verdict is the result of one point, judged alone.
type Verdict string

// The verdicts. Higher and Lower are for units with an unknown direction.
const (
	Same   Verdict = "same" // no difference beyond noise
	TooFew Verdict = "too few"
	Worse  Verdict = "worse"
	Better Verdict = "better"
	Higher Verdict = "higher"
	Lower  Verdict = "lower"
)

// A Point is one benchmark in one unit, in both runs.
type Point struct {
	Key
	Old Sample `json:"old"`
	New Sample `json:"new"`
	// Delta is the change as benchstat writes it: "~" for noise, "+1.23%",
	// "0.00%" for different values with the same median, "?" for a change from
	// 0.
	Delta string `json:"delta"`
	// Change is NEW relative to OLD, as a fraction of OLD: null from 0.
	Change Fraction `json:"change"`
	P      float64  `json:"p"`
	// Exact is true if the file declares the unit free of noise: any change
	// counts.
	Exact   bool    `json:"exact,omitempty"`
	Verdict Verdict `json:"verdict"`
	// Regression is true if the point is worse by more than the threshold, beyond
	// the noise within and between runs, when all points are judged together.
	Regression bool `json:"regression,omitempty"`
	// Suspect is true if the point looks far worse, but may be noise.
	Suspect bool `json:"suspect,omitempty"`
	// Explained names the readings of the machine that changed at least as much.
	Explained []string `json:"explained,omitempty"`
	// LeastP is the smallest possible p for samples of these sizes.
	LeastP float64 `json:"least_p"`

	better   int  // +1 if higher is better, -1 if lower is, 0 if unknown
	testable bool // its values have logarithms, and a direction
	evidence evidence
	procs    [2]int // GOMAXPROCS in OLD and in NEW, if the user asked to compare two
}

// A Sample is the repetitions of one run in three numbers.
type Sample struct {
	N      int     `json:"n"`
	Median float64 `json:"median"`
	// Lo and Hi are the ends of the interval of the median, or null if the
	// sample is too small for an interval.
	Lo Fraction `json:"lo"`
	Hi Fraction `json:"hi"`
	// Range is the longer half of the interval, as benchstat writes it: "3%", "∞".
	Range string `json:"range"`
}

// A Fraction is a number that may be infinite.
type Fraction float64

func newPoint(key Key, values *[2][]float64, units benchfmt.UnitMetadataMap, o Options) Point {
	thresholds := benchmath.DefaultThresholds
	thresholds.CompareAlpha = o.Alpha
	assumption := units.GetAssumption(key.Unit)
	var samples [2]*benchmath.Sample
	var summaries [2]benchmath.Summary
	for i := range samples {
		samples[i] = benchmath.NewSample(slices.Clone(values[i]), &thresholds)
		summaries[i] = assumption.Summary(samples[i], confidence)
	}
	tested := assumption.Compare(samples[0], samples[1])
	was, is := summaries[0].Center, summaries[1].Center
	p := Point{
		Key:    key,
		Old:    newSample(tested.N1, summaries[0]),
		New:    newSample(tested.N2, summaries[1]),
		Delta:  tested.FormatDelta(was, is),
		Change: change(was, is),
		P:      tested.P,
		Exact:  assumption == benchmath.AssumeExact,
		better: direction(key.Unit, units),
	}
	if o.Procs != nil {
		p.procs = *o.Procs
	}
	p.evidence, p.testable = newEvidence(values, p.better)
	if !p.Exact {
		p.LeastP = leastP(tested.N1, tested.N2)
	}
	switch {
	case p.LeastP > o.Alpha:
		p.Verdict = TooFew
	case p.Delta == noise || was == is:
		p.Verdict = Same
	default:
		p.Verdict = moved(was, is, p.better)
	}
	return p
}

// noise is benchstat's text for a difference that is not significant.
const noise = "~"

func newSample(n int, s benchmath.Summary) Sample {
	return Sample{N: n, Median: s.Center, Lo: Fraction(s.Lo), Hi: Fraction(s.Hi), Range: s.PctRangeString()}
}

func change(was, is float64) Fraction {
	switch {
	case was == is:
		return 0
	case was == 0:
		return Fraction(math.Inf(1))
	}
	return Fraction(is/was - 1)
}

func moved(was, is float64, better int) Verdict {
	up := is > was
	switch {
	case better == 0 && up:
		return Higher
	case better == 0:
		return Lower
	case up == (better > 0):
		return Better
	}
	return Worse
}

// direction returns +1 if more of a unit is better, -1 if it is worse, and 0 if
// unknown. The file's declaration comes first ("Unit M/s better=higher"), then
// benchfmt's knowledge, then the kind of the unit: times, CPU times, delays, bytes and
// allocations should be small, rates high. Not so how long a goroutine was blocked
// (blocked-send-sec/op): a receiver is blocked longer if its senders became slower, and
// also if it became faster.
func direction(unit string, units benchfmt.UnitMetadataMap) int {
	if known := units.GetBetter(unit); known != 0 || units.Get(unit, "better") != nil {
		return known
	}
	if rate(unit) {
		return +1
	}
	measured, _, _ := strings.Cut(unit, "/")
	first, rest, _ := strings.Cut(measured, "-")
	switch first {
	case "sec", "B", "bytes", "allocs":
		return -1
	case "cpu", "delay": // cpu-sec/op, delay-p99-sec
		if rest == "sec" || strings.HasSuffix(rest, "-sec") {
			return -1
		}
	}
	return 0
}

func rate(unit string) bool {
	return strings.HasSuffix(unit, "/s") || strings.HasSuffix(unit, "/sec")
}

// timed reports whether a unit is a time or a rate, which are "slower" or
// "faster".
func timed(unit string) bool {
	return rate(unit) || strings.HasPrefix(unit, "sec")
}

type sizes struct{ old, new int }

var leastPs sync.Map // from sizes to float64

// leastP returns the p of samples of these sizes that do not overlap, which is
// the smallest possible p. If it is above alpha, no difference can be
// significant.
func leastP(n1, n2 int) float64 {
	if p, ok := leastPs.Load(sizes{n1, n2}); ok {
		return p.(float64)
	}
	apart := make([]float64, n1+n2)
	for i := range apart {
		apart[i] = float64(i)
	}
	p := benchmath.AssumeNothing.Compare(
		benchmath.NewSample(apart[:n1], &benchmath.DefaultThresholds),
		benchmath.NewSample(apart[n1:], &benchmath.DefaultThresholds)).P
	leastPs.Store(sizes{n1, n2}, p)
	return p
}
