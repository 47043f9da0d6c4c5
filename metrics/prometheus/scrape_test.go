package sluiceprom_test

import (
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/inspect"
	sluiceprom "github.com/sluice-go/sluice/metrics/prometheus"
)

// everyName has a limit above the number of names in all tests.
var everyName = &sluiceprom.Options{MaxNames: 1 << 20}

// serve starts a server for the metrics of a new collector, through a registry that checks
// everything.
func serve(t *testing.T, o *sluiceprom.Options) (address string) {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	if err := registry.Register(sluiceprom.NewCollector(o)); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(promhttp.HandlerFor(registry, promhttp.HandlerOpts{ErrorHandling: promhttp.HTTPErrorOnError}))
	t.Cleanup(server.Close)
	return server.URL
}

// families are the metrics of one scrape.
type families map[string]*dto.MetricFamily

// scrape requests the metrics as Prometheus does.
func scrape(t *testing.T, address string) families {
	t.Helper()
	response, err := http.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		t.Fatalf("status %s", response.Status)
	}
	parser := expfmt.NewTextParser(model.LegacyValidation)
	exported, err := parser.TextToMetricFamilies(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return exported
}

// value returns the value of a metric with these labels, in the form "name=value". It fails
// unless there is exactly one.
func (f families) value(t *testing.T, metric string, labels ...string) float64 {
	t.Helper()
	values := f.values(metric, labels...)
	if len(values) != 1 {
		t.Fatalf("%s%q has %d values", metric, labels, len(values))
	}
	return values[0]
}

func (f families) values(metric string, labels ...string) (values []float64) {
	for _, m := range f[metric].GetMetric() {
		has := map[string]bool{}
		for _, pair := range m.GetLabel() {
			has[pair.GetName()+"="+pair.GetValue()] = true
		}
		all := true
		for _, label := range labels {
			all = all && has[label]
		}
		if all {
			values = append(values, m.GetCounter().GetValue()+m.GetGauge().GetValue())
		}
	}
	return values
}

// TestScrape scrapes a running program over HTTP, and compares with the Stats of its
// channels.
func TestScrape(t *testing.T) {
	ctx, name := t.Context(), unique(t)
	named := "name=" + name
	c := sluice.NewBounded[int](3, &sluice.BoundedOptions[int]{Name: name, Overflow: sluice.DropOldest})
	e := sluice.NewElastic[int](sluice.Unlimited, &sluice.ElasticOptions[int]{Name: name})
	address := serve(t, everyName)

	waiting := make(chan error)
	go func() { // waits for a value
		_, err := c.Recv(ctx)
		waiting <- err
	}()
	for c.Stats().ReceiversWaiting == 0 || c.Stats().RecvWaits == 0 { // bounded by the timeout of the test
		runtime.Gosched()
	}
	exported := scrape(t, address)
	if got := exported.value(t, "sluice_channel_waiting", named, "kind=Bounded", "side=receive"); got != 1 {
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

	exported = scrape(t, address)
	stats := c.Stats()
	for _, want := range []struct {
		metric string
		value  float64
		labels []string
	}{
		{"sluice_channel_sent_total", 6, nil},
		{"sluice_channel_received_total", 1, nil},
		{"sluice_channel_dropped_total", 2, []string{"reason=overflow"}},
		{"sluice_channel_dropped_total", 0, []string{"reason=age"}},
		{"sluice_channel_waits_total", 1, []string{"side=receive"}},
		{"sluice_channel_waits_total", 0, []string{"side=send"}},
		{"sluice_channel_wait_time_seconds_total", stats.RecvWaitTime.Seconds(), []string{"side=receive"}},
		{"sluice_channel_wait_time_seconds_total", 0, []string{"side=send"}},
		{"sluice_channel_waiting", 0, []string{"side=receive"}},
		{"sluice_channel_waiting", 0, []string{"side=send"}},
		{"sluice_channel_usage", 3, nil},
		{"sluice_channel_capacity", 3, nil},
		{"sluice_channel_high_water", float64(stats.HighWater), nil},
		{"sluice_channel_memory_usage_bytes", float64(stats.Bytes), nil},
		{"sluice_channel_disk_usage_bytes", 0, nil},
		{"sluice_channel_lanes", 1, nil},
		{"sluice_channels", 1, []string{"state=open"}},
		{"sluice_channels", 0, []string{"state=closed"}},
		{"sluice_channel_warned", 0, nil},
		{"sluice_channel_unanswered", 0, nil},
	} {
		if got := exported.value(t, want.metric, append(want.labels, named, "kind=Bounded")...); got != want.value {
			t.Errorf("%s%q is %v, want %v", want.metric, want.labels, got, want.value)
		}
	}
	if got := exported.value(t, "sluice_channel_capacity", named, "kind=Elastic"); got != math.Inf(1) {
		t.Errorf("the limit of an Elastic without a limit is %v", got)
	}
	if got := exported.value(t, "sluice_channels", named, "kind=Elastic", "state=closed"); got != 1 {
		t.Errorf("%v closed channels, want 1", got)
	}

	time.Sleep(2 * time.Millisecond)
	if got := scrape(t, address).value(t, "sluice_channel_oldest_value_seconds", named, "kind=Bounded"); got < 0.002 {
		t.Errorf("after 2 ms the oldest value is %v s old", got)
	}
	keep(c)
	keep(e)
}

// TestRegistered: a channel of another type is exported, with the figures that only such
// channels have.
func TestRegistered(t *testing.T) {
	name := unique(t)
	c := new(onDisk)
	c.stats.Disk.Bytes, c.stats.Disk.Warning = 4096, "sync is off"
	inspect.Register(name, "Spill", c)
	exported := scrape(t, serve(t, everyName))
	for metric, want := range map[string]float64{"sluice_channel_disk_usage_bytes": 4096, "sluice_channel_warned": 1, "sluice_channel_lanes": 1} {
		if got := exported.value(t, metric, "name="+name, "kind=Spill"); got != want {
			t.Errorf("%s is %v, want %v", metric, got, want)
		}
	}
	keep(c)
}

type onDisk struct{ stats sluice.Stats }

func (c *onDisk) Stats() sluice.Stats { return c.stats }

// TestHostileNames: hostile names are escaped in each format, and do not inject series,
// labels or lines.
func TestHostileNames(t *testing.T) {
	name := unique(t)
	hostile := name + "\"} 1\n# TYPE x counter\nx{a=\"\\\xff"
	shown := name + "\"} 1\ufffd# TYPE x counter\ufffdx{a=\"\\\ufffd"
	c := sluice.NewBounded[int](3, &sluice.BoundedOptions[int]{Name: hostile})
	address := serve(t, everyName)
	for _, accept := range []string{
		"text/plain;version=0.0.4",
		"application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited",
	} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Accept", accept)
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		exported := families{}
		if got, _, _ := strings.Cut(response.Header.Get("Content-Type"), ";"); !strings.HasPrefix(accept, got) {
			t.Errorf("%s: Content-Type %s", accept, got)
		}
		for decoder := expfmt.NewDecoder(response.Body, expfmt.ResponseFormat(response.Header)); ; {
			family := new(dto.MetricFamily)
			err := decoder.Decode(family)
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			exported[family.GetName()] = family
		}
		response.Body.Close()
		if n := len(exported); n != 18 {
			t.Errorf("%s: %d families, want 18", accept, n)
		}
		if got := exported.value(t, "sluice_channel_capacity", "name="+shown); got != 3 {
			t.Errorf("%s: %v", accept, got)
		}
	}
	keep(c)
}

// TestMaxNames: names beyond the limit are added up and counted.
func TestMaxNames(t *testing.T) {
	name := unique(t)
	var all []*sluice.Bounded[int]
	for i := range 5 {
		c := sluice.NewBounded[int](4, &sluice.BoundedOptions[int]{Name: fmt.Sprint(name, i)})
		if err := c.TrySend(i); err != nil {
			t.Fatal(err)
		}
		all = append(all, c)
	}
	exported := scrape(t, serve(t, &sluiceprom.Options{MaxNames: 1}))
	if n := len(exported.values("sluice_channel_sent_total")); n != 2 {
		t.Errorf("%d series, want 2", n)
	}
	if got := exported.value(t, "sluice_channel_other_names"); got < 4 {
		t.Errorf("%v other names", got)
	}
	if got := exported.value(t, "sluice_channel_sent_total", "name=_OTHER", "kind=_OTHER"); got < 4 {
		t.Errorf("%v values sent in others", got)
	}
	keep(all)
}

// TestUnanswered: while the Stats of a channel block, its gauges are missing, its counters
// stay, and other channels have both.
func TestUnanswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bad, beside := unique(t)+" bad", unique(t)+" beside"
		b := &blocking{gate: make(chan struct{})}
		b.sent.Store(3)
		inspect.Register(bad, "Blocking", b)
		c := sluice.NewBounded[int](3, &sluice.BoundedOptions[int]{Name: beside})
		registry := prometheus.NewPedanticRegistry()
		registry.MustRegister(sluiceprom.NewCollector(everyName))
		figures := func(name string) map[string]float64 {
			families, err := registry.Gather()
			if err != nil {
				t.Fatal(err)
			}
			return figuresOf(families, name)
		}
		all := len(figures(bad))
		b.blocks.Store(true)
		for range 3 {
			got := figures(bad)
			if got["sluice_channel_unanswered"] != 1 || got["sluice_channel_sent_total"] != 3 {
				t.Errorf("%v", got)
			}
			for metric := range got {
				if !strings.HasSuffix(metric, "_total") && metric != "sluice_channel_unanswered" {
					t.Errorf("%s is not missing", metric)
				}
			}
			if got := figures(beside); len(got) != all || got["sluice_channel_capacity"] != 3 {
				t.Errorf("another channel: %v", got)
			}
		}
		b.sent.Store(5)
		b.blocks.Store(false)
		close(b.gate)
		synctest.Wait()
		if got := figures(bad); len(got) != all || got["sluice_channel_unanswered"] != 0 || got["sluice_channel_sent_total"] != 5 {
			t.Errorf("it answers again: %v", got)
		}
		keep(b)
		keep(c)
	})
}

// figuresOf returns the last figure of each metric of a name.
func figuresOf(families []*dto.MetricFamily, name string) map[string]float64 {
	figures := map[string]float64{}
	for _, family := range families {
		for _, m := range family.GetMetric() {
			if slices.ContainsFunc(m.GetLabel(), func(l *dto.LabelPair) bool { return l.GetName() == "name" && l.GetValue() == name }) {
				figures[family.GetName()] = m.GetGauge().GetValue() + m.GetCounter().GetValue()
			}
		}
	}
	return figures
}

type blocking struct {
	blocks atomic.Bool
	gate   chan struct{}
	sent   atomic.Uint64
}

func (b *blocking) Stats() sluice.Stats {
	if b.blocks.Load() {
		<-b.gate
	}
	return sluice.Stats{Sent: b.sent.Load()}
}
