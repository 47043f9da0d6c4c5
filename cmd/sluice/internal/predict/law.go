package predict

import (
	"errors"
	"fmt"
	"math"
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

// At returns the throughput on n CPUs, at least 1, in operations per second.
func (l Law) At(cpus int) float64 {
	n := float64(cpus)
	return l.Lambda * n / (1 + l.Sigma*(n-1) + l.Kappa*n*(n-1))
}

// Peak returns the number of CPUs with the highest throughput. It is 0 for a law that
// only rises, which means κ = 0 and σ < 1.
func (l Law) Peak() int {
	switch {
	case l.Sigma >= 1:
		return 1
	case l.Kappa == 0:
		return 0
	}
	top := math.Sqrt((1 - l.Sigma) / l.Kappa)
	n := int(max(1, math.Min(math.Floor(top), math.MaxInt32)))
	if l.At(n+1) > l.At(n) {
		n++
	}
	return n
}

// MinCounts is the number of different counts of CPUs that three parameters need.
const MinCounts = 3

// MaxMisfit is the largest root mean square distance between law and points
// that Fit accepts, as a factor. Points that vary more are disturbed
// measurements: no smooth curve is near them.
const MaxMisfit = 2.0

// Fit returns the law nearest to the points, which must be of different counts, by the
// distance of logarithms: 10% count the same at a million and at a thousand per second.
func Fit(points []Point) (Law, error) {
	if n := len(points); n < MinCounts {
		return Law{}, fmt.Errorf("%w: %d measured (want at least %d, such as 1, 2 and 4)", ErrTooFew, n, MinCounts)
	}
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
		d := math.Log(p.X / l.At(p.Procs))
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
func terms(n int) vector {
	f := float64(n)
	return vector{1 / f, (f - 1) / f, f - 1}
}

// rounds is the number of updates of the weights. The fourth digit is stable
// after ten.
const rounds = 25

// leastAlone is the lower limit of a, as a share of the time on one CPU with
// perfect scaling. Without a measurement on one CPU, a could be 0, and λ
// infinite.
const leastAlone = 0.01

// fitLaw fits at least two points.
func fitLaw(points []Point) Law {
	alone := math.Inf(1)
	for _, p := range points {
		alone = min(alone, leastAlone*float64(p.Procs)/p.X)
	}
	var c vector
	for round := range rounds {
		var m normal
		for _, p := range points {
			t := terms(p.Procs)
			time, weight := 1/p.X-alone/float64(p.Procs), p.X*p.X
			if round > 0 {
				weight = p.X / c.dot(t)
			}
			for row := range t {
				for col := range t {
					m.columns[col][row] += weight * t[row] * t[col]
				}
				m.right[row] += weight * t[row] * time
			}
		}
		c = m.nonNegative()
		c[0] += alone
	}
	return Law{Lambda: 1 / c[0], Sigma: c[1] / c[0], Kappa: c[2] / c[0]}
}

// A vector has a component for each of the coefficients a, b and c.
type vector [3]float64

func (v vector) dot(w vector) float64 { return v[0]*w[0] + v[1]*w[1] + v[2]*w[2] }

// det returns the determinant of a matrix with these columns.
func det(u, v, w vector) float64 {
	return u.dot(vector{v[1]*w[2] - v[2]*w[1], v[2]*w[0] - v[0]*w[2], v[0]*w[1] - v[1]*w[0]})
}

// A normal is the matrix of the normal equations, which is symmetric, and their right side.
type normal struct {
	columns [3]vector
	right   vector
}

// nonNegative returns the non-negative coefficients that minimize the weighted
// squares. Three unknowns have eight sets of nonzero ones. Each set is solved
// without bounds, by Cramer's rule, and the best solution within the bounds is the
// result.
func (m normal) nonNegative() (best vector) {
	least := 0.0 // of the sum of squares, without the part that is the same for all sets
	for zeros := range 8 {
		e := m
		for i := range e.columns {
			if zeros>>i&1 != 0 { // the equation is that the coefficient is 0
				e.columns[0][i], e.columns[1][i], e.columns[2][i], e.right[i] = 0, 0, 0, 0
				e.columns[i] = vector{}
				e.columns[i][i] = 1
			}
		}
		u, v, w, d := e.columns[0], e.columns[1], e.columns[2], det(e.columns[0], e.columns[1], e.columns[2])
		c := vector{det(e.right, v, w) / d, det(u, e.right, w) / d, det(u, v, e.right) / d}
		// At a minimum over the free coefficients, the sum is that part minus c·right.
		if sum := -c.dot(m.right); d != 0 && min(c[0], c[1], c[2]) >= 0 && sum < least {
			least, best = sum, c
		}
	}
	return best
}
