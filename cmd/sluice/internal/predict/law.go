package predict

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

// A Point is the measured throughput of all goroutines together on a number of CPUs: the
// median of the repetitions in operations per second, and its interval.
type Point struct {
	Procs int     `json:"procs"` // GOMAXPROCS, or threads
	X     float64 `json:"ops_per_s"`
	Lo    float64 `json:"lo"`
	Hi    float64 `json:"hi"`
	N     int     `json:"n"` // repetitions
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
		return Law{}, fmt.Errorf("%w: %d measured (want at least %d, such as 1, 2 and 4)", ErrTooFew, n, MinCounts)
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

// The time between two operations, t = 1/X, is linear in three coefficients:
//
//	t(N) = a·(1/N) + b·(N−1)/N + c·(N−1)    a = 1/λ, b = σ/λ, c = κ/λ
//
// So a fit is a least-squares problem in three non-negative unknowns. It has
// one solution, and needs no starting point. Weights make the distance
// logarithmic: near the solution, log m − log t is (m − t)/√(m·t), and m is
// known from the previous round.

// terms are the factors of a, b and c at n CPUs.
func terms(n int) [3]float64 {
	f := float64(n)
	return [3]float64{1 / f, (f - 1) / f, f - 1}
}

// rounds is the number of updates of the weights. The fourth digit is stable
// after ten.
const rounds = 25

// leastAlone is the lower limit of a, as a share of the time on one CPU with
// perfect scaling. Without a measurement on one CPU, a could be 0, and λ
// infinite.
const leastAlone = 0.01

// fitLaw fits points of at least two different counts.
func fitLaw(points []Point) Law {
	alone := math.Inf(1)
	for _, p := range points {
		alone = min(alone, leastAlone*float64(p.Procs)/p.X)
	}
	var c [3]float64
	for round := range rounds {
		var m normal
		for _, p := range points {
			t := terms(p.Procs)
			time, weight := 1/p.X-alone/float64(p.Procs), p.X*p.X
			if round > 0 {
				weight = p.X / (c[0]*t[0] + c[1]*t[1] + c[2]*t[2])
			}
			for row := range t {
				for col := range t {
					m[row][col] += weight * t[row] * t[col]
				}
				m[row][3] += weight * t[row] * time
			}
		}
		c = m.nonNegative()
		c[0] += alone
	}
	return Law{Lambda: 1 / c[0], Sigma: c[1] / c[0], Kappa: c[2] / c[0]}
}

// A normal is the matrix of the normal equations, with their right side in the
// last column.
type normal [3][4]float64

// nonNegative returns the non-negative coefficients that minimize the weighted
// squares. Three unknowns have eight sets of nonzero ones. Each set is solved
// without bounds, and the best solution within the bounds is the result.
func (m normal) nonNegative() (best [3]float64) {
	least := 0.0 // of the sum of squares, without the part that is the same for all sets
	for _, free := range [...][]int{{0, 1, 2}, {0, 1}, {0, 2}, {1, 2}, {0}, {1}, {2}} {
		c, ok := m.solve(free)
		if !ok {
			continue
		}
		// At a minimum over the free coefficients, the sum is that part minus c·right.
		if sum := -(c[0]*m[0][3] + c[1]*m[1][3] + c[2]*m[2][3]); sum < least {
			least, best = sum, c
		}
	}
	return best
}

// solve solves the equations of the free coefficients, with the others 0, by
// Gaussian elimination. ok is false if a coefficient is negative or undetermined.
func (m normal) solve(free []int) (c [3]float64, ok bool) {
	n := len(free)
	var e normal
	for row, from := range free {
		for col, of := range free {
			e[row][col] = m[from][of]
		}
		e[row][n] = m[from][3]
	}
	for i := range n {
		for row := i + 1; row < n; row++ {
			if math.Abs(e[row][i]) > math.Abs(e[i][i]) {
				e[i], e[row] = e[row], e[i]
			}
		}
		if e[i][i] == 0 {
			return c, false
		}
		for row := range n {
			if factor := e[row][i] / e[i][i]; row != i {
				for col := i; col <= n; col++ {
					e[row][col] -= factor * e[i][col]
				}
			}
		}
	}
	for i, of := range free {
		if c[of] = e[i][n] / e[i][i]; !(c[of] >= 0) {
			return c, false
		}
	}
	return c, true
}
