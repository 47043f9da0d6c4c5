package sluiceotel

import (
	"fmt"

	"go.opentelemetry.io/otel/metric"

	"github.com/sluice-go/sluice/metrics/internal/tally"
)

// An instrument is an instrument of the tally, created by a meter. Times are in seconds,
// with a fraction; other figures are integers. One of whole and seconds is nil.
type instrument struct {
	*tally.Instrument
	whole   metric.Int64Observable
	seconds metric.Float64Observable
}

func newInstrument(meter metric.Meter, in *tally.Instrument) (instrument, error) {
	out := instrument{Instrument: in}
	unit, help := metric.WithUnit(in.Unit), metric.WithDescription(in.Help)
	var err error
	switch {
	case in.Unit == "s" && in.Type == tally.Counter:
		out.seconds, err = meter.Float64ObservableCounter(in.Name, unit, help)
	case in.Unit == "s":
		out.seconds, err = meter.Float64ObservableGauge(in.Name, unit, help)
	case in.Type == tally.Counter:
		out.whole, err = meter.Int64ObservableCounter(in.Name, unit, help)
	case in.Type == tally.UpDownCounter:
		out.whole, err = meter.Int64ObservableUpDownCounter(in.Name, unit, help)
	default:
		out.whole, err = meter.Int64ObservableGauge(in.Name, unit, help)
	}
	if err != nil {
		return out, fmt.Errorf("sluice: create instrument %s: %w", in.Name, err)
	}
	return out, nil
}

func (in *instrument) observable() metric.Observable {
	if in.seconds != nil {
		return in.seconds
	}
	return in.whole
}

func (in *instrument) observe(observer metric.Observer, figure int64, attributes metric.ObserveOption) {
	switch {
	case figure == tally.Infinite: // not observed: integers cannot be infinite
	case in.seconds != nil:
		observer.ObserveFloat64(in.seconds, in.Float(figure), attributes)
	default:
		observer.ObserveInt64(in.whole, figure, attributes)
	}
}
