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

// An equation of a fit is one point: terms·(a, b, c) should be time.
type equation struct {
	terms  [3]float64
	time   float64
	weight float64
}

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
	for _, p := range points {
		alone = min(alone, leastAlone*float64(p.Procs)/p.X)
	}
	equations := make([]equation, len(points))
	for i, p := range points {
		equations[i] = equation{terms(float64(p.Procs)), 1/p.X - alone/float64(p.Procs), p.X * p.X}
	}
	var c [3]float64
	for range rounds {
		c = nonNegative(equations)
		c[0] += alone
		for i := range equations {
			equations[i].weight = points[i].X / dot(c, equations[i].terms)
		}
	}
	return Law{Lambda: 1 / c[0], Sigma: c[1] / c[0], Kappa: c[2] / c[0]}
}

func dot(a, b [3]float64) float64 { return a[0]*b[0] + a[1]*b[1] + a[2]*b[2] }

// nonNegative returns the non-negative coefficients that minimize the weighted
// squares. Three unknowns have eight sets of nonzero ones. Each set is solved
// without bounds, and the best solution within the bounds is the result. If the
// solution with all three is within them, no other is better.
func nonNegative(equations []equation) (best [3]float64) {
	normal := normalOf(equations)
	if c, ok := solve(normal, []int{0, 1, 2}); ok {
		return c
	}
	least := math.Inf(1)
	for _, free := range [...][]int{{0, 1}, {0, 2}, {1, 2}, {0}, {1}, {2}, {}} {
		c, ok := solve(normal, free)
		if !ok {
			continue
		}
		sum := 0.0
		for i := range equations {
			e := &equations[i]
			d := dot(c, e.terms) - e.time
			sum += e.weight * d * d
		}
		if sum < least {
			least, best = sum, c
		}
	}
	return best
}

// A normal is the matrix of the normal equations, and their right side in the last
// column.
type normal [3][4]float64

func normalOf(equations []equation) (m normal) {
	for i := range equations {
		e := &equations[i]
		for row, t := range e.terms {
			m[row][0] += e.weight * t * e.terms[0]
			m[row][1] += e.weight * t * e.terms[1]
			m[row][2] += e.weight * t * e.terms[2]
			m[row][3] += e.weight * t * e.time
		}
	}
	return m
}

// solve solves the normal equations of the free coefficients, with the others 0, by
// Gaussian elimination. ok is false if a coefficient is negative or undetermined.
func solve(all normal, free []int) (c [3]float64, ok bool) {
	n := len(free)
	var m normal
	for row, from := range free {
		for col, of := range free {
			m[row][col] = all[from][of]
		}
		m[row][n] = all[from][3]
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
