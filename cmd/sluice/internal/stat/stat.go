// Package stat summarizes repeated measurements: a median with its confidence
// interval, and the change between two contenders with its interval.
//
// What may enter: arithmetic over samples, by golang.org/x/perf/benchmath, and
// the text of its results. Nothing here measures, prints a table or knows an
// experiment.
package stat

import (
	"math"
	"slices"

	"golang.org/x/perf/benchmath"

	"github.com/sluice-go/sluice/cmd/sluice/internal/format"
)

// Confidence is the minimum level of every interval. The order statistics of a
// small sample have only some levels, so the actual level is slightly higher.
const Confidence = 0.95

// MinSamples is the smallest sample whose extremes enclose the median with
// [Confidence]: of five, both extremes miss it one time in sixteen.
const MinSamples = 6

// A Summary is a sample in four numbers.
type Summary struct {
	N      int     `json:"n"`
	Median float64 `json:"median"`
	// Lo and Hi are the ends of the confidence interval of the median or, when
	// Confidence is 0, the extremes of a sample too small to have one.
	Lo float64 `json:"lo"`
	Hi float64 `json:"hi"`
	// Confidence is the actual level of Lo and Hi, or 0 for a range.
	Confidence float64 `json:"confidence"`
}

// Summarize returns the median of values and its interval. It makes no
// assumption about their distribution: benchmark times have a long tail. An
// empty sample gives the zero Summary.
func Summarize(values []float64) Summary {
	if len(values) == 0 {
		return Summary{}
	}
	sorted := slices.Clone(values)
	slices.Sort(sorted)
	sample := benchmath.NewSample(sorted, &benchmath.DefaultThresholds)
	found := benchmath.AssumeNothing.Summary(sample, Confidence)
	s := Summary{N: len(values), Median: found.Center, Lo: found.Lo, Hi: found.Hi, Confidence: found.Confidence}
	if math.IsInf(s.Lo, 0) || math.IsInf(s.Hi, 0) {
		s.Lo, s.Hi, s.Confidence = sorted[0], sorted[len(sorted)-1], 0
	}
	return s
}

// Spread returns the distance from the median to the farther end of the
// interval, as a fraction of the median. It is 0 for a median of 0.
func (s Summary) Spread() float64 {
	if s.Median == 0 {
		return 0
	}
	return max(s.Hi-s.Median, s.Median-s.Lo) / math.Abs(s.Median)
}

// Precise is the spread up to which an interval is narrow enough. Most findings
// are changes of 10% and more.
const Precise = 0.10

// Wide reports whether there is an interval and it is wider than [Precise].
func (s Summary) Wide() bool { return s.Confidence > 0 && s.Spread() > Precise }

// Known reports whether the interval determines the size of the figure, by
// [format.Known]. A figure that is not known is not shown.
func (s Summary) Known() bool { return s.N > 0 && format.Known(s.Median, s.Lo, s.Hi) }

// In returns s in a unit of per present units.
func (s Summary) In(per float64) Summary {
	s.Median, s.Lo, s.Hi = s.Median/per, s.Lo/per, s.Hi/per
	return s
}

// Above returns s minus base. The result may be negative.
func (s Summary) Above(base float64) Summary {
	s.Median, s.Lo, s.Hi = s.Median-base, s.Lo-base, s.Hi-base
	return s
}

// Inverse returns the summary of rate divided by each figure: it turns times
// into rates. It returns the zero Summary if any figure is not positive.
func (s Summary) Inverse(rate float64) Summary {
	if s.Lo <= 0 || s.Median <= 0 {
		return Summary{}
	}
	s.Median, s.Lo, s.Hi = rate/s.Median, rate/s.Hi, rate/s.Lo
	return s
}

// A Change is the relative change from one contender's figure to another's:
// -0.12 is 12% less.
type Change struct {
	Summary
}

// Compare returns the change from base to other, sample by sample. The i-th
// samples of both must be taken right after each other, so that a slow phase of
// the machine slows both, and cancels out. Compare ignores samples beyond the
// shorter list and pairs whose base is not positive.
func Compare(base, other []float64) Change {
	ratios := make([]float64, 0, len(base))
	for i := range min(len(base), len(other)) {
		if base[i] > 0 {
			ratios = append(ratios, other[i]/base[i]-1)
		}
	}
	return Change{Summarize(ratios)}
}

// Between returns the change from base to other if the samples are not pairs,
// so that nothing cancels out. Its interval is computed from the ends of both
// intervals, and has a lower confidence than either. Between returns the zero
// Change if either sample is empty, or base is not positive throughout.
func Between(base, other []float64) Change {
	b, o := Summarize(base), Summarize(other)
	if b.N == 0 || o.N == 0 || b.Lo <= 0 {
		return Change{}
	}
	return Change{Summary{
		N:      min(b.N, o.N),
		Median: o.Median/b.Median - 1,
		Lo:     o.Lo/b.Hi - 1,
		Hi:     o.Hi/b.Lo - 1,
		// A lower bound: the sum of both probabilities of error. Two ranges
		// have none.
		Confidence: max(0, b.Confidence+o.Confidence-1),
	}}
}

// Clear reports whether the change is beyond noise: its interval exists and
// does not touch zero.
func (c Change) Clear() bool {
	return c.Confidence > 0 && (c.Lo > 0 || c.Hi < 0)
}
