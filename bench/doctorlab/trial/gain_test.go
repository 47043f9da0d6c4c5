package main

import (
	"slices"
	"testing"
)

func TestMedian(t *testing.T) {
	for _, c := range []struct {
		values []float64
		want   float64
	}{
		{[]float64{3}, 3},
		{[]float64{4, 2}, 3},
		{[]float64{9, 1, 2}, 2},
		{[]float64{8, 1, 2, 4}, 3},
	} {
		before := slices.Clone(c.values)
		if got := median(c.values); got != c.want {
			t.Errorf("median of %v is %v, want %v", c.values, got, c.want)
		}
		if !slices.Equal(c.values, before) {
			t.Errorf("%v became %v", before, c.values)
		}
	}
}

// Gains are ratios within a round: a round at half the speed changes no gain.
func TestGainsAreWithinRounds(t *testing.T) {
	base, gains := compare([]rates{
		{asFound: 100, "buffer": 200, "batch": 300},
		{asFound: 50, "buffer": 100, "batch": 150},
		{asFound: 100, "buffer": 220, "batch": 100},
	}, []string{"buffer", "batch"})
	want := []Gain{{"batch", 3, 1, 3, 3}, {"buffer", 2, 2, 2.2, 3}}
	if base != 100 || !slices.Equal(gains, want) {
		t.Errorf("base %v, gains %v, want 100 and %v", base, gains, want)
	}
}
