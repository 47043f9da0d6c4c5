package stat

import (
	"slices"
	"testing"
)

func TestOutliers(t *testing.T) {
	for _, tt := range []struct {
		name   string
		values []float64
		want   []int
	}{
		{"none", []float64{10, 11, 12, 13, 14, 15, 16, 17, 18}, nil},
		{"one high", []float64{10, 11, 12, 60, 14, 15, 16, 17, 18}, []int{3}},
		{"one low", []float64{40, 41, 2, 43, 44, 45, 46, 47, 48}, []int{2}},
		{"both", []float64{90, 100, 101, 102, 103, 104, 105, 106, 300}, []int{8}},
		{"outside, but not far out", []float64{10, 11, 12, 13, 14, 15, 16, 17, 28}, nil},
		{"a trifle beside equals", []float64{100, 100, 100, 100, 100, 100, 100.5}, nil},
		{"two per cent beside equals", []float64{100, 100, 100, 100, 100, 100, 102}, []int{6}},
		{"too few", []float64{10, 10, 10, 10, 99}, nil},
		{"nothing", nil, nil},
	} {
		if got := Outliers(tt.values); !slices.Equal(got, tt.want) {
			t.Errorf("%s: outliers %v of %v, want %v", tt.name, got, tt.values, tt.want)
		}
	}
}

// Outliers stay in the sample: the interval knows them.
func TestOutliersCount(t *testing.T) {
	s := Summarize([]float64{10, 10, 10, 10, 10, 99})
	if s.N != 6 || s.Hi != 99 {
		t.Errorf("summary %+v leaves out a value", s)
	}
}

func TestWide(t *testing.T) {
	for _, tt := range []struct {
		s    Summary
		wide bool
	}{
		{Summary{Median: 100, Lo: 95, Hi: 110, Confidence: 0.95}, false},
		{Summary{Median: 100, Lo: 95, Hi: 111, Confidence: 0.95}, true},
		{Summary{Median: 100, Lo: 85, Hi: 101, Confidence: 0.95}, true},
		{Summary{Median: 100, Lo: 50, Hi: 150}, false}, // a range is no interval
		{Summary{}, false},
	} {
		if got := tt.s.Wide(); got != tt.wide {
			t.Errorf("%+v wide: %v", tt.s, got)
		}
	}
}
