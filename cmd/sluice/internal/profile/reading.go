package profile

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"
)

// maxMetrics is the size limit of a page of metrics, in bytes.
const maxMetrics = 16 << 20

// jsonReading is the JSON form of a Reading, which a service may serve itself:
// the values of runtime/metrics by name, each a number or a histogram. Infinite
// bounds are strings.
//
//	{"go": "go1.26.8", "cpus": 2, "time": "2026-01-02T15:04:05.6Z", "metrics": {
//	  "/sync/mutex/wait/total:seconds": 1.5,
//	  "/sched/latencies:seconds": {"counts": [3, 1], "buckets": ["-Inf", 0, "+Inf"]}}}
type jsonReading struct {
	Go      string                     `json:"go,omitempty"`
	CPUs    int                        `json:"cpus,omitempty"`
	Time    time.Time                  `json:"time,omitzero"`
	Metrics map[string]json.RawMessage `json:"metrics"`
}

type jsonHistogram struct {
	Counts  []uint64 `json:"counts"`
	Buckets []bound  `json:"buckets"`
}

// A bound is a number that may be infinite.
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

func (b *bound) UnmarshalJSON(text []byte) error {
	var s string
	if json.Unmarshal(text, &s) != nil {
		s = string(text)
	}
	v, err := strconv.ParseFloat(s, 64)
	if err != nil || math.IsNaN(v) {
		return fmt.Errorf("invalid histogram bound %.40q", text)
	}
	*b = bound(v)
	return nil
}

// MarshalJSON writes r in the form of jsonReading.
func (r *Reading) MarshalJSON() ([]byte, error) {
	j := jsonReading{Go: r.GoVersion, CPUs: r.CPUs, Time: r.At, Metrics: map[string]json.RawMessage{}}
	for name, v := range r.Values {
		text, err := json.Marshal(v)
		if err != nil {
			return nil, err
		}
		j.Metrics[name] = text
	}
	for name, h := range r.Histograms {
		bounds := make([]bound, len(h.Bounds))
		for i, b := range h.Bounds {
			bounds[i] = bound(b)
		}
		text, err := json.Marshal(jsonHistogram{h.Counts, bounds})
		if err != nil {
			return nil, err
		}
		j.Metrics[name] = text
	}
	return json.Marshal(j)
}

var errNoMetrics = errors.New("no metrics of the Go runtime")

// readReading reads metrics in the form of jsonReading, from an expvar page
// with memstats or runtime/metrics under any name, or in the text format of
// Prometheus.
func readReading(r io.Reader) (*Reading, error) {
	text, err := io.ReadAll(io.LimitReader(r, maxMetrics+1))
	if err != nil {
		return nil, err
	}
	if len(text) > maxMetrics {
		return nil, fmt.Errorf("larger than %d MB", maxMetrics>>20)
	}
	reading := &Reading{Values: map[string]float64{}, Histograms: map[string]Histogram{}}
	if strings.HasPrefix(strings.TrimLeft(string(text[:min(len(text), 512)]), " \t\r\n"), "{") {
		err = reading.parseJSON(text)
	} else {
		err = reading.parsePrometheus(string(text))
	}
	if err != nil {
		return nil, err
	}
	if len(reading.Values)+len(reading.Histograms) == 0 {
		return nil, errNoMetrics
	}
	return reading, nil
}

func (r *Reading) parseJSON(text []byte) error {
	var page map[string]json.RawMessage
	if err := json.Unmarshal(text, &page); err != nil {
		var syntax *json.SyntaxError
		if errors.As(err, &syntax) && syntax.Offset >= int64(len(text)) {
			return errTruncated
		}
		return fmt.Errorf("invalid JSON of metrics: %w", err)
	}
	var header jsonReading
	if json.Unmarshal(text, &header) == nil {
		r.GoVersion, r.At = header.Go, header.Time
		if header.CPUs > 0 && header.CPUs <= maxCores {
			r.CPUs = header.CPUs
		}
	}
	for key, value := range page {
		if strings.HasPrefix(key, "/") {
			if err := r.metric(key, value); err != nil {
				return err
			}
			continue
		}
		var group map[string]json.RawMessage
		if json.Unmarshal(value, &group) != nil {
			continue // an expvar page may hold anything
		}
		for name, value := range group {
			if !strings.HasPrefix(name, "/") {
				continue
			}
			if err := r.metric(name, value); err != nil {
				return err
			}
		}
	}
	r.memstats(page["memstats"])
	r.published(page)
	return nil
}

// published adds GOMAXPROCS if a program publishes it under its own name, unless
// runtime/metrics had it.
func (r *Reading) published(page map[string]json.RawMessage) {
	if _, ok := r.Values[metricGOMAXPROCS]; ok {
		return
	}
	for name, value := range page {
		var n float64
		if name = strings.TrimPrefix(strings.ToLower(name), "runtime."); name == "gomaxprocs" && json.Unmarshal(value, &n) == nil && n >= 1 && n <= maxCores {
			r.Values[metricGOMAXPROCS] = n
		}
	}
}

// metric adds a number or a histogram, and ignores anything else.
func (r *Reading) metric(name string, value json.RawMessage) error {
	var v float64
	if json.Unmarshal(value, &v) == nil {
		r.Values[name] = v
		return nil
	}
	var h jsonHistogram
	if err := json.Unmarshal(value, &h); err != nil || h.Counts == nil {
		return nil
	}
	if len(h.Buckets) != len(h.Counts)+1 {
		return fmt.Errorf("the histogram %s has %d counts and %d bounds (want one bound more)", name, len(h.Counts), len(h.Buckets))
	}
	bounds := make([]float64, len(h.Buckets))
	for i, b := range h.Buckets {
		bounds[i] = float64(b)
	}
	r.Histograms[name] = Histogram{Counts: h.Counts, Bounds: bounds}
	return nil
}

// memstats adds runtime.MemStats of an expvar page, unless runtime/metrics had
// the value.
func (r *Reading) memstats(text json.RawMessage) {
	var m struct{ NumGC, TotalAlloc *float64 }
	if text == nil || json.Unmarshal(text, &m) != nil {
		return
	}
	for name, v := range map[string]*float64{metricCycles: m.NumGC, metricAllocBytes: m.TotalAlloc} {
		if _, ok := r.Values[name]; !ok && v != nil {
			r.Values[name] = *v
		}
	}
}
