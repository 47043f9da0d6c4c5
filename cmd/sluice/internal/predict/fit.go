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
