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

func anyTrial(trial) bool { return true }

func TestTrials(t *testing.T) {
	c := planted("a", laws[1].law, 1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 24, 32)
	c.Domain = 8
	type short struct {
		n, times float64
		where    region
	}
	var got []short
	for where, trials := range NewPast([]Curve{c}) {
		for _, trial := range trials {
			i := slices.IndexFunc(c.Points, func(p Point) bool { return p.X == trial.truth })
			got = append(got, short{float64(c.Points[i].Procs), trial.times, region(where)})
			if trial.times > Far || trial.spread <= 0 {
				t.Errorf("%+v", trial)
			}
		}
	}
	for _, want := range []short{
		{6, 2, outside}, {12, 4, across}, {8, 2, outside}, {16, 4, across}, {24, 2, outside}, {32, 32.0 / 12, outside}, {32, 32.0 / 24, outside},
		{2, 0.5, within}, // between 1 and 4
	} {
		if !slices.Contains(got, want) {
			t.Errorf("no trial %+v in %+v", want, got)
		}
	}
}

// Points that follow no law have no prediction.
func TestNoTrialOfNoise(t *testing.T) {
	wild := Curve{Kind: Shared, Points: points(1, 1, 2, 100, 4, 1, 8, 100, 16, 1, 32, 100)}
	if past := NewPast([]Curve{wild}); len(past[within]) == 0 || len(past[outside])+len(past[across]) > 0 {
		t.Errorf("%+v", past)
	}
}

func TestDoublings(t *testing.T) {
	var all []Point
	for n := 1; n <= 13; n++ {
		all = append(all, points(float64(n), 1)...)
	}
	var got []int
	for _, p := range doublings(all) {
		got = append(got, p.Procs)
	}
	if want := []int{1, 2, 4, 8, 13}; !slices.Equal(got, want) {
		t.Errorf("doublings %v, want %v", got, want)
	}
	if got := doublings(all[:1]); len(got) != 1 || all[1].Procs != 2 {
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

// The weight of a source grows less than its number of curves; the weight of a
// curve does not depend on its number of trials.
func TestWeigh(t *testing.T) {
	var curves []Curve
	for range 9 {
		curves = append(curves, planted("many", laws[1].law, 1, 2, 4, 8))
	}
	curves = append(curves, planted("one", laws[1].law, 1, 2, 4, 8, 16, 32, 64))
	weights := map[string]float64{}
	for _, trial := range NewPast(curves)[outside] {
		weights[trial.curve.Source] += trial.weight
	}
	if !closeTo(weights["many"], 3, 1e-9) || !closeTo(weights["one"], 1, 1e-9) {
		t.Errorf("weights %v, want 3 and 1", weights)
	}
}

// A prediction is what became of curves that looked alike: of private parts, which
// stayed linear, if the points are linear, and of contended ones if they fall. The
// curves of a group that is left out do not count, and with nothing known any
// throughput is possible.
func TestBand(t *testing.T) {
	linear, falling := Law{1e7, 0, 0}, Law{1e7, 2, 0.1}
	var curves []Curve
	for _, source := range []string{"a", "b", "c", "d"} {
		curves = append(curves, planted("private "+source, linear, 1, 2, 4, 8, 16), planted("contended "+source, falling, 1, 2, 4, 8, 16))
	}
	past := NewPast(curves)
	for _, law := range []Law{linear, falling} {
		o := beyond(sweep(law, 1, 2, 4, 8), law, 16)
		if band := past.band(o, outside, anyTrial); !closeTo(o.guess*band.Mid, law.At(16), 1e-6) || band.Lo > band.Mid || band.Mid > band.Hi {
			t.Errorf("%+v: %+v of %v, want a median of %v", law, band, o.guess, law.At(16))
		}
		for except := range curves {
			if got := NewPast(curves[except:except+1]).band(o, outside, func(t trial) bool { return t.group != 0 }); got.Lo != 0 || !math.IsInf(got.Hi, 1) {
				t.Errorf("without its only group: %+v", got)
			}
		}
	}
}

// A curve that is unlike all others has no figure.
func TestUnlike(t *testing.T) {
	law := Law{1e7, 0.2, 0}
	past := NewPast([]Curve{planted("a", law, 1, 2, 4, 8, 16), planted("b", law, 1, 2, 4, 8, 16)})
	if figure, err := NewForecast(points(2, 1, 8, 1e12), oneCache, past).At(4); err != ErrUnlike {
		t.Errorf("%+v, %v", figure, err)
	}
}

// The band of more distant counts is wider, and that of a count between two others
// is widest in the middle.
func TestBandGrowsWithDistance(t *testing.T) {
	past := NewPast(Published())
	law := Law{1e7, 0.2, 0.01}
	width := func(o outlook, where region) float64 {
		b := past.band(o, where, anyTrial)
		return b.Hi / b.Lo
	}
	before := 1.0
	for _, n := range []int{9, 12, 16, 32} {
		if w := width(beyond(sweep(law, 1, 2, 4, 8), law, n), outside); w > before {
			before = w
		} else {
			t.Errorf("on %d CPUs: %v, nearer %v", n, w, before)
		}
	}
	ends := points(2, 10, 8, 20)
	a, b := ends[0], ends[1]
	if near, middle := width(between(a, b, 3), within), width(between(a, b, 4), within); near >= middle || near <= 1 {
		t.Errorf("on 3 of 2 to 8 CPUs: %v; on 4: %v", near, middle)
	}
	if o := between(a, b, 4); !closeTo(o.guess, math.Sqrt(200), 1e-9) {
		t.Errorf("halfway, in logarithms: %v", o.guess)
	}
}

// The published curves shown beside one look like it.
func TestAlike(t *testing.T) {
	past := NewPast(Published())
	for _, law := range []Law{{1e7, 0, 0}, {1e7, 2, 0.01}} {
		alike := past.alike(beyond(sweep(law, 1, 2, 4, 8), law, 16), 6)
		if len(alike) != 6 {
			t.Fatalf("%d curves", len(alike))
		}
		machines := map[string]bool{}
		for _, c := range alike {
			machines[c.Machine] = true
			first, last := c.Points[0], c.Points[len(c.Points)-1]
			if rises := last.X > 2*first.X; rises != (law.Sigma == 0) {
				t.Errorf("%+v: beside it is %s", law, c.facts())
			}
		}
		if len(machines) != 6 {
			t.Errorf("some of one machine: %v", machines)
		}
	}
}
