package predict

import "math"

// The time between two operations, t = 1/X, is linear in three coefficients:
//
//	t(N) = a·(1/N) + b·(N−1)/N + c·(N−1)    a = 1/λ, b = σ/λ, c = κ/λ
//
// So a fit is a least-squares problem in three non-negative unknowns. It has
// one solution, and needs no starting point. Weights make the distance
// logarithmic: near the solution, log m − log t is (m − t)/√(m·t), and m is
// known from the previous round.

// terms are the factors of a, b and c at n CPUs.
func terms(n float64) [3]float64 { return [3]float64{1 / n, (n - 1) / n, n - 1} }

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
	weights, times := make([]float64, len(points)), make([]float64, len(points))
	for _, p := range points {
		alone = min(alone, leastAlone*float64(p.Procs)/p.X)
	}
	for i, p := range points {
		weights[i] = p.X * p.X
		times[i] = 1/p.X - alone/float64(p.Procs)
	}
	var c [3]float64
	for range rounds {
		c = nonNegative(points, times, weights)
		c[0] += alone
		for i, p := range points {
			weights[i] = p.X / dot(c, terms(float64(p.Procs)))
		}
	}
	return Law{Lambda: 1 / c[0], Sigma: c[1] / c[0], Kappa: c[2] / c[0]}
}

func dot(a, b [3]float64) float64 { return a[0]*b[0] + a[1]*b[1] + a[2]*b[2] }

// nonNegative returns the non-negative coefficients that minimize the weighted
// squares. Three unknowns have eight sets of nonzero ones. Each set is solved
// without bounds, and the best solution within the bounds is the result.
func nonNegative(points []Point, times, weights []float64) (best [3]float64) {
	least := math.Inf(1)
	for _, free := range [][]int{{0, 1, 2}, {0, 1}, {0, 2}, {1, 2}, {0}, {1}, {2}, {}} {
		c, ok := solve(points, times, weights, free)
		if !ok {
			continue
		}
		sum := 0.0
		for i, p := range points {
			d := dot(c, terms(float64(p.Procs))) - times[i]
			sum += weights[i] * d * d
		}
		if sum < least {
			least, best = sum, c
		}
	}
	return best
}

// solve minimizes over the free coefficients, with the others 0, by Gaussian
// elimination of the normal equations. ok is false if a coefficient is negative
// or undetermined.
func solve(points []Point, times, weights []float64, free []int) (c [3]float64, ok bool) {
	n := len(free)
	var m [3][4]float64
	for i, p := range points {
		t := terms(float64(p.Procs))
		for row := range n {
			for col := range n {
				m[row][col] += weights[i] * t[free[row]] * t[free[col]]
			}
			m[row][n] += weights[i] * t[free[row]] * times[i]
		}
	}
	for i := range n {
		pivot := i
		for row := i + 1; row < n; row++ {
			if math.Abs(m[row][i]) > math.Abs(m[pivot][i]) {
				pivot = row
			}
		}
		m[i], m[pivot] = m[pivot], m[i]
		if m[i][i] == 0 {
			return c, false
		}
		for row := i + 1; row < n; row++ {
			factor := m[row][i] / m[i][i]
			for col := i; col <= n; col++ {
				m[row][col] -= factor * m[i][col]
			}
		}
	}
	for i := n - 1; i >= 0; i-- {
		value := m[i][n]
		for j := i + 1; j < n; j++ {
			value -= m[i][j] * c[free[j]]
		}
		value /= m[i][i]
		if !(value >= 0) {
			return c, false
		}
		c[free[i]] = value
	}
	return c, true
}
