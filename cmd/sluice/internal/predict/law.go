package predict

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

// A Point is the throughput of all goroutines together on a number of CPUs.
type Point struct {
	Procs int     `json:"procs"`     // GOMAXPROCS, or threads
	X     float64 `json:"ops_per_s"` // operations per second
}

// A Law is the Universal Scalability Law with its three parameters.
type Law struct {
	Lambda float64 `json:"lambda"` // operations per second on one CPU
	Sigma  float64 `json:"sigma"`  // the serial share, >= 0; above 1 if two CPUs are slower than one
	Kappa  float64 `json:"kappa"`  // the cost of each pair of CPUs, >= 0
}

// Errors of Fit. The wrapping errors have the remedy.
var (
	ErrTooFew   = errors.New("too few counts of CPUs")
	ErrTooNoisy = errors.New("the points follow no law")
)

// At returns the throughput on n CPUs, in operations per second. n must be at
// least 1, and need not be whole.
func (l Law) At(n float64) float64 {
	return l.Lambda * n / (1 + l.Sigma*(n-1) + l.Kappa*n*(n-1))
}

// Peak returns the number of CPUs with the highest throughput, and that
// throughput in operations per second. Without a peak, which means κ = 0 and σ
// < 1, n is 0 and x is the plateau, or +Inf if σ is 0, too.
func (l Law) Peak() (n int, x float64) {
	switch {
	case l.Sigma >= 1:
		return 1, l.At(1)
	case l.Kappa == 0:
		return 0, l.Lambda / l.Sigma
	}
	top := math.Sqrt((1 - l.Sigma) / l.Kappa)
	n = int(max(1, math.Min(math.Floor(top), math.MaxInt32)))
	if l.At(float64(n+1)) > l.At(float64(n)) {
		n++
	}
	return n, l.At(float64(n))
}

// MinCounts is the number of different counts of CPUs that three parameters need.
const MinCounts = 3

// MaxMisfit is the largest root mean square distance between law and points
// that Fit accepts, as a factor. Points that vary more are disturbed
// measurements: no smooth curve is near them.
const MaxMisfit = 2.0

// Fit returns the law nearest to the points, by the distance of logarithms: 10%
// count the same at a million and at a thousand per second. The result does not
// depend on the order of the points.
func Fit(points []Point) (Law, error) {
	different := map[int]bool{}
	for _, p := range points {
		if p.Procs < 1 || !(p.X > 0) || math.IsInf(p.X, 1) {
			return Law{}, fmt.Errorf("%v operations per second on %d CPUs is not a throughput", p.X, p.Procs)
		}
		different[p.Procs] = true
	}
	if n := len(different); n < MinCounts {
		return Law{}, fmt.Errorf("%w: the law has %d parameters, and %d counts were measured. Measure at least %d different ones",
			ErrTooFew, MinCounts, n, MinCounts)
	}
	points = slices.Clone(points)
	slices.SortFunc(points, func(a, b Point) int { return a.Procs - b.Procs })
	law := fitLaw(points)
	if misfit := law.misfit(points); misfit > MaxMisfit {
		return Law{}, fmt.Errorf("%w, as the best one misses them by a factor of %.2f (want at most %.1f). Repeat it on a quieter machine, with more repetitions",
			ErrTooNoisy, misfit, MaxMisfit)
	}
	return law, nil
}

// misfit returns the root mean square of log X − log law, as a factor: 1 is a
// perfect fit.
func (l Law) misfit(points []Point) float64 {
	sum := 0.0
	for _, p := range points {
		d := math.Log(p.X / l.At(float64(p.Procs)))
		sum += d * d
	}
	return math.Exp(math.Sqrt(sum / float64(len(points))))
}
