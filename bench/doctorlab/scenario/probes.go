package main

import (
	"context"

	"github.com/sluice-go/sluice"
)

// Many senders on one queue of sluice.
var _ = register(scenario{
	Name: "probes",
	About: "Sixty-four probes with hardly any work send each sample through one sluice.Bounded to one receiver, which adds " +
		"them up. The service spends its time in the channel.",
	Channels: true,
	Sites:    []site{{send, "main.(*probes).probe"}, {receive, "main.(*probes).collect"}},
	Right:    []string{batch},
	builds: map[string]build{
		asFound: func(s *service) { startProbes(s, newProbes(256)) },
		buffer:  func(s *service) { startProbes(s, newProbes(8192)) },
		shard: func(s *service) {
			startProbes(s, sluice.NewSharded[uint64](1024, &sluice.ShardedOptions[uint64]{Name: "samples"}))
		},
		batch: probesInBatches,
	},
})

const (
	probeCount = 64
	probeBatch = 64
	probeWork  = 20
)

type probes struct {
	samples sluice.Channel[uint64]
	sums    [16]uint64
}

func newProbes(capacity int) *sluice.Bounded[uint64] {
	return sluice.NewBounded[uint64](capacity, &sluice.BoundedOptions[uint64]{Name: "samples"})
}

func startProbes(s *service, samples sluice.Channel[uint64]) {
	s.mapped = true
	p := &probes{samples: samples}
	go p.collect(s.counter())
	forever(probeCount, p.probe)
}

func (p *probes) probe(i int) {
	for sample := uint64(i); ; {
		sample = grind(sample, probeWork)
		if p.samples.Send(context.Background(), sample) != nil {
			return
		}
	}
}

func (p *probes) collect(done *counter) {
	for {
		sample, err := p.samples.Recv(context.Background())
		if err != nil {
			return
		}
		p.sums[sample%16] += sample
		done.add(1)
	}
}

// probesInBatches has a slice for each probe.
func probesInBatches(s *service) {
	s.mapped = true
	ctx, samples, done := context.Background(), newProbes(8192), s.counter()
	go func() {
		var sums [16]uint64
		var values [probeBatch]uint64
		for {
			n, err := samples.RecvBatch(ctx, values[:])
			if err != nil {
				return
			}
			for _, sample := range values[:n] {
				sums[sample%16] += sample
			}
			done.add(n)
		}
	}()
	forever(probeCount, func(i int) {
		var values [probeBatch]uint64
		for sample := uint64(i); ; {
			for n := range values {
				sample = grind(sample, probeWork)
				values[n] = sample
			}
			if _, err := samples.SendBatch(ctx, values[:]); err != nil {
				return
			}
		}
	})
}
