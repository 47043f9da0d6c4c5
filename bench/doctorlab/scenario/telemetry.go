package main

import (
	"hash/fnv"
	"maps"
	"strconv"
	"strings"
	"sync"
)

// Metrics of a whole service, sent to one goroutine.
var _ = register(scenario{
	Name: "telemetry",
	About: "Twelve handlers of an API parse a path, find its route and respond. Each sends four metrics " +
		"per request over one channel to one goroutine that aggregates them: the handlers wait for the " +
		"channel longer than they work.",
	HeldOut:  true,
	Channels: true,
	Sites: []site{
		{send, "main.(*telemetry).submit"}, {send, "main.(*telemetry).count"}, {send, "main.(*telemetry).observe"},
		{receive, "main.(*telemetry).aggregate"},
	},
	Right: []string{batch},
	finite: map[string]finiteRun{
		asFound: func(s *service, items int) uint64 { return runTelemetry(s, items, newTelemetry(1, 256)) },
		buffer:  func(s *service, items int) uint64 { return runTelemetry(s, items, newTelemetry(1, 16384)) },
		shard:   func(s *service, items int) uint64 { return runTelemetry(s, items, newTelemetry(4, 256)) },
		mutex:   func(s *service, items int) uint64 { return runTelemetry(s, items, &lockedMetrics{sums: metricSums{}}) },
		batch: func(s *service, items int) uint64 {
			return runTelemetry(s, items, &metricBatches{in: make(chan []metric, 16), sums: metricSums{}})
		},
	},
})

const (
	apiHandlers = 12
	metricBatch = 64 // metrics of 16 requests
)

// A metric is a measurement of a handler.
type metric struct {
	name  string
	value uint64
}

// metricSums are aggregated metrics.
type metricSums map[string]uint64

func (m metricSums) digest() (sum uint64) {
	for name, value := range m {
		sum += value * uint64(len(name))
	}
	return sum
}

// A metricSink aggregates the metrics of all handlers.
type metricSink interface {
	start()                      // before all handlers
	reporter(handler int) report // one per handler
	finish() metricSums          // after all handlers
}

// A report sends the metrics of one handler.
type report interface {
	count(name string, n uint64)
	observe(name string, value uint64)
	flush()
}

// runTelemetry serves the given number of requests.
func runTelemetry(s *service, items int, sink metricSink) uint64 {
	sink.start()
	var handlers sync.WaitGroup
	for i := range apiHandlers {
		api := &api{routes: apiRoutes, metrics: sink.reporter(i), done: s.counter()}
		handlers.Go(func() { api.handle(uint64(i), items/apiHandlers) })
	}
	handlers.Wait()
	return sink.finish().digest()
}

// An api serves requests in one goroutine.
type api struct {
	routes  map[string]func(id uint64) []byte
	metrics report
	done    *counter
}

var apiRoutes = map[string]func(uint64) []byte{
	"users":    func(id uint64) []byte { return strconv.AppendUint([]byte(`{"user":`), id, 10) },
	"orders":   func(id uint64) []byte { return strconv.AppendUint([]byte(`{"order":`), id*7, 10) },
	"invoices": func(id uint64) []byte { return strconv.AppendUint([]byte(`{"invoice":`), id*13, 16) },
}

var apiPaths = [...]string{"/v1/users/", "/v1/orders/", "/v1/invoices/", "/v1/nothing/"}

func (a *api) handle(handler uint64, requests int) {
	for n := range uint64(requests) {
		status, body := a.serve(apiPaths[(n+handler)%4] + strconv.FormatUint(n*31+handler, 10))
		a.metrics.count("requests."+status, 1)
		a.metrics.count("bytes", uint64(len(body)))
		a.metrics.observe("latency", n%97)
		a.metrics.observe("checksum", checksumOf(body)%1000)
		a.done.add(1)
	}
	a.metrics.flush()
}

func (a *api) serve(path string) (status string, body []byte) {
	_, rest, _ := strings.Cut(path[1:], "/")
	resource, id, _ := strings.Cut(rest, "/")
	number, err := strconv.ParseUint(id, 10, 64)
	route, ok := a.routes[resource]
	if err != nil || !ok {
		return "404", nil
	}
	return "200", append(route(number), '}')
}

func checksumOf(body []byte) uint64 {
	h := fnv.New64a()
	h.Write(body)
	return h.Sum64()
}

// A telemetry receives single metrics; with several lanes, each handler uses
// one of them.
type telemetry struct {
	lanes []chan metric
	in    chan metric // the lane of a reporter
	sums  []metricSums
	ended sync.WaitGroup
}

func newTelemetry(lanes, capacity int) *telemetry {
	t := new(telemetry)
	for range lanes {
		t.lanes = append(t.lanes, make(chan metric, capacity))
		t.sums = append(t.sums, metricSums{})
	}
	return t
}

func (t *telemetry) start() {
	for i := range t.lanes {
		t.ended.Go(func() { t.aggregate(i) })
	}
}

func (t *telemetry) aggregate(lane int) {
	sums := t.sums[lane]
	for m := range t.lanes[lane] {
		sums[m.name] += m.value
	}
}

func (t *telemetry) finish() metricSums {
	for _, lane := range t.lanes {
		close(lane)
	}
	t.ended.Wait()
	all := metricSums{}
	for _, sums := range t.sums {
		for name := range maps.Keys(sums) {
			all[name] += sums[name]
		}
	}
	return all
}

func (t *telemetry) reporter(handler int) report {
	return &telemetry{in: t.lanes[handler%len(t.lanes)]}
}

func (t *telemetry) count(name string, n uint64)       { t.submit(metric{name, n}) }
func (t *telemetry) observe(name string, value uint64) { t.submit(metric{name, value}) }
func (t *telemetry) submit(m metric)                   { t.in <- m }
func (t *telemetry) flush()                            {}

// metricBatches receives slices of metrics, one per several requests.
type metricBatches struct {
	in    chan []metric
	sums  metricSums
	ended sync.WaitGroup
}

func (b *metricBatches) start() { b.ended.Go(b.aggregate) }

func (b *metricBatches) aggregate() {
	for metrics := range b.in {
		for _, m := range metrics {
			b.sums[m.name] += m.value
		}
	}
}

func (b *metricBatches) finish() metricSums {
	close(b.in)
	b.ended.Wait()
	return b.sums
}

func (b *metricBatches) reporter(int) report { return &metricBuffer{to: b.in} }

// A metricBuffer belongs to one handler.
type metricBuffer struct {
	to      chan<- []metric
	pending []metric
}

func (b *metricBuffer) count(name string, n uint64)       { b.add(metric{name, n}) }
func (b *metricBuffer) observe(name string, value uint64) { b.add(metric{name, value}) }

func (b *metricBuffer) add(m metric) {
	b.pending = append(b.pending, m)
	if len(b.pending) == metricBatch {
		b.flush()
	}
}

func (b *metricBuffer) flush() {
	b.to <- b.pending
	b.pending = make([]metric, 0, metricBatch)
}

// lockedMetrics has no goroutine: handlers aggregate under a mutex.
type lockedMetrics struct {
	mu   sync.Mutex
	sums metricSums
}

func (l *lockedMetrics) start()                            {}
func (l *lockedMetrics) finish() metricSums                { return l.sums }
func (l *lockedMetrics) reporter(int) report               { return l }
func (l *lockedMetrics) flush()                            {}
func (l *lockedMetrics) observe(name string, value uint64) { l.count(name, value) }

func (l *lockedMetrics) count(name string, n uint64) {
	l.mu.Lock()
	l.sums[name] += n
	l.mu.Unlock()
}
