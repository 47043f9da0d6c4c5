package lab

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/sluice-go/sluice/cmd/sluice/internal/format"
	"github.com/sluice-go/sluice/cmd/sluice/internal/predict"
	"github.com/sluice-go/sluice/cmd/sluice/internal/stat"
)

// laws fits a law to one built-in channel in each shape. All shapes have the same
// numbers of CPUs.
func laws(sweep spots) []string {
	var laws []string
	for _, shape := range shapes {
		var counts []int
		var times [][]float64
		for _, p := range sweep.with(shape.of(native)) {
			counts, times = append(counts, p.Procs), append(times, p.samples(shape.of(native)))
		}
		switch {
		case len(counts) == 0:
			return nil
		case len(counts) < predict.MinCounts:
			return []string{fmt.Sprintf("%s of CPUs %s too few for a scaling law: run this on the target machine.",
				format.Plural(len(counts), "count"), format.Are(len(counts)))}
		}
		laws = append(laws, "One built-in channel, "+shape.name+": "+scalingLaw(counts, times)+".")
	}
	return laws
}

// noPeak is the peak of a law that only rises.
const noPeak = math.MaxInt32

// scalingLaw fits a law to the times, in ns per value, at each of some numbers
// of CPUs in ascending order, and describes its peak, if it is within them.
//
// The uncertainty of the peak comes from the rounds: a law is fitted to the
// i-th figures of all counts, for each i, and the interval is the interval of
// these peaks.
func scalingLaw(counts []int, times [][]float64) string {
	fit := func(ns func(of []float64) float64) (law predict.Law, peak int, err error) {
		var points []predict.Point
		for i, count := range counts {
			points = append(points, predict.Point{Procs: count, X: 1e9 / ns(times[i])})
		}
		law, err = predict.Fit(points)
		n, _ := law.Peak()
		return law, cmp.Or(n, noPeak), err
	}
	law, peak, err := fit(func(of []float64) float64 { return stat.Summarize(of).Median })
	if err != nil {
		return "no scaling law: " + err.Error()
	}
	var each []float64
	for round := range len(slices.MinFunc(times, func(a, b []float64) int { return len(a) - len(b) })) {
		if _, peak, err := fit(func(of []float64) float64 { return of[round] }); err == nil {
			each = append(each, float64(peak))
		}
	}
	peaks, most := stat.Summarize(each), counts[len(counts)-1]
	count := func(n float64) string {
		if n > float64(most) {
			return "beyond " + strconv.Itoa(most)
		}
		return strconv.Itoa(int(math.Round(n)))
	}
	text := fmt.Sprintf("the scaling law through %d to %d CPUs (σ %.2g, κ %.2g) ", counts[0], most, law.Sigma, law.Kappa)
	if peak > most {
		text += fmt.Sprintf("has no peak up to %d", most)
	} else {
		text += fmt.Sprintf("has its peak at %s, with %.1f million values per second", format.Plural(peak, "CPU"), law.At(float64(peak))/1e6)
	}
	switch lo, hi := count(peaks.Lo), count(peaks.Hi); {
	case peaks.N == 0:
		return text + "; no single round follows a law"
	case peaks.Confidence == 0:
		return text + "; too few rounds for an interval"
	case lo == hi:
		return text + "; the rounds agree"
	default:
		return text + "; fitted round by round, at " + lo + " to " + hi
	}
}
