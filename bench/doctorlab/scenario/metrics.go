package main

import (
	"encoding/json"
	"math"
	"runtime"
	"runtime/metrics"
	"time"
)

// A dump is the runtime metrics that are numbers or histograms, with their
// time, Go version and number of processors.
type dump struct {
	Go      string         `json:"go"`
	CPUs    int            `json:"cpus"`
	Time    time.Time      `json:"time"`
	Metrics map[string]any `json:"metrics"`
}

// A histogram counts values between bounds, of which there is one more.
type histogram struct {
	Counts  []uint64 `json:"counts"`
	Buckets []bound  `json:"buckets"`
}

// A bound may be infinite, which JSON numbers cannot express.
type bound float64

func (b bound) MarshalJSON() ([]byte, error) {
	switch {
	case math.IsInf(float64(b), 1):
		return []byte(`"+Inf"`), nil
	case math.IsInf(float64(b), -1):
		return []byte(`"-Inf"`), nil
	}
	return json.Marshal(float64(b))
}

func runtimeMetrics() dump {
	var samples []metrics.Sample
	for _, d := range metrics.All() {
		samples = append(samples, metrics.Sample{Name: d.Name})
	}
	metrics.Read(samples)
	d := dump{Go: runtime.Version(), CPUs: runtime.NumCPU(), Time: time.Now(), Metrics: map[string]any{}}
	for _, sample := range samples {
		switch sample.Value.Kind() {
		case metrics.KindUint64:
			d.Metrics[sample.Name] = sample.Value.Uint64()
		case metrics.KindFloat64:
			d.Metrics[sample.Name] = sample.Value.Float64()
		case metrics.KindFloat64Histogram:
			d.Metrics[sample.Name] = newHistogram(sample.Value.Float64Histogram())
		}
	}
	return d
}

func newHistogram(h *metrics.Float64Histogram) histogram {
	bounds := make([]bound, len(h.Buckets))
	for i, b := range h.Buckets {
		bounds[i] = bound(b)
	}
	return histogram{h.Counts, bounds}
}
