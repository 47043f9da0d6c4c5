package sluiceotel

import (
	"context"
	"fmt"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/sluice-go/sluice/metrics/internal/tally"
)

// scope is the name of the meter.
const scope = "github.com/sluice-go/sluice/metrics/otel"

// The attributes of all instruments except sluice.channel.other_names. The attribute by
// which an instrument is split has the same prefix.
const (
	prefix  = "sluice.channel."
	nameKey = attribute.Key(prefix + "name")
	kindKey = attribute.Key(prefix + "kind")
)

// Options are the options of [Register]. The zero value, like nil, selects the defaults.
type Options struct {
	// MaxNames is the maximum number of names with attributes of their own, counted
	// once for each kind. 0 selects 100. The SDK also has a limit, by default 2000
	// attribute sets per instrument, and some instruments use two sets per name: keep
	// MaxNames below half of that limit.
	MaxNames int
}

// Register registers instruments and a callback with provider, which observe the program's
// named channels until the Registration is unregistered. Register only once: the SDK adds
// up the observations of two callbacks. Register returns an error if the provider rejects
// an instrument or the callback. It panics if provider is nil or MaxNames is negative.
func Register(provider metric.MeterProvider, o *Options) (metric.Registration, error) {
	if provider == nil {
		panic("sluice: Register: nil provider")
	}
	if o == nil {
		o = new(Options)
	}
	c := callback{tally: tally.New("Register", o.MaxNames)}
	meter := provider.Meter(scope)
	var all []metric.Observable
	for i := range tally.Instruments {
		observed, err := newInstrument(meter, &tally.Instruments[i])
		if err != nil {
			return nil, err
		}
		c.instruments = append(c.instruments, observed)
		all = append(all, observed.observable())
	}
	otherNames, err := newInstrument(meter, &tally.OtherNames)
	if err != nil {
		return nil, err
	}
	c.otherNames = otherNames.whole
	registration, err := meter.RegisterCallback(c.observe, append(all, otherNames.observable())...)
	if err != nil {
		return nil, fmt.Errorf("sluice: register the callback: %w", err)
	}
	return registration, nil
}

// A callback observes all channels for one provider.
type callback struct {
	tally       *tally.Tally
	instruments []instrument
	otherNames  metric.Int64Observable
}

func (c *callback) observe(_ context.Context, observer metric.Observer) error {
	snapshot := c.tally.Collect()
	for i := range snapshot.Series {
		s := &snapshot.Series[i]
		sets := map[[2]string]metric.MeasurementOption{} // of this series, by label and value of the split
		for j := range c.instruments {
			in := &c.instruments[j]
			if in.Missing(s) {
				continue
			}
			for _, part := range in.Parts {
				split := [2]string{in.Split, part.Value}
				if sets[split] == nil {
					sets[split] = attributesOf(s, in.Split, part.Value)
				}
				in.observe(observer, part.Of(s), sets[split])
			}
		}
	}
	observer.ObserveInt64(c.otherNames, snapshot.OtherNames)
	return nil
}

func attributesOf(s *tally.Series, split, value string) metric.MeasurementOption {
	pairs := []attribute.KeyValue{nameKey.String(s.Name), kindKey.String(s.Kind)}
	if split != "" {
		pairs = append(pairs, attribute.String(prefix+split, value))
	}
	return metric.WithAttributeSet(attribute.NewSet(pairs...))
}
