package sluiceprom_test

import (
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/sluice-go/sluice"
	sluiceprom "github.com/sluice-go/sluice/metrics/prometheus"
)

// Expose the channels of a service beside its other metrics.
func ExampleNewCollector() {
	orders := sluice.NewBounded[int](128, &sluice.BoundedOptions[int]{Name: "orders"})
	if err := orders.TrySend(1); err != nil {
		log.Fatal(err)
	}

	registry := prometheus.NewRegistry()
	registry.MustRegister(sluiceprom.NewCollector(nil))
	http.Handle("/metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))

	server := httptest.NewServer(http.DefaultServeMux)
	defer server.Close()
	response, err := http.Get(server.URL + "/metrics")
	if err != nil {
		log.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		log.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if strings.Contains(line, `name="orders"`) && !strings.Contains(line, "bytes") {
			fmt.Print(line)
		}
	}
	runtime.KeepAlive(orders)
	// Output:
	// sluice_channel_capacity{kind="Bounded",name="orders"} 128
	// sluice_channel_dropped_total{kind="Bounded",name="orders",reason="age"} 0
	// sluice_channel_dropped_total{kind="Bounded",name="orders",reason="overflow"} 0
	// sluice_channel_high_water{kind="Bounded",name="orders"} 1
	// sluice_channel_lanes{kind="Bounded",name="orders"} 1
	// sluice_channel_received_total{kind="Bounded",name="orders"} 0
	// sluice_channel_rejected_total{kind="Bounded",name="orders"} 0
	// sluice_channel_sent_total{kind="Bounded",name="orders"} 1
	// sluice_channel_unanswered{kind="Bounded",name="orders"} 0
	// sluice_channel_usage{kind="Bounded",name="orders"} 1
	// sluice_channel_wait_time_seconds_total{kind="Bounded",name="orders",side="receive"} 0
	// sluice_channel_wait_time_seconds_total{kind="Bounded",name="orders",side="send"} 0
	// sluice_channel_waiting{kind="Bounded",name="orders",side="receive"} 0
	// sluice_channel_waiting{kind="Bounded",name="orders",side="send"} 0
	// sluice_channel_waits_total{kind="Bounded",name="orders",side="receive"} 0
	// sluice_channel_waits_total{kind="Bounded",name="orders",side="send"} 0
	// sluice_channel_warned{kind="Bounded",name="orders"} 0
	// sluice_channels{kind="Bounded",name="orders",state="closed"} 0
	// sluice_channels{kind="Bounded",name="orders",state="open"} 1
}
