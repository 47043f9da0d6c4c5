package main

import (
	"context"
	"sync"

	"github.com/sluice-go/sluice"
)

// A typical aggregator of metrics.
var _ = register(scenario{
	Name: "gatherer",
	About: "64 connections read samples and send each one over the same channel to one goroutine, which " +
		"aggregates them: the channel's lock is the bottleneck, and a larger buffer does not help.",
	Channels: true,
	Sites:    []site{{send, "main.(*gatherer).connection"}, {receive, "main.(*gatherer).aggregate"}},
	Right:    []string{batch, shard},
	builds: map[string]build{
		asFound: func(s *service) { (&gatherer{in: make(chan sample, 128)}).start(s) },
		buffer:  func(s *service) { (&gatherer{in: make(chan sample, 8192)}).start(s) },
		batch:   gathererInBatches,
		shard:   gathererOnLanes,
	},
})

const (
	gathererConnections = 64
	gathererSeries      = 1024
	gathererBatch       = 64
)

// A sample is a value of a time series.
type sample struct {
	series uint32
	value  float64
}

// read represents reading and decoding the next sample of a connection.
func (last sample) read() sample {
	series := last.series*1664525 + 1013904223
	return sample{series: series, value: float64(series>>8) / 256}
}

type gatherer struct {
	in   chan sample
	sums [gathererSeries]float64
}

func (g *gatherer) start(s *service) {
	go g.aggregate(s.counter())
	forever(gathererConnections, g.connection)
}

func (g *gatherer) connection(i int) {
	for next := (sample{series: uint32(i)}).read(); ; next = next.read() {
		g.in <- next
	}
}

func (g *gatherer) aggregate(done *counter) {
	for v := range g.in {
		g.sums[v.series%gathererSeries] += v.value
		done.add(1)
	}
}

// gathererInBatches sends slices of samples, which are reused.
func gathererInBatches(s *service) {
	in := make(chan *[]sample, 128)
	spare := sync.Pool{New: func() any { return new(make([]sample, 0, gathererBatch)) }}
	done := s.counter()
	go func() {
		var sums [gathererSeries]float64
		for samples := range in {
			for _, v := range *samples {
				sums[v.series%gathererSeries] += v.value
			}
			done.add(len(*samples))
			*samples = (*samples)[:0]
			spare.Put(samples)
		}
	}()
	forever(gathererConnections, func(i int) {
		next := sample{series: uint32(i)}
		for {
			samples := spare.Get().(*[]sample)
			for range gathererBatch {
				next = next.read()
				*samples = append(*samples, next)
			}
			in <- samples
		}
	})
}

// gathererOnLanes gives each connection a lane, and the aggregator batches of
// samples.
func gathererOnLanes(s *service) {
	ctx := context.Background()
	in := sluice.NewSharded[sample](8192, nil)
	done := s.counter()
	go func() {
		var sums [gathererSeries]float64
		var run [256]sample
		for {
			n, err := in.RecvBatch(ctx, run[:])
			if err != nil {
				return
			}
			for _, v := range run[:n] {
				sums[v.series%gathererSeries] += v.value
			}
			done.add(n)
		}
	}()
	forever(gathererConnections, func(i int) {
		lane := in.Lane()
		for next := (sample{series: uint32(i)}).read(); ; next = next.read() {
			if lane.Send(ctx, next) != nil {
				return
			}
		}
	})
}
