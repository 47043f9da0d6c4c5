package compare

import (
	"encoding/json"
	"math"
	"slices"
	"sort"
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
	// Interval has the ends of the interval of Change: the changes that the test does
	// not reject. They are null for too few values, or values that are not positive.
	Interval [2]Fraction `json:"interval"`
	P        float64     `json:"p"`
	// LeastP is the smallest possible p for samples of these sizes: if it is above alpha,
	// no difference can be significant.
	LeastP float64 `json:"least_p"`
	// Exact is true if the file declares the unit free of noise: any change
	// counts.
	Exact   bool    `json:"exact,omitempty"`
	Verdict Verdict `json:"verdict"`
	// Regression is true if the point is worse by more than the threshold, beyond
	// the noise within and between runs, when all points are judged together.
	// Improvement is the same for a point that is better.
	Regression  bool `json:"regression,omitempty"`
	Improvement bool `json:"improvement,omitempty"`
	// Suspect is true if the point looks far worse, but may be noise.
	Suspect bool `json:"suspect,omitempty"`

	better   int  // +1 if higher is better, -1 if lower is, 0 if unknown
	testable bool // its values have logarithms, and a direction
	evidence evidence
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

// A Fraction is a number that may be infinite. JSON has null for it then.
type Fraction float64

// MarshalJSON writes f, or null if it is not finite.
func (f Fraction) MarshalJSON() ([]byte, error) {
	if !f.finite() {
		return []byte("null"), nil
	}
	return json.Marshal(float64(f))
}

func (f Fraction) finite() bool { return !math.IsInf(float64(f), 0) && !math.IsNaN(float64(f)) }

func newPoint(key Key, values *[2][]float64, units benchfmt.UnitMetadataMap, alpha float64) *Point {
	thresholds := benchmath.Thresholds{CompareAlpha: alpha}
	assumption := units.GetAssumption(key.Unit)
	var samples [2]*benchmath.Sample
	var summaries [2]benchmath.Summary
	for i := range samples {
		samples[i] = benchmath.NewSample(slices.Clone(values[i]), &thresholds)
		summaries[i] = assumption.Summary(samples[i], confidence)
	}
	tested := assumption.Compare(samples[0], samples[1])
	was, is := summaries[0].Center, summaries[1].Center
	p := &Point{
		Key:      key,
		Old:      newSample(tested.N1, summaries[0]),
		New:      newSample(tested.N2, summaries[1]),
		Delta:    tested.FormatDelta(was, is),
		Change:   Fraction(is/was - 1),
		Interval: interval(samples[0].Values, samples[1].Values),
		P:        tested.P,
		Exact:    assumption == benchmath.AssumeExact,
		better:   direction(key.Unit, units),
	}
	if was == is {
		p.Change = 0 // of 0, too
	}
	p.evidence, p.testable = newEvidence(values, p.better)
	if !p.Exact {
		p.LeastP = testOf(tested.N1, tested.N2).least
	}
	switch {
	case p.LeastP > alpha:
		p.Verdict = TooFew
	case p.Delta == "~" || was == is:
		p.Verdict = Same
	case p.better == 0 && is > was:
		p.Verdict = Higher
	case p.better == 0:
		p.Verdict = Lower
	case (is > was) == (p.better > 0):
		p.Verdict = Better
	default:
		p.Verdict = Worse
	}
	return p
}

func newSample(n int, s benchmath.Summary) Sample {
	return Sample{N: n, Median: s.Center, Lo: Fraction(s.Lo), Hi: Fraction(s.Hi), Range: s.PctRangeString()}
}

// pOf returns the p of two samples without ties of which so many pairs have the lower
// value in NEW.
func pOf(n1, n2, lower int) float64 {
	var samples [2][]float64
	for i := range n1 {
		samples[0] = append(samples[0], float64(i))
	}
	for j := range n2 {
		v := float64(n1) // above all of OLD
		if below := lower - j*n1; below > 0 {
			v = float64(max(0, n1-below)) - 0.5
		}
		samples[1] = append(samples[1], v+float64(j)/float64(2*n2))
	}
	test := &benchmath.DefaultThresholds
	return benchmath.AssumeNothing.Compare(benchmath.NewSample(samples[0], test), benchmath.NewSample(samples[1], test)).P
}

// A test is what the Mann-Whitney U test can find with samples of these sizes.
type test struct {
	least float64 // the smallest possible p
	ranks int     // so many of the sorted ratios at either end are outside of an interval
}

var tests sync.Map // from sizes to test

func testOf(n1, n2 int) test {
	type sizes struct{ old, new int }
	if known, ok := tests.Load(sizes{n1, n2}); ok {
		return known.(test)
	}
	ranks := sort.Search(n1*n2/2+1, func(lower int) bool { return pOf(n1, n2, lower) > 1-confidence })
	known, _ := tests.LoadOrStore(sizes{n1, n2}, test{pOf(n1, n2, 0), ranks})
	return known.(test)
}

// interval returns the changes from one sorted sample to the other that the
// Mann-Whitney U test does not reject: between two of the sorted ratios of all pairs
// (Hodges and Lehmann, "Estimates of Location Based on Rank Tests", 1963).
func interval(was, is []float64) [2]Fraction {
	pairs, k := len(was)*len(is), testOf(len(was), len(is)).ranks
	if k == 0 || was[0] <= 0 || is[0] <= 0 {
		return [2]Fraction{Fraction(math.Inf(-1)), Fraction(math.Inf(1))}
	}
	return [2]Fraction{Fraction(ratio(was, is, k-1) - 1), Fraction(ratio(was, is, pairs-k) - 1)}
}

// ratio returns the ratio of a pair that is larger than those of k others, to six digits.
func ratio(was, is []float64, k int) float64 {
	low, high := is[0]/was[len(was)-1], is[len(is)-1]/was[0]
	for high > low*(1+1e-6) {
		middle := math.Sqrt(low * high)
		below, i := 0, 0
		for _, v := range is {
			for i < len(was) && was[i]*middle <= v {
				i++
			}
			below += len(was) - i
		}
		if below > k {
			high = middle
		} else {
			low = middle
		}
	}
	return math.Sqrt(low * high)
}
