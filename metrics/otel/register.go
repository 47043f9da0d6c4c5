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

// The attributes of all instruments but sluice.channel.other_names. What some are
// split by has the same prefix.
const (
	prefix  = "sluice.channel."
	nameKey = attribute.Key(prefix + "name")
	kindKey = attribute.Key(prefix + "kind")
)

// Options are the choices that have a default. A nil *Options means all defaults.
type Options struct {
	// MaxNames is how many names, of one kind each, have attributes of their own. 0
	// stands for 100. The SDK has a limit too, of 2000 sets of attributes for each
	// instrument by default, and some take two for a name: keep MaxNames below half
	// of it.
	MaxNames int
}

// Register has the meter provider observe the program's named channels, until the
// Registration is unregistered. Register once: the SDK adds up what two callbacks
// observe. The error is the provider's, which refused an instrument or the callback.
// It panics if provider is nil or MaxNames is negative.
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
		return nil, fmt.Errorf("sluice: the callback: %w", err)
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
	look := c.tally.Look()
	for i := range look.Series {
		s := &look.Series[i]
		sets := map[[2]string]metric.MeasurementOption{} // of this series, by what it is split by
		for j := range c.instruments {
			in := &c.instruments[j]
			for _, part := range in.Parts {
				split := [2]string{in.Split, part.Value}
				if sets[split] == nil {
					sets[split] = attributesOf(s, in.Split, part.Value)
				}
				in.observe(observer, part.Of(s), sets[split])
			}
		}
	}
	observer.ObserveInt64(c.otherNames, look.OtherNames)
	return nil
}

func attributesOf(s *tally.Series, split, value string) metric.MeasurementOption {
	pairs := []attribute.KeyValue{nameKey.String(s.Name), kindKey.String(s.Kind)}
	if split != "" {
		pairs = append(pairs, attribute.String(prefix+split, value))
	}
	return metric.WithAttributeSet(attribute.NewSet(pairs...))
}
