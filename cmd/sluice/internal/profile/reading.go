package profile

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// maxMetrics is the largest page of metrics, in bytes.
const maxMetrics = 16 << 20

// jsonReading is how a Reading is written, and what a service may offer: the
// values of runtime/metrics by name, a number each or a histogram. Infinite
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
		return fmt.Errorf("%.40q is no bound", text)
	}
	*b = bound(v)
	return nil
}

// MarshalJSON writes r as ReadingJSON reads it.
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

var errNoMetrics = errors.New("has none of the metrics of the Go runtime")

// readReading reads metrics as jsonReading has them, as an expvar page with
// memstats or with runtime/metrics under some name, or as Prometheus' Go
// collector writes them.
func readReading(r io.Reader) (*Reading, error) {
	text, err := io.ReadAll(io.LimitReader(r, maxMetrics+1))
	if err != nil {
		return nil, err
	}
	if len(text) > maxMetrics {
		return nil, fmt.Errorf("is larger than %d MB", maxMetrics>>20)
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
		return fmt.Errorf("is no JSON of metrics: %w", err)
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
			continue // not ours: an expvar page has anything
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
	return nil
}

// metric takes a number or a histogram; what is neither is left out.
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
		return fmt.Errorf("the histogram %s has %d counts and %d bounds: there must be one bound more", name, len(h.Counts), len(h.Buckets))
	}
	bounds := make([]float64, len(h.Buckets))
	for i, b := range h.Buckets {
		bounds[i] = float64(b)
	}
	r.Histograms[name] = Histogram{Counts: h.Counts, Bounds: bounds}
	return nil
}

// memstats takes what expvar shows of runtime.MemStats, where runtime/metrics
// did not say it.
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

// promNames are the names that Prometheus' Go collector gives to metrics.
var promNames = map[string]string{
	"go_sync_mutex_wait_total_seconds_total": metricMutexWait,
	"go_sched_latencies_seconds":             metricLatencies,
	"go_sched_gomaxprocs_threads":            metricGOMAXPROCS,
	"go_sched_goroutines_goroutines":         metricGoroutines,
	"go_goroutines":                          metricGoroutines,
	"go_gc_cycles_total_gc_cycles_total":     metricCycles,
	"go_gc_heap_allocs_bytes_total":          metricAllocBytes,
	"go_memstats_alloc_bytes_total":          metricAllocBytes,
	"go_cgo_go_to_c_calls_calls_total":       metricCgoCalls,
}

// parsePrometheus reads the text format of Prometheus and of OpenMetrics.
func (r *Reading) parsePrometheus(text string) error {
	buckets := map[string]map[float64]float64{}
	lines := bufio.NewScanner(strings.NewReader(text))
	lines.Buffer(nil, maxLine)
	for lines.Scan() {
		name, labels, value, ok := sample(lines.Text())
		if !ok {
			continue
		}
		if name == "go_info" {
			r.GoVersion = label(labels, "version")
		}
		if metric, ok := promNames[name]; ok {
			r.Values[metric] = value
		}
		family, ok := strings.CutSuffix(name, "_bucket")
		if metric, known := promNames[family]; ok && known {
			if bound, err := strconv.ParseFloat(label(labels, "le"), 64); err == nil && !math.IsNaN(bound) {
				if buckets[metric] == nil {
					buckets[metric] = map[float64]float64{}
				}
				buckets[metric][bound] = value
			}
		}
	}
	for metric, cumulative := range buckets {
		h, err := histogramOf(cumulative)
		if err != nil {
			return fmt.Errorf("%s: %w", metric, err)
		}
		r.Histograms[metric] = h
	}
	return lines.Err()
}

// sample reads a line: name{label="value"} number.
func sample(line string) (name, labels string, value float64, ok bool) {
	if !strings.HasPrefix(line, "go_") {
		return "", "", 0, false
	}
	name, rest, ok := strings.Cut(line, " ")
	if brace := strings.IndexByte(line, '{'); brace >= 0 {
		name = line[:brace]
		labels, rest, ok = strings.Cut(line[brace+1:], "}")
	}
	fields := strings.Fields(rest) // the value, and perhaps a time
	if !ok || len(fields) == 0 {
		return "", "", 0, false
	}
	value, err := strconv.ParseFloat(fields[0], 64)
	return name, labels, value, err == nil && !math.IsNaN(value) && !math.IsInf(value, 0)
}

// label returns the value of a label without quotes inside, "" if there is none.
func label(labels, name string) string {
	for part := range strings.SplitSeq(labels, ",") {
		if key, value, _ := strings.Cut(strings.TrimSpace(part), "="); key == name {
			return strings.Trim(value, `"`)
		}
	}
	return ""
}

// histogramOf makes a Histogram of the counts at and below each bound.
func histogramOf(cumulative map[float64]float64) (Histogram, error) {
	h := Histogram{Bounds: []float64{math.Inf(-1)}}
	bounds := make([]float64, 0, len(cumulative))
	for b := range cumulative {
		bounds = append(bounds, b)
	}
	slices.Sort(bounds)
	below := 0.0
	for _, b := range bounds {
		n := cumulative[b] - below
		if n < 0 || n > math.MaxInt64 {
			return Histogram{}, errors.New("the buckets of the histogram do not grow")
		}
		h.Counts, h.Bounds, below = append(h.Counts, uint64(n)), append(h.Bounds, b), cumulative[b]
	}
	return h, nil
}
