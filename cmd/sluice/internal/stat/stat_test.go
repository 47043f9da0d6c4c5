package stat

import (
	"math"
	"testing"
)

func TestSummarize(t *testing.T) {
	nine := []float64{9, 1, 5, 3, 7, 2, 8, 4, 6}
	tests := []struct {
		name   string
		values []float64
		want   Summary
	}{
		{"nothing", nil, Summary{}},
		{"one value has no interval", []float64{4}, Summary{N: 1, Median: 4, Lo: 4, Hi: 4}},
		{"five values have a range only", []float64{5, 1, 3, 2, 4}, Summary{N: 5, Median: 3, Lo: 1, Hi: 5}},
		{"six are enough", []float64{6, 1, 5, 2, 4, 3}, Summary{N: 6, Median: 3.5, Lo: 1, Hi: 6, Confidence: 1 - 2.0/64}},
		// Of nine, the extremes can be left out: P = 1 - 2(1+9)/512.
		{"nine shed their extremes", nine, Summary{N: 9, Median: 5, Lo: 2, Hi: 8, Confidence: 1 - 20.0/512}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := Summarize(tt.values)
			if math.Abs(got.Confidence-tt.want.Confidence) > 1e-9 {
				t.Errorf("confidence %v, want %v", got.Confidence, tt.want.Confidence)
			}
			got.Confidence = tt.want.Confidence
			if got != tt.want {
				t.Errorf("Summarize(%v) = %+v, want %+v", tt.values, got, tt.want)
			}
		})
	}
	if nine[0] != 9 {
		t.Error("Summarize sorted its argument")
	}
}

func TestIn(t *testing.T) {
	got := Summary{N: 6, Median: 2048, Lo: 1024, Hi: 4096, Confidence: 0.95}.In(1024)
	if want := (Summary{N: 6, Median: 2, Lo: 1, Hi: 4, Confidence: 0.95}); got != want {
		t.Errorf("In(1024) = %+v, want %+v", got, want)
	}
}

func TestSpread(t *testing.T) {
	s := Summary{N: 6, Median: 100, Lo: 95, Hi: 120}
	if got := s.Spread(); got != 0.2 {
		t.Errorf("Spread = %v, want 0.2", got)
	}
	if got := (Summary{}).Spread(); got != 0 {
		t.Errorf("Spread of nothing = %v, want 0", got)
	}
}

// A machine that slows down both contenders at once does not hide their
// difference, because Compare uses pairs.
func TestComparePairs(t *testing.T) {
	base := []float64{100, 200, 400, 100, 300, 150}
	other := make([]float64, len(base))
	for i, b := range base {
		other[i] = 1.1 * b
	}
	c := Compare(base, other)
	if math.Abs(c.Median-0.1) > 1e-9 || c.Hi-c.Lo > 1e-9 || !c.Clear() {
		t.Errorf("change %+v, want exactly 10%% more", c)
	}
}

// Unpaired samples differ only if the intervals do not overlap.
func TestBetween(t *testing.T) {
	base := []float64{99, 100, 101, 100, 100, 100}
	low := []float64{49, 50, 51, 50, 50, 50}
	c := Between(base, low)
	if c.Median != -0.5 || math.Abs(c.Lo-(49./101-1)) > 1e-9 || math.Abs(c.Hi-(51./99-1)) > 1e-9 || !c.Clear() || c.N != 6 {
		t.Errorf("change %+v, want a half less", c)
	}
	if each := Summarize(base).Confidence; c.Confidence >= each || c.Confidence < 2*each-1.001 {
		t.Errorf("confidence %v of two intervals of %v", c.Confidence, each)
	}
	// Each pair has a difference; the two samples do not.
	paired := []float64{98, 99, 100, 99, 99, 99}
	if c := Between(base, paired); c.Clear() || !Compare(base, paired).Clear() {
		t.Errorf("overlapping intervals: %+v, want nothing beyond noise", c)
	}
	for name, c := range map[string]Change{
		"no figures": Between(nil, low),
		"no others":  Between(base, nil),
		"from zero":  Between([]float64{0, 1, 1, 1, 1, 1}, low),
		"too few":    Between(base[:5], low),
	} {
		if c.Clear() {
			t.Errorf("%s: %+v is beyond noise", name, c)
		}
	}
}

func TestClear(t *testing.T) {
	base := []float64{10, 10, 10, 10, 10, 10}
	tests := []struct {
		name  string
		other []float64
		want  bool
	}{
		{"all above", []float64{11, 12, 11, 12, 11, 12}, true},
		{"all below", []float64{9, 8, 9, 8, 9, 8}, true},
		{"one on the other side", []float64{11, 12, 11, 12, 11, 9}, false},
		{"one equal", []float64{11, 12, 11, 12, 11, 10}, false},
		{"too few", []float64{11, 12, 11, 12, 11}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := Compare(base, tt.other).Clear(); got != tt.want {
				t.Errorf("Clear = %v, want %v", got, tt.want)
			}
		})
	}
}

func TestCompareSkipsPairsWithoutRatio(t *testing.T) {
	c := Compare([]float64{0, 10}, []float64{5, 20, 30})
	if c.N != 1 || c.Median != 1 {
		t.Errorf("change %+v, want the one pair 10 -> 20", c)
	}
}

// A rate is the inverse of a time: the ends of the interval are swapped.
func TestInverse(t *testing.T) {
	got := Summary{N: 6, Median: 50, Lo: 40, Hi: 100, Confidence: 0.96}.Inverse(1000)
	if want := (Summary{N: 6, Median: 20, Lo: 10, Hi: 25, Confidence: 0.96}); got != want {
		t.Errorf("inverse %+v, want %+v", got, want)
	}
	if got := (Summary{N: 6, Median: 1, Hi: 2}).Inverse(1000); got != (Summary{}) {
		t.Errorf("the inverse of a sample that holds zero is %+v", got)
	}
}

func TestAbove(t *testing.T) {
	got := Summary{N: 9, Median: 1.25, Lo: 0.75, Hi: 1.5, Confidence: 0.96}.Above(1)
	if want := (Summary{N: 9, Median: 0.25, Lo: -0.25, Hi: 0.5, Confidence: 0.96}); got != want {
		t.Errorf("above 1: %+v, want %+v", got, want)
	}
}

func TestKnown(t *testing.T) {
	for _, tt := range []struct {
		s     Summary
		known bool
	}{
		{Summary{N: 6, Median: 10, Lo: 5, Hi: 20, Confidence: 0.96}, true},
		{Summary{N: 6, Median: 10, Lo: 5, Hi: 21, Confidence: 0.96}, false},
		{Summary{N: 1, Median: 10, Lo: 10, Hi: 10}, true},
		{Summary{}, false},
	} {
		if got := tt.s.Known(); got != tt.known {
			t.Errorf("%+v known: %v", tt.s, got)
		}
	}
}
