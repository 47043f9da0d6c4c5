package sluiceprom

import (
	"math"
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/sluice-go/sluice/metrics/internal/tally"
)

// Options are the options of [NewCollector]. The zero value, like nil, selects the
// defaults.
type Options struct {
	// MaxNames is the maximum number of names with series of their own, counted once
	// for each kind. Each name has 22 series. 0 selects 100.
	MaxNames int
}

// NewCollector returns a Collector of the program's named channels. Register it once: a
// registry rejects a second one, and two registries that are scraped together would report
// everything twice. NewCollector panics if MaxNames is negative.
func NewCollector(o *Options) prometheus.Collector {
	if o == nil {
		o = new(Options)
	}
	c := &collector{
		tally:      tally.New("NewCollector", o.MaxNames),
		otherNames: prometheus.NewDesc(nameOf(&tally.OtherNames), tally.OtherNames.Help, nil, nil),
	}
	for i := range tally.Instruments {
		in := &tally.Instruments[i]
		labels := []string{"name", "kind"}
		if in.Split != "" {
			labels = append(labels, in.Split)
		}
		c.metrics = append(c.metrics, metric{in, prometheus.NewDesc(nameOf(in), in.Help, labels, nil), valueType(in)})
	}
	return c
}

type collector struct {
	tally      *tally.Tally
	metrics    []metric
	otherNames *prometheus.Desc
}

// A metric is an instrument with its description for Prometheus.
type metric struct {
	*tally.Instrument
	desc      *prometheus.Desc
	valueType prometheus.ValueType
}

// Describe implements prometheus.Collector.
func (c *collector) Describe(out chan<- *prometheus.Desc) {
	for _, m := range c.metrics {
		out <- m.desc
	}
	out <- c.otherNames
}

// Collect implements prometheus.Collector.
func (c *collector) Collect(out chan<- prometheus.Metric) {
	snapshot := c.tally.Collect()
	for i := range snapshot.Series {
		s := &snapshot.Series[i]
		for _, m := range c.metrics {
			if m.Missing(s) {
				continue
			}
			for _, part := range m.Parts {
				labels := []string{s.Name, s.Kind}
				if m.Split != "" {
					labels = append(labels, part.Value)
				}
				out <- prometheus.MustNewConstMetric(m.desc, m.valueType, m.value(part.Of(s)), labels...)
			}
		}
	}
	out <- prometheus.MustNewConstMetric(c.otherNames, prometheus.GaugeValue, float64(snapshot.OtherNames))
}

// value converts a figure to the value of a sample.
func (m *metric) value(figure int64) float64 {
	if figure == tally.Infinite {
		return math.Inf(1)
	}
	return m.Float(figure)
}

// nameOf returns the name that an OpenTelemetry collector would give the instrument when it
// exports to Prometheus, so that queries work with either module.
func nameOf(in *tally.Instrument) string {
	name := strings.ReplaceAll(in.Name, ".", "_")
	switch in.Unit {
	case "s":
		name += "_seconds"
	case "By":
		name += "_bytes"
	}
	if in.Type == tally.Counter {
		name += "_total"
	}
	return name
}

func valueType(in *tally.Instrument) prometheus.ValueType {
	if in.Type == tally.Counter {
		return prometheus.CounterValue
	}
	return prometheus.GaugeValue
}
