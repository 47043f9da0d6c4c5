package main

import (
	"math"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"slices"
	"time"
)

// dumped is all metrics of the runtime that are numbers and histograms, with
// what they do not say: when, by which Go, on how many processors.
type dumped struct {
	Time      time.Time      `json:"time"`
	GoVersion string         `json:"goVersion"`
	CPUs      int            `json:"cpus"`
	Metrics   map[string]any `json:"metrics"`
}

// A histogram counts values; Buckets are the bounds, one more than Counts. JSON
// knows no infinity: the bounds at the ends may be the largest numbers instead.
type histogram struct {
	Counts  []uint64  `json:"counts"`
	Buckets []float64 `json:"buckets"`
}

func runtimeMetrics() dumped {
	var samples []metrics.Sample
	for _, d := range metrics.All() {
		samples = append(samples, metrics.Sample{Name: d.Name})
	}
	metrics.Read(samples)
	d := dumped{Time: time.Now(), GoVersion: runtime.Version(), CPUs: runtime.NumCPU(), Metrics: map[string]any{}}
	if info, ok := debug.ReadBuildInfo(); ok {
		d.GoVersion = info.GoVersion
	}
	for _, sample := range samples {
		switch sample.Value.Kind() {
		case metrics.KindUint64:
			d.Metrics[sample.Name] = sample.Value.Uint64()
		case metrics.KindFloat64:
			d.Metrics[sample.Name] = sample.Value.Float64()
		case metrics.KindFloat64Histogram:
			h := sample.Value.Float64Histogram()
			d.Metrics[sample.Name] = histogram{Counts: h.Counts, Buckets: finite(h.Buckets)}
		}
	}
	return d
}

// finite returns the bounds with the largest numbers in place of infinities.
func finite(bounds []float64) []float64 {
	bounds = slices.Clone(bounds)
	for i, b := range bounds {
		bounds[i] = min(max(b, -math.MaxFloat64), math.MaxFloat64)
	}
	return bounds
}
