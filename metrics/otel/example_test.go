package sluiceotel_test

import (
	"context"
	"fmt"
	"log"
	"runtime"

	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/sluice-go/sluice"
	sluiceotel "github.com/sluice-go/sluice/metrics/otel"
)

// Observe the channels of a service. A real service uses the periodic reader of an
// exporter instead of the manual one.
func Example() {
	ctx := context.Background()
	orders := sluice.NewBounded[int](128, &sluice.BoundedOptions[int]{Name: "orders"})
	if err := orders.TrySend(1); err != nil {
		log.Fatal(err)
	}

	reader := metric.NewManualReader()
	provider := metric.NewMeterProvider(metric.WithReader(reader))
	registration, err := sluiceotel.Register(provider, nil)
	if err != nil {
		log.Fatal(err)
	}
	var exported metricdata.ResourceMetrics
	if err := reader.Collect(ctx, &exported); err != nil {
		log.Fatal(err)
	}
	for _, m := range exported.ScopeMetrics[0].Metrics {
		sums, ok := m.Data.(metricdata.Sum[int64])
		for _, point := range sums.DataPoints {
			name, _ := point.Attributes.Value("sluice.channel.name")
			if ok && name.AsString() == "orders" && (m.Name == "sluice.channel.sent" || m.Name == "sluice.channel.capacity") {
				fmt.Println(m.Name, name.AsString(), point.Value, m.Unit)
			}
		}
	}
	runtime.KeepAlive(orders)

	if err := registration.Unregister(); err != nil {
		log.Fatal(err)
	}
	if err := provider.Shutdown(ctx); err != nil {
		log.Fatal(err)
	}
	// Output:
	// sluice.channel.sent orders 1 {value}
	// sluice.channel.capacity orders 128 {value}
}
