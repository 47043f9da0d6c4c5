package compare

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// The paper's example has fifteen hypotheses: at 0.05 the procedure rejects
// four of them, and Bonferroni's three.
func TestBenjaminiHochberg(t *testing.T) {
	paper := []float64{
		0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344,
		0.0459, 0.3240, 0.4262, 0.5719, 0.6528, 0.7590, 1.0000,
	}
	tests := []struct {
		name   string
		ps     []float64
		cutoff float64
		fewest int
	}{
		{"none", nil, 0, 0},
		{"the paper's", paper, 0.0095, 1},
		{"one, at the limit", []float64{0.05}, 0.05, 1},
		{"one, above it", []float64{0.051}, 0, 0},
		{"two that only count together", []float64{0.05, 0.04}, 0.05, 2},
		{"one of two", []float64{0.9, 0.025}, 0.025, 1},
		{"none of two", []float64{0.9, 0.026}, 0, 0},
		// 0.04 is above 2/4 of 0.05, and still counts, because 0.05 counts at 4/4.
		{"a larger one takes the smaller along", []float64{0.04, 0.05, 0.04, 0.04}, 0.05, 4},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			given := slices.Clone(tt.ps)
			cutoff, fewest := benjaminiHochberg(given, 0.05)
			if cutoff != tt.cutoff || fewest != tt.fewest {
				t.Errorf("cutoff %v, fewest %d, want %v, %d", cutoff, fewest, tt.cutoff, tt.fewest)
			}
			if !slices.Equal(given, tt.ps) {
				t.Error("it sorted its argument")
			}
		})
	}
}

// drawn returns n values around a center, with a long tail like times.
func drawn(random *rand.Rand, center float64, n int) []float64 {
	values := make([]float64, n)
	for i := range values {
		values[i] = center * (1 + 0.1*random.ExpFloat64())
	}
	return values
}

// runs returns two files with many points. The first ones are slower in NEW.
func runs(random *rand.Rand, points, slower, n int, factor float64) (was, is string) {
	var before, after []line
	for i := range points {
		center := 100.0
		if i < slower {
			center *= factor
		}
		name := fmt.Sprintf("Elastic/n=%d", i)
		before = append(before, line{name, "ns/op", drawn(random, 100, n)})
		after = append(after, line{name, "ns/op", drawn(random, center, n)})
	}
	return run(header, before...), run(later, after...)
}

// If nothing changed, a comparison of many points fails at most one time in
// twenty, although single points differ "beyond noise" in nearly all
// comparisons.
func TestFalseAlarms(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	const times, points = 200, 60
	failed, differing := 0, 0
	for range times {
		was, is := runs(random, points, 0, 9, 1)
		c := compared(t, was, is, Options{Alpha: 0.05, Threshold: 0})
		if c.Decision.Regressions > 0 {
			failed++
		}
		if c.Units[0].Counts[Worse]+c.Units[0].Counts[Better] > 0 {
			differing++
		}
	}
	if failed > times/20+6 { // three standard deviations above
		t.Errorf("%d of %d comparisons without a change failed", failed, times)
	}
	if differing < times*8/10 {
		t.Errorf("only %d of %d comparisons have a point that differs: the test shows nothing", differing, times)
	}
}

// Nearly all reported regressions are real, and all real ones are reported.
func TestFindsRegressions(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	const slower = 20
	was, is := runs(random, 200, slower, 9, 1.5)
	c := compared(t, was, is, Defaults)
	found, wrong := 0, 0
	for i, p := range c.Points {
		switch {
		case p.Regression && i < slower:
			found++
		case p.Regression:
			wrong++
		}
	}
	if found != slower || wrong > 3 {
		t.Errorf("found %d of %d, and %d false ones", found, slower, wrong)
	}
	if c.Decision.Regressions != found+wrong || c.Decision.Tested != 200 {
		t.Errorf("decision %+v", c.Decision)
	}
}

// A point may be beyond noise alone, but not a regression among many.
func TestManyPointsNeedMore(t *testing.T) {
	slower := line{"Elastic/n=slower", "ns/op", around(200, 6)}
	file := func(header string, others int, first line) string {
		lines := []line{first}
		for i := range others {
			lines = append(lines, line{fmt.Sprintf("Elastic/n=%d", i), "ns/op", around(100, 6)})
		}
		return run(header, lines...)
	}
	base := line{slower.name, "ns/op", around(100, 6)}
	for _, tt := range []struct{ others, regressions, atOnce int }{{0, 1, 1}, {22, 1, 1}, {23, 0, 2}, {99, 0, 5}} {
		c := compared(t, file(header, tt.others, base), file(later, tt.others, slower), Defaults)
		if c.Points[0].Verdict != Worse {
			t.Errorf("verdict %q", c.Points[0].Verdict)
		}
		// The smallest p of six and six is 2/924, which is 0.05/23.1.
		if c.Decision.Regressions != tt.regressions || c.Decision.AtOnce != tt.atOnce {
			t.Errorf("among %d others: %+v, want %d regressions, %d at once", tt.others, c.Decision, tt.regressions, tt.atOnce)
		}
	}
}

// Points with too few repetitions do not raise the bar for the others.
func TestTooFewAreExcluded(t *testing.T) {
	file := func(header string, v float64) string {
		lines := []line{{"Elastic/n=slower", "ns/op", around(v, 6)}}
		for i := range 100 {
			lines = append(lines, line{fmt.Sprintf("Elastic/n=%d", i), "B-drained", []float64{float64(i), float64(i)}})
		}
		return run(header, lines...)
	}
	c := compared(t, file(header, 100), file(later, 200), Defaults)
	if d := c.Decision; d.Regressions != 1 || d.Tested != 1 || d.TooFew != 100 {
		t.Errorf("decision %+v", d)
	}
}

func TestNoDecisionPossible(t *testing.T) {
	file := func(header string, v float64) string { return run(header, line{"Elastic", "ns/op", around(v, 3)}) }
	if d := compared(t, file(header, 100), file(later, 900), Defaults).Decision; d.AtOnce != 0 || d.Regressions != 0 {
		t.Errorf("decision %+v", d)
	}
}

func TestThreshold(t *testing.T) {
	file := func(header string, v float64) string { return run(header, line{"Elastic", "ns/op", around(v, 9)}) }
	for threshold, want := range map[float64]int{0: 1, 0.19: 1, 0.21: 0} {
		d := compared(t, file(header, 100), file(later, 120), Options{Alpha: 0.05, Threshold: threshold}).Decision
		if d.Regressions != want {
			t.Errorf("20%% more, threshold %v: %d regressions, want %d", threshold, d.Regressions, want)
		}
	}
}
