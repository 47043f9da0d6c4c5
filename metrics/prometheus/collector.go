package sluiceprom

import (
	"math"
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/sluice-go/sluice/metrics/internal/tally"
)

// Options are the choices that have a default. A nil *Options means all defaults.
type Options struct {
	// MaxNames is how many names, of one kind each, have series of their own: 18
	// each. 0 stands for 100.
	MaxNames int
}

// NewCollector returns a Collector of the program's named channels. Register it once:
// a registry refuses a second one, and two registries that are scraped together would
// tell everything twice. It panics if MaxNames is negative.
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

// A metric is an instrument as Prometheus has it.
type metric struct {
	*tally.Instrument
	desc      *prometheus.Desc
	valueType prometheus.ValueType
}

// Describe implements prometheus.Collector. The metrics are always the same, so a
// registry can check them.
func (c *collector) Describe(out chan<- *prometheus.Desc) {
	for _, m := range c.metrics {
		out <- m.desc
	}
	out <- c.otherNames
}

// Collect implements prometheus.Collector.
func (c *collector) Collect(out chan<- prometheus.Metric) {
	look := c.tally.Look()
	for i := range look.Series {
		s := &look.Series[i]
		for _, m := range c.metrics {
			for _, part := range m.Parts {
				labels := []string{s.Name, s.Kind}
				if m.Split != "" {
					labels = append(labels, part.Value)
				}
				out <- prometheus.MustNewConstMetric(m.desc, m.valueType, m.value(part.Of(s)), labels...)
			}
		}
	}
	out <- prometheus.MustNewConstMetric(c.otherNames, prometheus.GaugeValue, float64(look.OtherNames))
}

// value is a figure as Prometheus has it, which knows infinity.
func (m *metric) value(figure int64) float64 {
	if figure == tally.Infinite {
		return math.Inf(1)
	}
	return m.Float(figure)
}

// nameOf is the name that an OpenTelemetry collector would give the instrument on its
// way to Prometheus, so what asks for one finds the other.
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
