package profile

import (
	"bufio"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// promNames maps the metric names of Prometheus' Go collector to runtime/metrics.
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

const (
	promInfo   = "go_info"
	promBucket = "_bucket"
)

// parsePrometheus reads the metrics of the Go runtime from a page in the text
// format of Prometheus. Other metrics are dropped before the page is parsed, so
// that they can neither fail the parser nor cost memory.
func (r *Reading) parsePrometheus(text string) error {
	relevant, err := relevantSamples(text)
	if err != nil {
		return err
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(relevant))
	if err != nil {
		return fmt.Errorf("is not in the text format of Prometheus: %w", err)
	}
	for _, name := range slices.Sorted(maps.Keys(families)) {
		if err := r.family(name, families[name].GetMetric()); err != nil {
			return err
		}
	}
	return nil
}

// relevantSamples returns the samples of promNames and promInfo. Without its TYPE
// line a histogram is parsed as one untyped sample for each bucket.
func relevantSamples(text string) (string, error) {
	var relevant strings.Builder
	lines := bufio.NewScanner(strings.NewReader(text))
	lines.Buffer(nil, maxLine)
	for lines.Scan() {
		line := lines.Text()
		name := line
		if end := strings.IndexAny(line, " \t{"); end >= 0 {
			name = line[:end]
		}
		if _, known := promNames[strings.TrimSuffix(name, promBucket)]; known || name == promInfo {
			relevant.WriteString(line)
			relevant.WriteByte('\n')
		}
	}
	return relevant.String(), lines.Err()
}

// family adds the untyped samples of one name.
func (r *Reading) family(name string, samples []*dto.Metric) error {
	metric, isBucket := strings.CutSuffix(name, promBucket)
	metric = promNames[metric]
	cumulative := map[float64]float64{}
	for _, s := range samples {
		value := s.GetUntyped().GetValue()
		switch {
		case math.IsNaN(value) || math.IsInf(value, 0):
		case name == promInfo:
			r.GoVersion = label(s, "version")
		case !isBucket:
			r.Values[metric] = value
		default:
			if bound, err := strconv.ParseFloat(label(s, "le"), 64); err == nil && !math.IsNaN(bound) {
				cumulative[bound] = value
			}
		}
	}
	if len(cumulative) == 0 {
		return nil
	}
	h, err := histogramOf(cumulative)
	if err != nil {
		return fmt.Errorf("%s: %w", metric, err)
	}
	r.Histograms[metric] = h
	return nil
}

// label returns the value of the named label, or "".
func label(sample *dto.Metric, name string) string {
	for _, pair := range sample.GetLabel() {
		if pair.GetName() == name {
			return pair.GetValue()
		}
	}
	return ""
}

// histogramOf converts cumulative counts by upper bound to a Histogram.
func histogramOf(cumulative map[float64]float64) (Histogram, error) {
	h := Histogram{Bounds: []float64{math.Inf(-1)}}
	below := 0.0
	for _, b := range slices.Sorted(maps.Keys(cumulative)) {
		n := cumulative[b] - below
		if n < 0 || n > math.MaxInt64 {
			return Histogram{}, errors.New("the cumulative counts of the histogram decrease")
		}
		h.Counts, h.Bounds, below = append(h.Counts, uint64(n)), append(h.Bounds, b), cumulative[b]
	}
	return h, nil
}
