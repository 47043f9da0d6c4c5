package lab

import (
	"fmt"
	"math"
	"strconv"

	"github.com/sluice-go/sluice/cmd/sluice/internal/format"
	"github.com/sluice-go/sluice/cmd/sluice/internal/predict"
	"github.com/sluice-go/sluice/cmd/sluice/internal/stat"
)

// noPeak is the peak of a law that only rises.
const noPeak = math.MaxInt32

// laws fits a law to one built-in channel in each shape. All shapes have the same
// numbers of CPUs.
func (m *Measured) laws() []string {
	var laws []string
	for _, shape := range shapes {
		counts, times := m.scaling(SectionShapes, Panel{}, shape.of(Native))
		switch {
		case len(counts) == 0:
			return nil
		case len(counts) < predict.MinCounts:
			return []string{tooFew(len(counts))}
		}
		laws = append(laws, "One built-in channel, "+shape.name+": "+scalingLaw(counts, times)+".")
	}
	return laws
}

// tooFew explains why there is no law.
func tooFew(counts int) string {
	return fmt.Sprintf("%s of CPUs %s too few for a scaling law: run this on the target machine.", format.Plural(counts, "count"), format.Are(counts))
}

// scalingLaw fits a law to the times, in ns per value, at each of some numbers
// of CPUs in ascending order, and describes its peak.
//
// The uncertainty of the peak comes from the rounds: a law is fitted to the
// i-th figures of all counts, for each i, and the interval is the interval of
// these peaks.
func scalingLaw(counts []int, times [][]float64) string {
	var points []predict.Point
	rounds := noPeak
	for i, count := range counts {
		points = append(points, at(count, stat.Summarize(times[i]).Median))
		rounds = min(rounds, len(times[i]))
	}
	law, err := predict.Fit(points)
	if err != nil {
		return "no scaling law: " + err.Error()
	}
	var peaks []float64
	for round := range rounds {
		var points []predict.Point
		for i, count := range counts {
			points = append(points, at(count, times[i][round]))
		}
		if law, err := predict.Fit(points); err == nil {
			peaks = append(peaks, float64(peak(law)))
		}
	}
	return peakText(law, counts[0], counts[len(counts)-1], stat.Summarize(peaks))
}

// at makes a point of a time in ns.
func at(count int, ns float64) predict.Point { return predict.Point{Procs: count, X: 1e9 / ns} }

// peak returns the number of CPUs with the highest throughput.
func peak(law predict.Law) int {
	if n, _ := law.Peak(); n > 0 {
		return n
	}
	return noPeak
}

// peakText describes the peak of a law, if it is within the measured numbers of
// CPUs, and the peaks of the rounds.
func peakText(law predict.Law, fewest, most int, peaks stat.Summary) string {
	count := func(n float64) string {
		if n > float64(most) {
			return "beyond " + strconv.Itoa(most)
		}
		return strconv.Itoa(int(math.Round(n)))
	}
	text := fmt.Sprintf("the scaling law through %d to %d CPUs (σ %.2g, κ %.2g) ", fewest, most, law.Sigma, law.Kappa)
	if n := peak(law); n > most {
		text += fmt.Sprintf("has no peak up to %d", most)
	} else {
		text += fmt.Sprintf("has its peak at %s, with %.1f million values per second", format.Plural(n, "CPU"), law.At(float64(n))/1e6)
	}
	switch lo, hi := count(peaks.Lo), count(peaks.Hi); {
	case peaks.N == 0:
		text += "; no single round follows a law"
	case peaks.Confidence == 0:
		text += "; too few rounds for an interval"
	case lo == hi:
		text += "; the rounds agree"
	default:
		text += "; fitted round by round, at " + lo + " to " + hi
	}
	return text
}
