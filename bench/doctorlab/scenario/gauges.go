package main

import (
	"context"
	"time"

	"github.com/sluice-go/sluice"
)

// A queue of sluice that drops values.
var _ = register(scenario{
	Name: "gauges",
	About: "Three gauges send their values into a sluice.Bounded that drops the oldest value when it is full. One exporter " +
		"receives a value at a time and waits a millisecond for another service: two of three values are lost.",
	Instead: droppedValues,
	Sites:   []site{{receive, "main.(*gauges).export"}, {send, "main.(*gauges).read"}},
	Right:   []string{moreReceivers, batch},
	builds: map[string]build{
		asFound:       func(s *service) { startGauges(s, 64, 1, (*gauges).export) },
		buffer:        func(s *service) { startGauges(s, 1024, 1, (*gauges).export) },
		moreReceivers: func(s *service) { startGauges(s, 64, 4, (*gauges).export) },
		batch:         func(s *service) { startGauges(s, 64, 1, (*gauges).exportBatches) },
	},
})

const (
	gaugeCount    = 3
	gaugeExporter = time.Millisecond
)

type gauges struct {
	values *sluice.Bounded[uint64]
}

func startGauges(s *service, capacity, exporters int, export func(*gauges, *counter)) {
	s.mapped = true
	g := &gauges{sluice.NewBounded[uint64](capacity, &sluice.BoundedOptions[uint64]{Name: "values", Overflow: sluice.DropOldest})}
	for range exporters {
		go export(g, s.counter())
	}
	forever(gaugeCount, g.read)
}

func (g *gauges) read(i int) {
	for value := uint64(i); ; {
		value = grind(value, 1000)
		if g.values.Send(context.Background(), value) != nil {
			return
		}
		time.Sleep(gaugeExporter)
	}
}

func (g *gauges) export(done *counter) {
	for {
		value, err := g.values.Recv(context.Background())
		if err != nil {
			return
		}
		sink(grind(value, 500))
		time.Sleep(gaugeExporter) // the other service
		done.add(1)
	}
}

// exportBatches waits once for all values that are there.
func (g *gauges) exportBatches(done *counter) {
	var values [64]uint64
	for {
		n, err := g.values.RecvBatch(context.Background(), values[:])
		if err != nil {
			return
		}
		for _, value := range values[:n] {
			sink(grind(value, 500))
		}
		time.Sleep(gaugeExporter)
		done.add(n)
	}
}
