package main

import (
	"net/http"
	"regexp"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/sluice-go/sluice/bench/logagg/pipeline"
	sluiceprom "github.com/sluice-go/sluice/metrics/prometheus"
)

// newMetrics returns the page /metrics: the account of the lines, the channels,
// the runtime and the process.
func newMetrics(p *pipeline.Pipeline) http.Handler {
	registry := prometheus.NewRegistry()
	registry.MustRegister(
		account{p},
		sluiceprom.NewCollector(nil),
		collectors.NewGoCollector(collectors.WithGoCollectorRuntimeMetrics(
			collectors.GoRuntimeMetricsRule{Matcher: regexp.MustCompile(`^/(sync|sched|cpu)/`)})),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	)
	return promhttp.HandlerFor(registry, promhttp.HandlerOpts{})
}

// account exposes the ledger to Prometheus; each scrape reads it once.
type account struct{ pipeline *pipeline.Pipeline }

var (
	linesRead = prometheus.NewDesc("logagg_lines_read_total", "Lines read.", nil, nil)
	lines     = prometheus.NewDesc("logagg_lines_total", "Lines by fate.", []string{"fate"}, nil)
	malformed = prometheus.NewDesc("logagg_malformed_lines_total", "Malformed lines by defect.", []string{"why"}, nil)
	shipped   = prometheus.NewDesc("logagg_counted_lines_total", "Counted lines by the fate of their counts.", []string{"fate"}, nil)
	doubtful  = prometheus.NewDesc("logagg_doubtful_lines_total", "Lines in a shared channel that may have been counted twice, or not at all, by cause.", []string{"how"}, nil)
	open      = prometheus.NewDesc("logagg_connections", "Open connections.", nil, nil)
	closed    = prometheus.NewDesc("logagg_connections_closed_total", "Connections closed by the service, by reason.", []string{"why"}, nil)
	delay     = prometheus.NewDesc("logagg_delay_seconds", "Time from reading a line to counting it, over the latest lines.", []string{"quantile"}, nil)
)

func (a account) Describe(out chan<- *prometheus.Desc) {
	for _, desc := range []*prometheus.Desc{linesRead, lines, malformed, shipped, doubtful, open, closed, delay} {
		out <- desc
	}
}

func (a account) Collect(out chan<- prometheus.Metric) {
	l := a.pipeline.Ledger()
	counter := func(desc *prometheus.Desc, n int64, labels ...string) {
		out <- prometheus.MustNewConstMetric(desc, prometheus.CounterValue, float64(n), labels...)
	}
	counter(linesRead, l.In)
	counter(lines, l.Counted, "counted")
	counter(lines, l.Sent, "sent")
	counter(lines, l.Malformed, "malformed")
	counter(lines, l.Rejected, "rejected")
	counter(malformed, l.TooLong, "too long")
	counter(malformed, l.Truncated, "cut off")
	counter(malformed, l.Malformed-l.TooLong-l.Truncated, "unknown form")
	counter(shipped, l.Shipped, "shipped")
	counter(shipped, l.Unshipped, "not shipped")
	counter(doubtful, l.Again, "delivered again")
	counter(doubtful, l.Doubtful, "sent without an answer")
	counter(closed, l.Refused, "too many")
	out <- prometheus.MustNewConstMetric(open, prometheus.GaugeValue, float64(l.Connections))
	for quantile, q := range map[string]float64{"0.5": 0.5, "0.99": 0.99} {
		out <- prometheus.MustNewConstMetric(delay, prometheus.GaugeValue, a.pipeline.Delay(q).Seconds(), quantile)
	}
}
