package lab

import (
	"strings"
	"testing"

	"github.com/sluice-go/sluice/cmd/sluice/internal/predict"
)

// A law, its peak with an interval, and the reasons for none.
func TestScalingLaw(t *testing.T) {
	sweep := func(laws ...predict.Law) (counts []int, times [][]float64) {
		for _, n := range []int{1, 2, 4, 8, 16} {
			var rounds []float64
			for i := range 9 {
				rounds = append(rounds, 1e9/laws[i%len(laws)].At(float64(n)))
			}
			counts, times = append(counts, n), append(times, rounds)
		}
		return counts, times
	}
	atFour, atTwo := predict.Law{Lambda: 4e7, Sigma: 0.1, Kappa: 0.05}, predict.Law{Lambda: 4e7, Sigma: 0.1, Kappa: 0.18}
	rising := predict.Law{Lambda: 4e7, Sigma: 0.01, Kappa: 0}
	for _, tt := range []struct {
		name string
		laws []predict.Law
		want []string
	}{
		{"sure", []predict.Law{atFour}, []string{"has its peak at 4 CPUs, with 84.2 million", "the rounds agree"}},
		{"unsure", []predict.Law{atFour, atTwo}, []string{"fitted round by round, at 2 to 4"}},
		{"rising", []predict.Law{rising}, []string{"has no peak up to 16", "the rounds agree"}},
		{"rising or not", []predict.Law{rising, atFour}, []string{"fitted round by round, at 4 to beyond 16"}},
	} {
		got := scalingLaw(sweep(tt.laws...))
		for _, want := range tt.want {
			if !strings.Contains(got, want) {
				t.Errorf("%s: %q lacks %q", tt.name, got, want)
			}
		}
	}
	if got := scalingLaw([]int{1, 2, 3, 4, 5}, [][]float64{{1, 1}, {99, 99}, {1, 1}, {99, 99}, {1, 1}}); !strings.Contains(got, "no scaling law: ") {
		t.Errorf("of points that go up and down: %q", got)
	}
	if got := scalingLaw([]int{1, 2, 3}, [][]float64{{9}, {5}, {4}}); !strings.Contains(got, "too few rounds") {
		t.Errorf("of a single round: %q", got)
	}
}

func TestTwoCountsHaveNoLaw(t *testing.T) {
	findings := cpuConclusion(pretend(cpuScalingStudy, Scale{CPUs: 2}, func(ContenderID, *Point) float64 { return 100 })).Findings
	contains(t, findings, "2 counts of CPUs are too few for a scaling law: run this on the target machine.")
	mentions := 0
	for _, finding := range findings {
		if strings.Contains(finding, "law") {
			mentions++
		}
	}
	if mentions != 1 {
		t.Errorf("the law is mentioned %d times:\n%s", mentions, strings.Join(findings, "\n"))
	}
}

// A sweep may begin above one CPU, and then the law does not begin there.
func TestLawNamesItsCounts(t *testing.T) {
	findings := cpuConclusion(pretend(cpuScalingStudy, Scale{CPUs: 8, Procs: []int{2, 4, 8}}, func(ContenderID, *Point) float64 { return 100 })).Findings
	contains(t, findings, "the scaling law through 2 to 8 CPUs")
}
