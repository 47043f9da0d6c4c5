package sluiceotel_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"go.opentelemetry.io/otel/exporters/stdout/stdoutmetric"
	api "go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/inspect"
	sluiceotel "github.com/sluice-go/sluice/metrics/otel"
)

// TestCollect compares a collection with the Stats of the channels.
func TestCollect(t *testing.T) {
	ctx, name := t.Context(), unique(t)
	named := "sluice.channel.name=" + name
	c := sluice.NewBounded[int](3, &sluice.BoundedOptions[int]{Name: name, Overflow: sluice.DropOldest})
	e := sluice.NewElastic[int](sluice.Unlimited, &sluice.ElasticOptions[int]{Name: name})
	reader := metric.NewManualReader()
	observed(t, everyName, reader)

	waiting := make(chan error)
	go func() {
		_, err := c.Recv(ctx)
		waiting <- err
	}()
	for c.Stats().ReceiversWaiting == 0 || c.Stats().RecvWaits == 0 { // the test's deadline ends it if it does not
		runtime.Gosched()
	}
	if got := collect(t, reader).value(t, "sluice.channel.waiting", named, "sluice.channel.kind=Bounded", "sluice.channel.side=receive"); got != 1 {
		t.Errorf("%v receivers wait, want 1", got)
	}
	if err := c.Send(ctx, 1); err != nil {
		t.Fatal(err)
	}
	if err := <-waiting; err != nil {
		t.Fatal(err)
	}
	for i := range 5 {
		if err := c.Send(ctx, i); err != nil {
			t.Fatal(err)
		}
		if err := e.Send(ctx, i); err != nil {
			t.Fatal(err)
		}
	}
	e.Close()

	all := collect(t, reader)
	stats := c.Stats()
	send, receive := "sluice.channel.side=send", "sluice.channel.side=receive"
	for _, want := range []struct {
		name  string
		value float64
		with  []string
	}{
		{"sluice.channel.sent", 6, nil},
		{"sluice.channel.received", 1, nil},
		{"sluice.channel.dropped", 2, []string{"sluice.channel.reason=overflow"}},
		{"sluice.channel.dropped", 0, []string{"sluice.channel.reason=age"}},
		{"sluice.channel.waits", 1, []string{receive}},
		{"sluice.channel.waits", 0, []string{send}},
		{"sluice.channel.wait.time", stats.RecvWaitTime.Seconds(), []string{receive}},
		{"sluice.channel.wait.time", 0, []string{send}},
		{"sluice.channel.waiting", 0, []string{receive}},
		{"sluice.channel.waiting", 0, []string{send}},
		{"sluice.channel.usage", 3, nil},
		{"sluice.channel.capacity", 3, nil},
		{"sluice.channel.high_water", float64(stats.HighWater), nil},
		{"sluice.channel.memory.usage", float64(stats.Bytes), nil},
		{"sluice.channel.disk.usage", 0, nil},
		{"sluice.channel.lanes", 1, nil},
		{"sluice.channels", 1, []string{"sluice.channel.state=open"}},
		{"sluice.channels", 0, []string{"sluice.channel.state=closed"}},
		{"sluice.channel.warned", 0, nil},
		{"sluice.channel.unanswered", 0, nil},
	} {
		if got := all.value(t, want.name, append(want.with, named, "sluice.channel.kind=Bounded")...); got != want.value {
			t.Errorf("%s%q is %v, want %v", want.name, want.with, got, want.value)
		}
	}
	if limits, _ := all.points("sluice.channel.capacity", named, "sluice.channel.kind=Elastic"); len(limits) > 0 {
		t.Errorf("the limit of an Elastic without a limit is %v", limits)
	}
	if got := all.value(t, "sluice.channels", named, "sluice.channel.kind=Elastic", "sluice.channel.state=closed"); got != 1 {
		t.Errorf("%v closed channels, want 1", got)
	}
	keep(c)
	keep(e)
}

// TestReadersOfBothTemporalities: a reader of deltas gets deltas, even beside a
// cumulative one.
func TestReadersOfBothTemporalities(t *testing.T) {
	name := unique(t)
	total := metric.NewManualReader()
	since := metric.NewManualReader(metric.WithTemporalitySelector(func(metric.InstrumentKind) metricdata.Temporality { return metricdata.DeltaTemporality }))
	observed(t, everyName, total, since)
	c := sluice.NewBounded[int](100, &sluice.BoundedOptions[int]{Name: name})
	for i := range 3 {
		for range 10 {
			if err := c.TrySend(i); err != nil {
				t.Fatal(err)
			}
		}
		named := "sluice.channel.name=" + name
		if got := collect(t, total).value(t, "sluice.channel.sent", named); got != float64(10*i+10) {
			t.Errorf("%v in all", got)
		}
		if got := collect(t, since).value(t, "sluice.channel.sent", named); got != 10 {
			t.Errorf("%v since the last one", got)
		}
	}
	keep(c)
}

// TestExport exports to JSON, which supports neither infinity nor invalid UTF-8.
func TestExport(t *testing.T) {
	name := unique(t)
	c := sluice.NewElastic[int](sluice.Unlimited, &sluice.ElasticOptions[int]{Name: name + "\"\n\xff"})
	var out strings.Builder
	exporter, err := stdoutmetric.New(stdoutmetric.WithWriter(&out))
	if err != nil {
		t.Fatal(err)
	}
	provider := metric.NewMeterProvider(metric.WithReader(metric.NewPeriodicReader(exporter)))
	if _, err := sluiceotel.Register(provider, everyName); err != nil {
		t.Fatal(err)
	}
	if err := provider.Shutdown(t.Context()); err != nil { // exports once
		t.Fatal(err)
	}
	var exported struct {
		ScopeMetrics []struct{ Metrics []struct{ Name string } }
	}
	if err := json.Unmarshal([]byte(out.String()), &exported); err != nil {
		t.Fatalf("%v: %s", err, out.String())
	}
	if len(exported.ScopeMetrics) != 1 || len(exported.ScopeMetrics[0].Metrics) == 0 {
		t.Errorf("%+v", exported)
	}
	if !strings.Contains(out.String(), name+`\"`+"\ufffd\ufffd") {
		t.Errorf("the name is not in %s", out.String())
	}
	keep(c)
}

func TestMaxNames(t *testing.T) {
	name := unique(t)
	var all []*sluice.Bounded[int]
	for i := range 5 {
		all = append(all, sluice.NewBounded[int](4, &sluice.BoundedOptions[int]{Name: fmt.Sprint(name, i)}))
	}
	reader := metric.NewManualReader()
	observed(t, &sluiceotel.Options{MaxNames: 1}, reader)
	exported := collect(t, reader)
	if points, _ := exported.points("sluice.channel.sent"); len(points) != 2 {
		t.Errorf("%d points, want 2", len(points))
	}
	if got := exported.value(t, "sluice.channel.other_names"); got < 4 {
		t.Errorf("%v other names", got)
	}
	if got := exported.value(t, "sluice.channels", "sluice.channel.name=_OTHER", "sluice.channel.kind=_OTHER", "sluice.channel.state=open"); got < 4 {
		t.Errorf("%v others", got)
	}
	keep(all)
}

func TestUnregister(t *testing.T) {
	c := sluice.NewBounded[int](3, &sluice.BoundedOptions[int]{Name: unique(t)})
	reader := metric.NewManualReader()
	provider := metric.NewMeterProvider(metric.WithReader(reader))
	registration, err := sluiceotel.Register(provider, everyName)
	if err != nil {
		t.Fatal(err)
	}
	if exported := collect(t, reader); len(exported) != 18 {
		t.Errorf("%d metrics", len(exported))
	}
	if err := registration.Unregister(); err != nil {
		t.Fatal(err)
	}
	if exported := collect(t, reader); len(exported) != 0 {
		t.Errorf("%d metrics after Unregister", len(exported))
	}
	if err := provider.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	keep(c)
}

// TestRegisteredTwice shows why Register must be called only once.
func TestRegisteredTwice(t *testing.T) {
	name := unique(t)
	c := sluice.NewBounded[int](3, &sluice.BoundedOptions[int]{Name: name})
	reader := metric.NewManualReader()
	provider := metric.NewMeterProvider(metric.WithReader(reader))
	for range 2 {
		if _, err := sluiceotel.Register(provider, everyName); err != nil {
			t.Fatal(err)
		}
	}
	if got := collect(t, reader).value(t, "sluice.channel.capacity", "sluice.channel.name="+name); got != 6 {
		t.Errorf("the limit of 3 is %v, want 6, as the doc comment of Register explains", got)
	}
	if err := provider.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	keep(c)
}

// TestConcurrentCollections: counters never fall during concurrent collections, while
// channels are in use, created, and become garbage.
func TestConcurrentCollections(t *testing.T) {
	name := unique(t)
	const collections = 50
	readers := []*metric.ManualReader{metric.NewManualReader(), metric.NewManualReader(), metric.NewManualReader()}
	observed(t, everyName, readers...)
	ctx, stop := context.WithCancel(t.Context())
	var working, collecting sync.WaitGroup
	working.Go(func() {
		for ctx.Err() == nil {
			c := sluice.NewBounded[int](64, &sluice.BoundedOptions[int]{Name: name})
			for i := range 64 {
				if err := c.TrySend(i); err != nil {
					t.Error(err)
				}
			}
			runtime.Gosched()
		}
	})
	for _, reader := range append(readers, readers...) { // two at a time of each
		collecting.Go(func() {
			var before float64
			for range collections {
				now, _ := collect(t, reader).points("sluice.channel.sent", "sluice.channel.name="+name)
				for _, p := range now {
					if p.value < before {
						t.Errorf("the counter fell from %v to %v", before, p.value)
					}
					before = p.value
				}
			}
		})
	}
	collecting.Wait()
	stop()
	working.Wait()
}

// TestRejectedByTheProvider: Register returns the errors of the provider.
func TestRejectedByTheProvider(t *testing.T) {
	for _, refused := range []string{"sluice.channel.sent", "sluice.channel.wait.time", "sluice.channel.high_water", "sluice.channel.other_names", "callback"} {
		registration, err := sluiceotel.Register(refusing{what: refused}, nil)
		if registration != nil || !errors.Is(err, errRefused) || !strings.Contains(err.Error(), refused) {
			t.Errorf("%s: %v, %v", refused, registration, err)
		}
	}
	if _, err := sluiceotel.Register(noop.NewMeterProvider(), nil); err != nil {
		t.Errorf("a provider without readers: %v", err)
	}
}

var errRefused = errors.New("refused")

// refusing is a provider, and its meter, that rejects one instrument or the callback.
type refusing struct {
	noop.MeterProvider
	what string
}

type refusingMeter struct {
	noop.Meter
	what string
}

func (r refusing) Meter(string, ...api.MeterOption) api.Meter { return refusingMeter{what: r.what} }

func (r refusingMeter) refuse(what string) error {
	if what == r.what {
		return errRefused
	}
	return nil
}

func (r refusingMeter) Int64ObservableCounter(name string, _ ...api.Int64ObservableCounterOption) (api.Int64ObservableCounter, error) {
	return noop.Int64ObservableCounter{}, r.refuse(name)
}

func (r refusingMeter) Float64ObservableCounter(name string, _ ...api.Float64ObservableCounterOption) (api.Float64ObservableCounter, error) {
	return noop.Float64ObservableCounter{}, r.refuse(name)
}

func (r refusingMeter) Int64ObservableUpDownCounter(name string, _ ...api.Int64ObservableUpDownCounterOption) (api.Int64ObservableUpDownCounter, error) {
	return noop.Int64ObservableUpDownCounter{}, r.refuse(name)
}

func (r refusingMeter) Int64ObservableGauge(name string, _ ...api.Int64ObservableGaugeOption) (api.Int64ObservableGauge, error) {
	return noop.Int64ObservableGauge{}, r.refuse(name)
}

func (r refusingMeter) RegisterCallback(api.Callback, ...api.Observable) (api.Registration, error) {
	return noop.Registration{}, r.refuse("callback")
}

func TestRefused(t *testing.T) {
	for _, refused := range []struct {
		provider api.MeterProvider
		options  *sluiceotel.Options
		says     string
	}{
		{nil, nil, "sluice: Register: nil provider"},
		{noop.NewMeterProvider(), &sluiceotel.Options{MaxNames: -1}, "sluice: Register: MaxNames is -1, want at least 0"},
	} {
		func() {
			defer func() {
				if got := fmt.Sprint(recover()); got != refused.says {
					t.Errorf("panic %q, want %q", got, refused.says)
				}
			}()
			_, _ = sluiceotel.Register(refused.provider, refused.options)
		}()
	}
}

// BenchmarkCollect collects 10,000 channels, with as many names as have attributes by
// default, and with as many as the SDK accepts.
func BenchmarkCollect(b *testing.B) {
	const channels = 10_000
	for _, names := range []int{100, 999} {
		b.Run(fmt.Sprintf("channels=%d/names=%d", channels, names), func(b *testing.B) {
			all := make([]*sluice.Bounded[int], channels)
			for i := range all {
				all[i] = sluice.NewBounded[int](64, &sluice.BoundedOptions[int]{Name: fmt.Sprintf("%s-%d", strings.Repeat("n", 16), i%names)})
			}
			reader := metric.NewManualReader()
			provider := metric.NewMeterProvider(metric.WithReader(reader))
			if _, err := sluiceotel.Register(provider, &sluiceotel.Options{MaxNames: names}); err != nil {
				b.Fatal(err)
			}
			var into metricdata.ResourceMetrics
			b.ReportAllocs()
			for b.Loop() {
				if err := reader.Collect(b.Context(), &into); err != nil {
					b.Fatal(err)
				}
			}
			keep(all)
		})
	}
}

// TestUnanswered: while the Stats of a channel block, its gauges are not observed, and its
// counters stay.
func TestUnanswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		name := unique(t)
		b := &blocking{gate: make(chan struct{})}
		inspect.Register(name, "Blocking", b)
		reader := metric.NewManualReader()
		observed(t, everyName, reader)
		named := "sluice.channel.name=" + name
		check := func(unanswered float64, gauges int) {
			t.Helper()
			all := collect(t, reader)
			if got := all.value(t, "sluice.channel.unanswered", named); got != unanswered {
				t.Errorf("%v channels do not answer, want %v", got, unanswered)
			}
			if got := all.value(t, "sluice.channel.sent", named); got != 3 {
				t.Errorf("%v sent", got)
			}
			if points, _ := all.points("sluice.channel.usage", named); len(points) != gauges {
				t.Errorf("%d values of a gauge, want %d", len(points), gauges)
			}
		}
		check(0, 1)
		b.blocks.Store(true)
		check(1, 0)
		check(1, 0)
		b.blocks.Store(false)
		close(b.gate)
		synctest.Wait()
		check(0, 1)
		keep(b)
	})
}

type blocking struct {
	blocks atomic.Bool
	gate   chan struct{}
}

func (b *blocking) Stats() sluice.Stats {
	if b.blocks.Load() {
		<-b.gate
	}
	return sluice.Stats{Sent: 3}
}
