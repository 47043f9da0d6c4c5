package compare

import (
	"fmt"
	"math"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
)

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
	const times, points = 60, 60
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
	if failed > times/20 {
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
	was, is := runs(random, 200, slower, 9, 2)
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

// many returns a file of n points with 6 repetitions, of which the first ones are
// slower, each with its own factor.
func many(header string, n int, slower ...float64) string {
	var lines []line
	for i := range n {
		center := 100.0
		if i < len(slower) {
			center *= slower[i]
		}
		lines = append(lines, line{fmt.Sprintf("Elastic/n=%d", i), "ns/op", around(center, 6)})
	}
	return run(header, lines...)
}

// One point among any number is found with six repetitions, of which the rank test
// alone has no p below 0.0022. So are twenty points, and all of them.
func TestOneAmongMany(t *testing.T) {
	for _, tt := range []struct {
		points, slower int
		factor         float64
		want           int
	}{
		{1, 1, 3, 1}, {2, 1, 3, 1}, {9, 1, 3, 1}, {37, 1, 3, 1}, {1000, 1, 3, 1},
		{37, 20, 3, 20}, {37, 37, 3, 37}, {16, 8, 3, 8}, {1, 1, 1.3, 1}, {400, 1, 1.3, 1}, {400, 20, 1.3, 20},
	} {
		d := decided(t, many(header, tt.points), many(later, tt.points, slices.Repeat([]float64{tt.factor}, tt.slower)...))
		if d.Regressions != tt.want || d.Outcome != Failed || d.Tested != tt.points {
			t.Errorf("%d of %d points %v times slower: %+v", tt.slower, tt.points, tt.factor, d)
		}
	}
}

// Points that can never be regressions do not raise the bar for the others.
func TestUntestedPointsDoNotCount(t *testing.T) {
	file := func(header string, v float64, others bool) string {
		lines := []line{{"Elastic/n=slower", "ns/op", around(v, 6)}}
		for i := range 500 {
			if others {
				lines = append(lines, line{fmt.Sprintf("Elastic/n=%d", i), "B-drained", []float64{float64(i), float64(i)}},
					line{fmt.Sprintf("Elastic/n=%d", i), "widgets", around(10, 6)})
			}
		}
		return run(header, lines...)
	}
	with := decided(t, file(header, 100, true), file(later, 125, true))
	without := decided(t, file(header, 100, false), file(later, 125, false))
	if with.Regressions != 1 || with.Tested != 1 || with.TooFew != 500 || with.Undirected != 500 {
		t.Errorf("decision %+v", with)
	}
	if with.Noise[0].StandsOut != without.Noise[0].StandsOut {
		t.Errorf("a point stands out by %v among untested points, and by %v alone", with.Noise[0].StandsOut, without.Noise[0].StandsOut)
	}
}

// Each outcome and its reason, and the word that begins its sentence.
func TestOutcome(t *testing.T) {
	// wild repetitions scatter by a factor of thirty.
	wild := func(center float64) []float64 {
		return []float64{center, center * 1.2, center * 3, center * 8, center * 15, center * 30}
	}
	wilds := func(header string, n int) string {
		var lines []line
		for i := range n {
			lines = append(lines, line{fmt.Sprintf("Elastic/n=%d", i), "ns/op", wild(100 + float64(i))})
		}
		return run(header, lines...)
	}
	one := func(header, unit string, values []float64) string {
		return run(header, line{"Elastic", unit, values})
	}
	scattered := func(header string, factor float64) string {
		var lines []line
		for i := range 5 {
			values := []float64{100, 110, 120, 130, 140, 150}
			for j := range values {
				values[j] *= factor
			}
			lines = append(lines, line{fmt.Sprintf("Elastic/n=%d", i), "ns/op", values})
		}
		return run(header, lines...)
	}
	all := func(factor float64) string { return many(later, 9, slices.Repeat([]float64{factor}, 9)...) }
	for _, tt := range []struct {
		name, was, is string
		outcome       Outcome
		reason        Reason
		says          string
	}{
		{"the same", many(header, 9), many(later, 9, 1.001), Passed, "", "No regression: none of 9 points"},
		{"faster", many(header, 9), many(later, 9, 0.3), Passed, "", "No regression: none of 9 points is worse beyond noise; 1 is better."},
		{"too few", one(header, "ns/op", around(100, 3)), one(later, "ns/op", around(120, 3)), Undecided, Untestable, "UNDECIDED: no point has enough repetitions to tell a change from noise. Measure at least 4"},
		{"enough", one(header, "ns/op", around(100, 4)), one(later, "ns/op", around(300, 4)), Failed, "", "REGRESSION: 1 of 1 point is worse, at worst by a factor of 3.0."},
		{"several", many(header, 37), many(later, 37, 1.4, 30), Failed, "", "REGRESSION: 2 of 37 points are worse, at worst by a factor of 30."},
		{"a rate", one(header, "M/s", around(100, 6)), one(later, "M/s", around(25, 6)), Failed, "", "REGRESSION: 1 of 1 point is worse, at worst by a factor of 4.0."},
		{"from nothing", one(header, "allocs/op", make([]float64, 6)), one(later, "allocs/op", around(2, 6)), Failed, "", "REGRESSION: 1 of 1 point is worse, at worst from 0.000 to 2.000."},
		{"no direction", one(header, "widgets", around(100, 9)), one(later, "widgets", around(300, 9)), Undecided, Untestable, "UNDECIDED: it is unknown"},
		{"a suspect that scatters", one(header, "ns/op", wild(100)), one(later, "ns/op", wild(300)), Undecided, Suspects, "UNDECIDED: 1 of 1 point may be worse, at worst by a factor of 3.0, but noise may do that."},
		{"a suspect with too few", many(header, 9) + one("", "ns/op", around(100, 3)), many(later, 9) + one("", "ns/op", around(300, 3)), Undecided, Suspects, "UNDECIDED: 1 of 10 points"},
		{"all slower, as a machine can be", many(header, 9), all(1.3), Undecided, Drifted, "UNDECIDED: nearly all points are worse by 30%"},
		{"all slower, a little", many(header, 9), all(1.1), Passed, "", "No regression: 9 of 9 points are worse, but so are nearly all: it may be the machine."},
		{"a few that scatter", scattered(header, 1), scattered(later, 1.35), Passed, "", "No regression: 5 of 5 points are worse, but a single run of each is too few to tell that from noise."},
		{"all faster, as a machine can be", many(header, 9), all(0.8), Passed, "", "No regression: none of 9 points is worse beyond noise."},
		{"noise that could hide anything", wilds(header, 9), wilds(later, 9), Undecided, Disturbed, "UNDECIDED: too much noise"},
		{"noise in one point", many(header, 9) + one("", "ns/op", wild(100)), many(later, 9) + one("", "ns/op", wild(101)), Passed, "", "No regression"},
		{"missing", many(header, 9), many(later, 8), Undecided, Vanished, "UNDECIDED: 1 point of OLD is not in NEW"},
		{"missing, and worse", many(header, 9), many(later, 8, 3), Failed, "", "REGRESSION"},
		{"another unit", one(header, "ns/op", around(100, 6)), one(later, "apples", around(100, 6)), Undecided, Vanished, "UNDECIDED: 1 point of OLD"},
		{"failed", many(header, 9), many(later, 9) + "--- FAIL: BenchmarkElastic\n", Failed, Broken, "FAILED in NEW: BenchmarkElastic failed"},
		{"failed before all results", many(header, 9), "panic: no\n", Failed, Broken, "FAILED in NEW: panic: no"},
		{"failed in OLD", many(header, 9) + "--- FAIL: BenchmarkElastic\n", many(later, 9), Passed, "", "No regression"},
	} {
		c := compared(t, tt.was, tt.is, Defaults)
		if d := c.Decision; d.Outcome != tt.outcome || d.Reason != tt.reason || !strings.HasPrefix(c.answer(), tt.says) {
			t.Errorf("%s: %s (%s), want %s (%s): %+v\n%s", tt.name, d.Outcome, d.Reason, tt.outcome, tt.reason, d, c.answer())
		}
	}
}

// What is missing on purpose is not missing.
func TestGone(t *testing.T) {
	for pattern, want := range map[string]Outcome{"n=8$": Passed, "n=[78]": Passed, "n=7": Undecided} {
		o := Defaults
		o.Gone = regexp.MustCompile(pattern)
		if c := compared(t, many(header, 9), many(later, 8), o); c.Decision.Outcome != want || len(c.OnlyOld) != 1 {
			t.Errorf("%s: %+v", pattern, c.Decision)
		}
	}
}

// Holm's procedure: of m points the smallest p is compared with alpha/m, the next
// one with alpha/(m-1). A point between these limits is a regression only after
// another one.
func TestHolm(t *testing.T) {
	regressions := func(slower ...float64) []bool {
		points := make([]*Point, 20)
		for i := range points {
			change := 0.01 * float64(i)
			if i < len(slower) {
				change = slower[i]
			}
			points[i] = &Point{Key: Key{Experiment: "e", Unit: "sec/op"}, Verdict: Worse, testable: true,
				evidence: evidence{median: change, best: change}}
		}
		new(Decision).decide(points, Options{Alpha: 0.05, Threshold: 0.05}, order{turns: 1, together: true}, false)
		return []bool{points[0].Regression, points[1].Regression}
	}
	// The scale is that of 0.01 per point, wherever the first two are.
	scale := coreScale(drawnLine(2, 20))
	limit := func(m float64) float64 { return -scale * math.Log(2*0.05/m) }
	between := (limit(20) + limit(19)) / 2
	if got := regressions(between, between); got[0] || got[1] {
		t.Errorf("two points between the limits: %v", got)
	}
	if got := regressions(between, limit(20)+0.01); !got[0] || !got[1] {
		t.Errorf("after a point beyond both: %v", got)
	}
}

// drawnLine returns the changes of TestHolm, without the first ones.
func drawnLine(from, to int) (values []float64) {
	for i := range to {
		v := 0.01 * float64(i)
		if i < from {
			v = 9
		}
		values = append(values, v)
	}
	return values
}

// Alternating runs find smaller regressions, of one point and of all.
func TestInTurnsFindsMore(t *testing.T) {
	at := func(minute int) string { return strings.Replace(header, "12:00", fmt.Sprintf("12:%02d", minute), 1) }
	joined := func(first int, slower ...float64) (text string) {
		for turn := range 3 {
			text += many(at(first+2*turn), 9, slower...)
		}
		return text
	}
	for _, slower := range [][]float64{{1.03}, slices.Repeat([]float64{1.03}, 9)} {
		o := Options{Alpha: 0.05, Threshold: 0.02}
		single := compared(t, many(at(1), 9), many(at(2), 9, slower...), o).Decision
		turns := compared(t, joined(1), joined(2, slower...), o).Decision
		if single.Regressions != 0 || turns.Regressions != len(slower) {
			t.Errorf("%d points 3%% slower: %d regressions in single runs, %d in alternating ones", len(slower), single.Regressions, turns.Regressions)
		}
	}
}
