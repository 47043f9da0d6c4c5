package profile

import (
	"math"
	"testing"
	"time"
)

// Runnable adds up long waits only, each with the lower bound of its bucket.
func TestRunnable(t *testing.T) {
	bounds := []float64{math.Inf(-1), 0, 1e-4, 1e-3, 1e-2, math.Inf(1)}
	reading := func(counts ...uint64) *Reading {
		return &Reading{Histograms: map[string]Histogram{metricLatencies: {Counts: counts, Bounds: bounds[:len(counts)+1]}}}
	}
	bare := reading(1, 1)
	bare.Histograms[metricLatencies] = Histogram{Counts: []uint64{1, 1}}
	endless := &Reading{Histograms: map[string]Histogram{metricLatencies: {Counts: []uint64{0, 1}, Bounds: []float64{math.Inf(1), math.Inf(1), math.Inf(1)}}}}
	for name, test := range map[string]struct {
		metrics Metrics
		want    time.Duration
		ok      bool
	}{
		"two readings":           {Metrics{reading(9, 9, 9, 1, 1), reading(9, 99, 99, 3, 2)}, 2*wakeupsPerSample*time.Millisecond + wakeupsPerSample*10*time.Millisecond, true},
		"one":                    {Metrics{nil, reading(9, 99, 99, 3, 0)}, 3 * wakeupsPerSample * time.Millisecond, true},
		"a count fell":           {Metrics{reading(0, 0, 0, 4, 0), reading(0, 0, 0, 3, 1)}, wakeupsPerSample * 10 * time.Millisecond, true},
		"other bounds":           {Metrics{reading(0, 0), reading(0, 0, 0, 3, 1)}, 0, false},
		"no histogram":           {Metrics{nil, &Reading{}}, 0, false},
		"none before":            {Metrics{&Reading{}, reading(0, 0, 0, 3, 1)}, 0, false},
		"no bounds":              {Metrics{nil, bare}, 0, false},
		"waits that never ended": {Metrics{nil, endless}, maxSeconds * time.Second, true},
	} {
		if got, ok := test.metrics.Runnable(time.Millisecond); got != test.want || ok != test.ok {
			t.Errorf("%s: %v, %v, want %v, %v", name, got, ok, test.want, test.ok)
		}
	}
}
