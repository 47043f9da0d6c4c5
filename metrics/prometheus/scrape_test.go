package sluiceprom

import (
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/inspect"
)

// everyName is more names than all tests together use.
var everyName = &Options{MaxNames: 1 << 20}

// serve has a server answer with what a new collector tells, through a registry that
// checks everything.
func serve(t *testing.T, o *Options) (address string) {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	if err := registry.Register(NewCollector(o)); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(promhttp.HandlerFor(registry, promhttp.HandlerOpts{ErrorHandling: promhttp.HTTPErrorOnError}))
	t.Cleanup(server.Close)
	return server.URL
}

// families is what one scrape told.
type families map[string]*dto.MetricFamily

// scrape asks as Prometheus does.
func scrape(t *testing.T, address string) families {
	t.Helper()
	response, err := http.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		t.Fatalf("the answer is %s", response.Status)
	}
	parser := expfmt.NewTextParser(model.LegacyValidation)
	told, err := parser.TextToMetricFamilies(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return told
}

// value returns the one value of a metric with these labels, given as "name=value",
// and fails if there is not just one.
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

// A running program, scraped over HTTP: the scrape tells what the channel knows.
func TestScrape(t *testing.T) {
	ctx, name := t.Context(), unique(t)
	named := "name=" + name
	c := sluice.NewBounded[int](3, &sluice.BoundedOptions[int]{Name: name, Overflow: sluice.DropOldest})
	e := sluice.NewElastic[int](sluice.Unlimited, &sluice.ElasticOptions[int]{Name: name})
	address := serve(t, everyName)

	waiting := make(chan error)
	go func() { // receives one value, for which it waits, and another
		_, err := c.Recv(ctx)
		waiting <- err
	}()
	for c.Stats().ReceiversWaiting == 0 || c.Stats().RecvWaits == 0 { // the test's deadline ends it if it does not
		runtime.Gosched()
	}
	told := scrape(t, address)
	if got := told.value(t, "sluice_channel_waiting", named, "kind=Bounded", "side=receive"); got != 1 {
		t.Errorf("%v receivers wait", got)
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

	told = scrape(t, address)
	stats := c.Stats()
	for _, want := range []struct {
		metric string
		value  float64
		labels []string
	}{
		{"sluice_channel_sent_total", 6, nil},
		{"sluice_channel_received_total", 1, nil},
		{"sluice_channel_dropped_total", 2, nil},
		{"sluice_channel_waits_total", 1, []string{"side=receive"}},
		{"sluice_channel_waits_total", 0, []string{"side=send"}},
		{"sluice_channel_wait_time_seconds_total", stats.RecvWaitTime.Seconds(), []string{"side=receive"}},
		{"sluice_channel_wait_time_seconds_total", 0, []string{"side=send"}},
		{"sluice_channel_waiting", 0, []string{"side=receive"}},
		{"sluice_channel_waiting", 0, []string{"side=send"}},
		{"sluice_channel_usage", 3, nil},
		{"sluice_channel_limit", 3, nil},
		{"sluice_channel_high_water", float64(stats.HighWater), nil},
		{"sluice_channel_memory_usage_bytes", float64(stats.Bytes), nil},
		{"sluice_channel_disk_usage_bytes", 0, nil},
		{"sluice_channel_lanes", 1, nil},
		{"sluice_channels", 1, []string{"state=open"}},
		{"sluice_channels", 0, []string{"state=closed"}},
		{"sluice_channel_warned", 0, nil},
	} {
		if got := told.value(t, want.metric, append(want.labels, named, "kind=Bounded")...); got != want.value {
			t.Errorf("%s%q is %v, want %v", want.metric, want.labels, got, want.value)
		}
	}
	if got := told.value(t, "sluice_channel_limit", named, "kind=Elastic"); got != math.Inf(1) {
		t.Errorf("without a limit it is %v", got)
	}
	if got := told.value(t, "sluice_channels", named, "kind=Elastic", "state=closed"); got != 1 {
		t.Errorf("%v are closed", got)
	}
	keep(c)
	keep(e)
}

// A kind from outside has more to tell, and is told of too.
func TestEnlisted(t *testing.T) {
	name := unique(t)
	c := &onDisk{sluice.Stats{BytesOnDisk: 4096, Warning: "sync is off", Lanes: 1}}
	inspect.Register(name, "Spill", c)
	told := scrape(t, serve(t, everyName))
	for metric, want := range map[string]float64{"sluice_channel_disk_usage_bytes": 4096, "sluice_channel_warned": 1, "sluice_channel_lanes": 1} {
		if got := told.value(t, metric, "name="+name, "kind=Spill"); got != want {
			t.Errorf("%s is %v, want %v", metric, got, want)
		}
	}
	keep(c)
}

type onDisk struct{ stats sluice.Stats }

func (c *onDisk) Stats() sluice.Stats { return c.stats }

// Names from outside arrive as they are shown, in each format, and make no second
// series, label or line.
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
		told := families{}
		if got, _, _ := strings.Cut(response.Header.Get("Content-Type"), ";"); !strings.HasPrefix(accept, got) {
			t.Errorf("%s: the answer is %s", accept, got)
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
			told[family.GetName()] = family
		}
		response.Body.Close()
		if n := len(told); n != 15 {
			t.Errorf("%s: %d families", accept, n)
		}
		if got := told.value(t, "sluice_channel_limit", "name="+shown); got != 3 {
			t.Errorf("%s: %v", accept, got)
		}
	}
	keep(c)
}

// Past the limit names are counted together, and how many they are is told.
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
	told := scrape(t, serve(t, &Options{MaxNames: 1}))
	if n := len(told.values("sluice_channel_sent_total")); n != 2 {
		t.Errorf("%d series, want one and that of the others", n)
	}
	if got := told.value(t, "sluice_channel_other_names"); got < 4 {
		t.Errorf("%v other names", got)
	}
	if got := told.value(t, "sluice_channel_sent_total", "name=_OTHER", "kind=_OTHER"); got < 4 {
		t.Errorf("%v values sent in others", got)
	}
	keep(all)
}
