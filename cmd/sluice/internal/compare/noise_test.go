package compare

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestEvidence(t *testing.T) {
	log := math.Log
	for _, tt := range []struct {
		name    string
		was, is []float64
		better  int
		want    evidence
		ok      bool
	}{
		{"twice the time", []float64{1, 1, 1}, []float64{2, 2, 2}, -1, evidence{log(2), log(2), 0}, true},
		{"half the rate", []float64{2, 2, 2}, []float64{1, 1, 1}, +1, evidence{log(2), log(2), 0}, true},
		{"only the median", []float64{1, 1, 1}, []float64{1, 4, 4}, -1, evidence{log(4), 0, log(4) / 2}, true},
		{"the best of a rate is the highest", []float64{4, 4, 4}, []float64{1, 1, 4}, +1, evidence{log(4), 0, log(4) / 2}, true},
		{"nothing", []float64{0, 0}, []float64{0, 0}, -1, evidence{0, 0, 0}, true},
		{"from nothing", []float64{0, 0}, []float64{1, 1}, -1, evidence{100, 100, 0}, true},
		{"unknown direction", []float64{1}, []float64{2}, 0, evidence{}, false},
		{"negative", []float64{1}, []float64{-2}, -1, evidence{}, false},
	} {
		got, ok := newEvidence(&[2][]float64{tt.was, tt.is}, tt.better)
		near := func(a, b float64) bool { return math.Abs(a-b) < 1e-9 }
		if ok != tt.ok || !near(got.median, tt.want.median) || !near(got.best, tt.want.best) || !near(got.within, tt.want.within) {
			t.Errorf("%s: %+v, %v, want %+v, %v", tt.name, got, ok, tt.want, tt.ok)
		}
	}
}

// The best of 24 repetitions is lower than the best of 6 by chance. The same
// quantile of both is not.
func TestBestOfUnequalSamples(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 8))
	sum := 0.0
	const times = 2000
	for range times {
		e, _ := newEvidence(&[2][]float64{drawn(random, 100, 24), drawn(random, 100, 6)}, -1)
		sum += e.best
	}
	if mean := sum / times; math.Abs(mean) > 0.003 {
		t.Errorf("the best repetitions of unequal samples differ by %.4f", mean)
	}
}

// laplace draws from a Laplace distribution.
func laplace(random *rand.Rand, scale float64) float64 {
	v := scale * random.ExpFloat64()
	if random.IntN(2) == 0 {
		return -v
	}
	return v
}

// The core scale estimates the scale of a Laplace distribution, and does not mind
// that half of the values, or three in five, moved away.
func TestCoreScale(t *testing.T) {
	random := rand.New(rand.NewPCG(9, 10))
	for _, moved := range []int{0, 100, 120} {
		values := make([]float64, 200)
		for i := range values {
			values[i] = laplace(random, 0.05)
			if i < moved {
				values[i] += 5
			}
		}
		if got := coreScale(values); got < 0.03 || got > 0.16 {
			t.Errorf("with %d values moved: scale %.3f, drawn with 0.05", moved, got)
		}
	}
	if got := coreScale([]float64{0, 9}); got != 0 {
		t.Errorf("of two values: %v", got)
	}
}

// A shiftedRun draws a file whose points have noise between runs, too. Some of them are
// disturbed: slower throughout, and scattered.
func shiftedRun(random *rand.Rand, header string, points, n int, between float64, disturbed int) string {
	var lines []line
	for i := range points {
		shift := laplace(random, between/2)
		scatter := 0.05
		if random.IntN(points) < disturbed {
			shift += random.ExpFloat64() * 0.06
			scatter = 0.4
		}
		values := make([]float64, n)
		for j := range values {
			values[j] = 100 * math.Exp(shift+scatter*random.ExpFloat64())
		}
		lines = append(lines, line{fmt.Sprintf("Elastic/n=%d", i), "ns/op", values})
	}
	return run(header, lines...)
}

// If only runs differ, at most one comparison in twenty fails, however many points
// there are and however few repetitions. The rank test alone is far from that.
func TestFalseAlarmsBetweenRuns(t *testing.T) {
	for _, tt := range []struct {
		points, n int
		between   float64
		disturbed int
	}{
		{1, 6, 0.02, 0}, {5, 6, 0.02, 0}, {12, 6, 0.05, 0}, {40, 6, 0.02, 0}, {40, 6, 0.1, 0}, {40, 6, 0.05, 8}, {200, 6, 0.05, 0}, {200, 9, 0.05, 60},
	} {
		t.Run(fmt.Sprintf("%d points, between %v, %d disturbed", tt.points, tt.between, tt.disturbed), func(t *testing.T) {
			random := rand.New(rand.NewPCG(11, uint64(tt.points)))
			const times = 40
			failed, differing := 0, 0
			for range times {
				c := compared(t, shiftedRun(random, header, tt.points, tt.n, tt.between, tt.disturbed),
					shiftedRun(random, later, tt.points, tt.n, tt.between, tt.disturbed), Defaults)
				if c.Decision.Outcome == Failed {
					failed++
				}
				if c.Units[0].Counts[Worse] > 0 {
					differing++
				}
			}
			if failed > times/20 {
				t.Errorf("%d of %d comparisons failed", failed, times)
			}
			if tt.points >= 40 && differing < times/2 {
				t.Errorf("only %d of %d comparisons have a point that is worse within the runs: the test shows nothing", differing, times)
			}
		})
	}
}

// Points of one experiment and kind have a scale of their own; small groups share
// one, but never with another kind.
func TestGroupNoise(t *testing.T) {
	var points []*Point
	add := func(experiment, unit string, n int) {
		for range n {
			points = append(points, &Point{Key: Key{Experiment: experiment, Unit: unit}})
		}
	}
	add("a", "sec/op", 5)
	add("a", "M/s", 3) // with the times
	add("a", "B/op", 2)
	add("b", "sec/op", 4)
	add("c", "sec/op", 2)
	add("c", "B/op", 9)
	var got []string
	for _, n := range groupNoise(points, 1) {
		got = append(got, fmt.Sprintf("%s %s %d", n.Experiment, n.Kind, n.Points))
	}
	want := []string{"a time 8", " B/op 2", " time 6", "c B/op 9"}
	if !slices.Equal(got, want) {
		t.Errorf("groups %q, want %q", got, want)
	}
}

// A disturbed group has a larger scale, and a small group an unknown one; turns
// reduce both.
func TestScale(t *testing.T) {
	group := func(n int, within float64) *Noise {
		g := &Noise{}
		for range n {
			g.points = append(g.points, &Point{evidence: evidence{within: within}})
		}
		return g
	}
	scale := func(g *Noise, turns int) float64 { g.measure(turns); return g.Scale }
	for _, tt := range []struct {
		name         string
		less, larger float64
	}{
		{"disturbed", scale(group(9, 0.1), 1), scale(group(9, 0.5), 1)},
		{"small", scale(group(9, 0.1), 1), scale(group(7, 0.1), 1)},
		{"single runs", scale(group(9, 0.1), 3), scale(group(9, 0.1), 1)},
		{"small single runs", scale(group(2, 0.1), 3), scale(group(2, 0.1), 1)},
	} {
		if tt.less >= tt.larger || tt.less <= 0 {
			t.Errorf("%s: scale %v is not above %v", tt.name, tt.larger, tt.less)
		}
	}
}
