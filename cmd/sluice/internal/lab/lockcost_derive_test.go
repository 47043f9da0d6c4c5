package lab

import (
	"math"
	"strings"
	"testing"

	"github.com/sluice-go/sluice/cmd/sluice/internal/stat"
)

// stepsOf returns steps at 100, 1000, …: each argument has an overhead and half
// the width of its interval.
func stepsOf(overs ...[2]float64) []step {
	var steps []step
	at := 100.0
	for _, o := range overs {
		steps = append(steps, step{at, stat.Summary{N: 9, Median: o[0], Lo: o[0] - o[1], Hi: o[0] + o[1], Confidence: 0.96}})
		at *= 10
	}
	return steps
}

func TestThreshold(t *testing.T) {
	for _, tt := range []struct {
		name  string
		steps []step
		want  string
	}{
		{"between two, by a power", stepsOf([2]float64{1000, 0}, [2]float64{4, 0}, [2]float64{0.5, 0}), "4.64 µs"},
		{"with its interval", stepsOf([2]float64{50, 1}, [2]float64{4, 2}, [2]float64{0.5, 0.4}), "4.64 µs (2 µs to 8.8 µs)"},
		{"to beyond the last", stepsOf([2]float64{50, 1}, [2]float64{4, 1}, [2]float64{0.9, 0.4}), "more than 4.1 µs"},
		{"nowhere", stepsOf([2]float64{50, 1}, [2]float64{10, 1}), "more than 1 µs"},
		{"from the first place on, or not", stepsOf([2]float64{1.1, 0.3}, [2]float64{0.2, 0.1}), "at most 165 ns"},
		{"anywhere", stepsOf([2]float64{1.1, 0.3}, [2]float64{0.9, 0.3}, [2]float64{1.1, 0.3}), "not known here: sluice lab -count 20"},
		{"everywhere", stepsOf([2]float64{0.5, 0.1}, [2]float64{0.1, 0.1}), "at most 100 ns"},
		{"no faster than in proportion", stepsOf([2]float64{4, 0}, [2]float64{-3, 0}), "400 ns"},
		{"but no later than measured", stepsOf([2]float64{100, 0}, [2]float64{0.5, 0}), "1 µs"},
		{"noise that rises", stepsOf([2]float64{4, 1}, [2]float64{0.9, 0.3}, [2]float64{1.05, 0.3}, [2]float64{0.5, 0.3}),
			"not known here: sluice lab -count 20"},
		{"a wild figure counts little", stepsOf([2]float64{50, 1}, [2]float64{-8, 60}, [2]float64{7, 1}, [2]float64{0.5, 0.1}),
			"70 µs (60 µs to 80 µs)"},
		{"intervals that exclude each other", stepsOf([2]float64{4, 1}, [2]float64{0.5, 0.1}, [2]float64{3, 1.5}, [2]float64{0.5, 0.1}),
			"not known here: sluice lab -count 20"},
	} {
		found, ok := thresholdOf(tt.steps)
		if got := found.text(nameOfJob); !ok || got != tt.want {
			t.Errorf("%s: %q (%v), want %q", tt.name, got, ok, tt.want)
		}
	}
	if _, ok := thresholdOf(stepsOf([2]float64{50, 1})); ok {
		t.Error("a threshold of one place")
	}
}

// A threshold whose interval is wider than a decade is an estimate; one that was not
// reached is none.
func TestRoughThreshold(t *testing.T) {
	wide := threshold{at: 3, lo: 0.2, hi: 40, found: interpolated, low: reached, top: interpolated, firm: true}
	if got, want := wide.roughly(), "known only roughly, about "+nameOfJob(3)+" ("+nameOfJob(0.2)+" to "+nameOfJob(40)+"), which sluice lab -count 20 narrows"; wide.known() || !strings.HasSuffix(got, want) {
		t.Errorf("known %v: %s", wide.known(), got)
	}
	wide.top = never
	if got := wide.roughly(); got != "How short a job may be is not known here: sluice lab -count 20" {
		t.Error(got)
	}
}

func TestNameOfBatch(t *testing.T) {
	for size, want := range map[float64]string{1: "1", 1.2: "2", 17.5: "18", 64: "64", 64.0000001: "64"} {
		if got := nameOfBatch(size); got != want {
			t.Errorf("batch of %v is %s, want %s", size, got, want)
		}
	}
}

func TestLineBeyond(t *testing.T) {
	ideals := []float64{100, 300, 1000, 3000, 10_000}
	for _, tt := range []struct {
		name                          string
		constant, slope               float64 // that made the times
		wantConstant, wantSlope, near float64
	}{
		{"both", 60, 0.2, 60, 0.2, 1e-9},
		{"constant alone", 60, 0, 60, 0, 1e-9},
		{"slope alone", 0, 0.2, 0, 0.2, 1e-9},
		{"no negative slope", 60, -0.01, 57, 0, 3},
		{"no negative constant", -10, 0.3, 0, 0.27, 0.02},
	} {
		var elapsed []float64
		for _, x := range ideals {
			elapsed = append(elapsed, x+tt.constant+tt.slope*x)
		}
		constant, slope := lineBeyond(ideals, elapsed)
		if constant < 0 || slope < 0 {
			t.Errorf("%s: %v and %v, one of them negative", tt.name, constant, slope)
		}
		if math.Abs(constant-tt.wantConstant) > tt.near || math.Abs(slope-tt.wantSlope) > min(tt.near, 0.02) {
			t.Errorf("%s: %v and %v, want %v and %v", tt.name, constant, slope, tt.wantConstant, tt.wantSlope)
		}
	}
}

// A line takes three measured sizes; two are not enough.
func TestCostNeedsThreeSizes(t *testing.T) {
	m := pretendFarms(Scale{CPUs: 2}, constantCost(50))
	panel := atProcs(1)
	for i, want := range []bool{true, true, true, false} { // of five up to 10 µs
		if _, ok := m.cost(panel, native1024); ok != want {
			t.Errorf("with %d sizes gone: %v, want %v", i, ok, want)
		}
		gone := 0
		for _, outcome := range m.outcomes {
			p := outcome.Point
			if !strings.HasPrefix(p.Name, "busy") || p.Procs != 1 || gone == 1 {
				continue
			}
			if r := outcome.Result(native1024); len(r.Repetitions) > 0 && jobOf(&Point{Point: *p}) <= fittedUpTo {
				r.Repetitions, gone = nil, 1
			}
		}
	}
}
