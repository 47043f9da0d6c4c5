package predict

import (
	"math"
	"slices"
	"testing"
)

// planted returns a curve of a law, with its own machine and source.
func planted(source string, l Law, procs ...int) Curve {
	return Curve{Source: source, Machine: "machine of " + source, Version: "C", Workload: "w", Kind: Shared, Points: sweep(l, procs...)}
}

func TestTrials(t *testing.T) {
	c := planted("a", laws[1].law, 1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 24, 32)
	c.Domain = 8
	type short struct {
		reach   reach
		last, n int
		crosses bool
	}
	var got []short
	for _, trial := range trials([]Curve{c}) {
		last := trial.points[len(trial.points)-1].Procs
		if trial.reach == near || trial.reach == far {
			got = append(got, short{trial.reach, last, trial.truth.Procs, trial.crosses})
			if trial.points[0].Procs != 1 || len(trial.points) < MinCounts || trial.truth.Procs <= last {
				t.Errorf("trial of %v by %v", trial.truth, trial.points)
			}
			continue
		}
		a, b := trial.points[0].Procs, trial.points[1].Procs
		if a >= trial.truth.Procs || b <= trial.truth.Procs || (trial.reach == inside) != (b <= 2*a) || b > 4*a {
			t.Errorf("trial of %v between %v, reach %d", trial.truth, trial.points, trial.reach)
		}
	}
	for _, want := range []short{
		{near, 3, 6, false}, {far, 3, 12, true}, {near, 4, 8, false}, {far, 4, 16, true}, {near, 12, 24, false}, {far, 12, 32, false}, {near, 24, 32, false},
	} {
		if !slices.Contains(got, want) {
			t.Errorf("no trial %+v in %+v", want, got)
		}
	}
	c.Kind = Sharded
	if len(trials([]Curve{c})) != 0 {
		t.Error("a curve of separate parts is asked what a shared thing does")
	}
}

func TestDoublings(t *testing.T) {
	var points []Point
	for n := 1; n <= 13; n++ {
		points = append(points, Point{n, 1})
	}
	var got []int
	for _, p := range doublings(points) {
		got = append(got, p.Procs)
	}
	if want := []int{1, 2, 4, 8, 13}; !slices.Equal(got, want) {
		t.Errorf("doublings %v, want %v", got, want)
	}
	if got := doublings(points[:1]); len(got) != 1 {
		t.Errorf("of one point: %v", got)
	}
}

// Curves with a common source or machine are never in different groups.
func TestGroups(t *testing.T) {
	curves := []Curve{
		{Source: "a", Machine: "x"}, {Source: "a", Machine: "y"}, {Source: "b", Machine: "y"}, {Source: "c", Machine: "z"},
		{Source: "d", Machine: "i7-13700H 20 threads"}, {Source: "e", Machine: "i7-13700H"}, {Source: "f", Machine: "2x Xeon A"}, {Source: "g", Machine: "2x Xeon B"},
	}
	if got, want := groups(curves), []int{0, 0, 0, 3, 4, 4, 6, 7}; !slices.Equal(got, want) {
		t.Errorf("groups %v, want %v", got, want)
	}
}

// Curves that come down like the law are below the mean, and the band covers
// that. Constant curves are in its middle.
func TestCalibrate(t *testing.T) {
	down := planted("a", Law{1e7, 1, 1}, 1, 2, 4, 8)
	still := planted("b", Law{1e7, 1, 0}, 1, 2, 4, 8)
	bands := Calibrate([]Curve{down, still})
	law := Law{1e7, 1, 1}
	want := math.Sqrt(law.At(8) / law.At(4))
	if band := bands[near]; !closeTo(band.Lo, want, 1e-6) || !closeTo(band.Hi, 1, 1e-6) || band.Curves != 2 {
		t.Errorf("band %+v, want from %v to 1", band, want)
	}
	if bands[far].Curves != 0 {
		t.Errorf("from 1, 2, 4 and 8 CPUs, nothing is known of four times as many: %+v", bands[far])
	}
	// The band excludes the group that is left out.
	all := trials([]Curve{down, still})
	if band := calibrate(all, 0)[near]; !closeTo(band.Lo, 1, 1e-6) || band.Curves != 1 {
		t.Errorf("without the first curve: %+v", band)
	}
}

// The weight of a source grows less than its number of curves; the weight of a
// curve does not depend on its number of trials.
func TestWeigh(t *testing.T) {
	var curves []Curve
	for range 9 {
		curves = append(curves, planted("many", laws[1].law, 1, 2, 4, 8))
	}
	curves = append(curves, planted("one", laws[1].law, 1, 2, 4, 8, 16, 32, 64))
	w := weigh(trials(curves), func(t trial) bool { return t.reach == near }, extrapolate)
	many := 0.0
	for _, m := range w.of {
		if m.trial.curve.Source == "many" {
			many += m.weight
		}
	}
	if !closeTo(many, 3, 1e-9) || !closeTo(w.total-many, 1, 1e-9) || w.curves != 10 {
		t.Errorf("weights %v and %v of %d curves, want 3 and 1 of 10", many, w.total-many, w.curves)
	}
}

func TestQuantile(t *testing.T) {
	w := weighed{of: []weighedMiss{{miss: 1, weight: 1}, {miss: 2, weight: 7}, {miss: 3, weight: 1}, {miss: 4, weight: 1}}, total: 10}
	for share, want := range map[float64]float64{0.05: 1, 0.1: 1, 0.11: 2, 0.8: 2, 0.85: 3, 0.95: 4, 1: 4} {
		if got := w.quantile(share); got != want {
			t.Errorf("quantile %v is %v, want %v", share, got, want)
		}
	}
}

func TestNoisyTrial(t *testing.T) {
	wild := Curve{Source: "a", Kind: Shared, Points: []Point{{1, 1}, {2, 100}, {3, 1}, {4, 100}, {5, 1}, {6, 100}, {7, 1}, {8, 100}}}
	w := weigh(trials([]Curve{wild}), func(t trial) bool { return t.reach == near }, extrapolate)
	if w.noisy == 0 {
		t.Error("points that follow no law are not counted as such")
	}
}
