package sluiceotel_test

import (
	"context"
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	sluiceotel "github.com/sluice-go/sluice/metrics/otel"
)

// everyName has a limit above the number of names in all tests.
var everyName = &sluiceotel.Options{MaxNames: 1 << 20}

// keep keeps channels alive to the end of a test.
func keep(c any) { runtime.KeepAlive(c) }

// unique returns a name that no other test has used, nor an earlier run of this test,
// whose channels may not be garbage yet.
func unique(t *testing.T) string { return fmt.Sprint(t.Name(), "#", runs.Add(1)) }

var runs atomic.Uint64

// observed registers the channels with a new provider that has the given readers.
func observed(t *testing.T, o *sluiceotel.Options, readers ...*metric.ManualReader) {
	t.Helper()
	var options []metric.Option
	for _, r := range readers {
		options = append(options, metric.WithReader(r))
	}
	provider := metric.NewMeterProvider(options...)
	t.Cleanup(func() {
		if err := provider.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
	})
	if _, err := sluiceotel.Register(provider, o); err != nil {
		t.Fatal(err)
	}
}

// exported has the metrics of one collection, by name.
type exported map[string]metricdata.Metrics

func collect(t *testing.T, reader *metric.ManualReader) exported {
	t.Helper()
	var resource metricdata.ResourceMetrics
	if err := reader.Collect(t.Context(), &resource); err != nil {
		t.Fatal(err)
	}
	out := exported{}
	for _, s := range resource.ScopeMetrics {
		if s.Scope.Name != "github.com/sluice-go/sluice/metrics/otel" {
			t.Errorf("the scope is %q", s.Scope.Name)
		}
		for _, m := range s.Metrics {
			out[m.Name] = m
		}
	}
	return out
}

// A point is a data point of an integer or a float.
type point struct {
	attributes attribute.Set
	value      float64
}

// points returns the data points of a metric that have the given attributes, in the form
// "key=value", and the instrument of the metric.
func (all exported) points(name string, with ...string) (found []point, instrument string) {
	var points []point
	switch data := all[name].Data.(type) {
	case metricdata.Sum[int64]:
		points, instrument = pointsOf(data.DataPoints), sumOf(data.IsMonotonic)
	case metricdata.Sum[float64]:
		points, instrument = pointsOf(data.DataPoints), sumOf(data.IsMonotonic)
	case metricdata.Gauge[int64]:
		points, instrument = pointsOf(data.DataPoints), "Gauge"
	case metricdata.Gauge[float64]:
		points, instrument = pointsOf(data.DataPoints), "Gauge"
	}
	for _, p := range points {
		has := map[string]bool{}
		for _, pair := range p.attributes.ToSlice() {
			has[fmt.Sprintf("%s=%s", pair.Key, pair.Value.AsString())] = true
		}
		all := true
		for _, w := range with {
			all = all && has[w]
		}
		if all {
			found = append(found, p)
		}
	}
	return found, instrument
}

func sumOf(monotonic bool) string {
	if monotonic {
		return "Counter"
	}
	return "UpDownCounter"
}

func pointsOf[N int64 | float64](points []metricdata.DataPoint[N]) (out []point) {
	for _, p := range points {
		out = append(out, point{p.Attributes, float64(p.Value)})
	}
	return out
}

// value returns the value with these attributes. It fails unless there is exactly one.
func (all exported) value(t *testing.T, name string, with ...string) float64 {
	t.Helper()
	points, _ := all.points(name, with...)
	if len(points) != 1 {
		t.Fatalf("%s%q has %d points", name, with, len(points))
	}
	return points[0].value
}
